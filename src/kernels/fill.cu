#include "kernels/device.cuh"
#include "kernels/fill.hpp"

namespace peerlane::cuda {
namespace {

__device__ void make(uint4& unit, Pattern pattern, std::uint64_t i) {
    auto const low = pattern_8(pattern, i);
    auto const high = pattern_8(pattern, i + 8);
    unit = make_uint4(static_cast<unsigned>(low), static_cast<unsigned>(low >> 32), static_cast<unsigned>(high),
                      static_cast<unsigned>(high >> 32));
}
__device__ void make(std::uint64_t& unit, Pattern pattern, std::uint64_t i) {
    unit = pattern_8(pattern, i);
}
__device__ void make(unsigned& unit, Pattern pattern, std::uint64_t i) {
    unit = static_cast<unsigned>(pattern_8(pattern, i));
}

template <class Unit>
__device__ void fill_units(unsigned char* to, std::uint64_t bytes, Pattern pattern) {
    auto const parts = split(reinterpret_cast<std::uint64_t>(to), bytes, sizeof(Unit));
    auto* const body = reinterpret_cast<Unit*>(to + parts.head);
    auto const stride = grid_stride();
    for (auto i = first_index(); i < parts.units; i += stride) {
        Unit unit;
        make(unit, pattern, parts.head + i * sizeof(Unit));
        body[i] = unit;
    }
    for (auto i = first_index(); i < parts.head; i += stride) {
        to[i] = pattern_byte(pattern, i);
    }
    for (auto i = parts.tail_at + first_index(); i < bytes; i += stride) {
        to[i] = pattern_byte(pattern, i);
    }
}

__global__ void __launch_bounds__(1024)
    fill_range(unsigned char* to, std::uint64_t bytes, Pattern pattern, unsigned width) {
    if (width >= 16) {
        fill_units<uint4>(to, bytes, pattern);
    } else if (width >= 8) {
        fill_units<std::uint64_t>(to, bytes, pattern);
    } else {
        fill_units<unsigned>(to, bytes, pattern);
    }
}

cudaError_t launch_fill(const LaunchSite& site, const FillArguments& a) {
    if (!is_width(a.width)) {
        return cudaErrorInvalidValue;
    }
    if (a.bytes == 0) {
        return cudaSuccess;
    }
    return launch(site, ctas_of(site, a.bytes, 64, 4 * site.multiprocessors), threads_of(site), fill_range,
                  static_cast<unsigned char*>(pointer_to(a.to)), a.bytes, a.pattern, a.width);
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(fill, FillArguments, launch_fill, &fill_range)
