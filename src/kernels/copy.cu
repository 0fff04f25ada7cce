#include "kernels/copy.hpp"
#include "kernels/device.cuh"

namespace peerlane::cuda {
namespace {

/// Four loads in flight a thread: a pull waits for the owner's answer, so what is in flight decides its rate.
template <class Unit>
__device__ void copy_units(Unit* to, const Unit* from, std::uint64_t units) {
    auto const stride = grid_stride();
    auto i = first_index();
    for (; i + 3 * stride < units; i += 4 * stride) {
        auto const a = from[i];
        auto const b = from[i + stride];
        auto const c = from[i + 2 * stride];
        auto const d = from[i + 3 * stride];
        to[i] = a;
        to[i + stride] = b;
        to[i + 2 * stride] = c;
        to[i + 3 * stride] = d;
    }
    for (; i < units; i += stride) {
        to[i] = from[i];
    }
}

/// Both ends are few bytes: one thread each.
__device__ void copy_ends(unsigned char* to, const unsigned char* from, std::uint64_t head, std::uint64_t tail_at,
                          std::uint64_t bytes) {
    auto const stride = grid_stride();
    for (auto i = first_index(); i < head; i += stride) {
        to[i] = from[i];
    }
    for (auto i = tail_at + first_index(); i < bytes; i += stride) {
        to[i] = from[i];
    }
}

template <class Unit>
__device__ void copy_aligned(unsigned char* to, const unsigned char* from, std::uint64_t bytes) {
    auto const parts = split(reinterpret_cast<std::uint64_t>(to), bytes, sizeof(Unit));
    copy_units(reinterpret_cast<Unit*>(to + parts.head), reinterpret_cast<const Unit*>(from + parts.head), parts.units);
    copy_ends(to, from, parts.head, parts.tail_at, bytes);
}

/// The two sides differ in alignment modulo 4: aligned words of the source, shifted into aligned words of the
/// destination. Never reads a word that reaches outside the source range.
__device__ void copy_shifted(unsigned char* to, const unsigned char* from, std::uint64_t bytes) {
    auto head = (0 - reinterpret_cast<std::uint64_t>(to)) & 3;
    auto const skew = static_cast<unsigned>((reinterpret_cast<std::uint64_t>(from) + head) & 3);
    head += head < skew ? 4 : 0;
    auto const taken = head + 4 - skew;  // up to the end of the first source word
    if (bytes < taken + 4) {
        copy_ends(to, from, bytes, bytes, bytes);
        return;
    }
    auto const units = (bytes - taken) / 4;
    auto* const out = reinterpret_cast<unsigned*>(to + head);
    auto const* const in = reinterpret_cast<const unsigned*>(from + head - skew);
    auto const stride = grid_stride();
    for (auto i = first_index(); i < units; i += stride) {
        out[i] = __funnelshift_r(in[i], in[i + 1], 8 * skew);
    }
    copy_ends(to, from, head, head + 4 * units, bytes);
}

__global__ void __launch_bounds__(1024)
    copy_range(unsigned char* to, const unsigned char* from, std::uint64_t bytes, unsigned width) {
    auto const difference = reinterpret_cast<std::uint64_t>(to) ^ reinterpret_cast<std::uint64_t>(from);
    if (width >= 16 && difference % 16 == 0) {
        copy_aligned<uint4>(to, from, bytes);
    } else if (width >= 8 && difference % 8 == 0) {
        copy_aligned<std::uint64_t>(to, from, bytes);
    } else if (difference % 4 == 0) {
        copy_aligned<unsigned>(to, from, bytes);
    } else {
        copy_shifted(to, from, bytes);
    }
}

cudaError_t launch_copy(const LaunchSite& site, const CopyArguments& a) {
    if (!is_width(a.width)) {
        return cudaErrorInvalidValue;
    }
    if (a.bytes == 0) {
        return cudaSuccess;
    }
    return launch(site, ctas_of(site, a.bytes, 64, site.multiprocessors), threads_of(site), copy_range,
                  static_cast<unsigned char*>(pointer_to(a.to)), static_cast<const unsigned char*>(pointer_to(a.from)),
                  a.bytes, a.width);
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(copy, CopyArguments, launch_copy, &copy_range)
