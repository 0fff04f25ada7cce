#pragma once
/// What the device code of the kernels shares: launching, the split of a range into an aligned body and its ragged
/// ends, and pattern words at any offset.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include <peerlane/device.cuh>
#include <peerlane/pattern.hpp>

#include "kernels/device_code.hpp"

namespace peerlane::cuda {

/// Before a loop whose turns must not wait for each other.
#if defined(__CUDACC__)
#define PEERLANE_UNROLL _Pragma("unroll")
#else
#define PEERLANE_UNROLL
#endif

/// Ends a .cu file. `launch` is cudaError_t(const LaunchSite&, const ARGUMENTS&); the rest are its __global__
/// functions.
#define PEERLANE_DEVICE_CODE(NAME, ARGUMENTS, LAUNCH, ...)                                                     \
    namespace peerlane::cuda {                                                                                 \
    extern const DeviceCode device_code_##NAME;                                                                \
    const DeviceCode device_code_##NAME = {#NAME, sizeof(ARGUMENTS),                                           \
                                           [](const LaunchSite& site, const void* arguments) {                 \
                                               return LAUNCH(site, *static_cast<const ARGUMENTS*>(arguments)); \
                                           },                                                                  \
                                           [] { return load_all(__VA_ARGS__); }};                              \
    }

template <class... Functions>
cudaError_t load_all(Functions... functions) {
    cudaError_t result = cudaSuccess;
    cudaFuncAttributes ignored{};
    ((result =
          result == cudaSuccess ? cudaFuncGetAttributes(&ignored, reinterpret_cast<const void*>(functions)) : result),
     ...);
    return result;
}

/// Launches through the call that returns its own status.
template <class... Parameters, class... Values>
cudaError_t launch(const LaunchSite& site, unsigned ctas, unsigned threads, void (*kernel)(Parameters...),
                   Values... values) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(ctas);
    config.blockDim = dim3(threads);
    config.stream = site.stream;
    return cudaLaunchKernelEx(&config, kernel, values...);
}

inline unsigned threads_of(const LaunchSite& site) {
    return site.shape.threads != 0 ? site.shape.threads : 512;
}

/// The caller's number of CTAs, or enough for `bytes` when each thread takes `bytes_a_thread`, up to `most`.
inline unsigned ctas_of(const LaunchSite& site, std::uint64_t bytes, unsigned bytes_a_thread, int most) {
    if (site.shape.ctas != 0) {
        return site.shape.ctas;
    }
    auto const bytes_a_cta = std::uint64_t{threads_of(site)} * bytes_a_thread;
    auto const wanted = bytes / bytes_a_cta + (bytes % bytes_a_cta != 0);
    return static_cast<unsigned>(std::clamp<std::uint64_t>(wanted, 1, static_cast<std::uint64_t>(std::max(most, 1))));
}

/// Widths that a caller may ask for.
inline bool is_width(unsigned width) {
    return width == 4 || width == 8 || width == 16;
}

__device__ inline std::uint64_t first_index() {
    return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::uint64_t grid_stride() {
    return std::uint64_t{gridDim.x} * blockDim.x;
}

/// A clock that every device of the machine shares, in nanoseconds; steps of up to a microsecond.
__device__ inline std::uint64_t global_ns() {
    return device::now_ns();
}

/// A range as `head` bytes, `units` whole units that begin aligned, and the rest.
struct Split {
    std::uint64_t head, units, tail_at;
};
__device__ inline Split split(std::uint64_t address, std::uint64_t bytes, unsigned unit) {
    auto head = (0 - address) & (unit - 1);
    head = head < bytes ? head : bytes;
    auto const units = (bytes - head) / unit;
    return {head, units, head + units * unit};
}

/// Bytes i .. i+7 of a patterned range as one little-endian word, any alignment of the pattern.
__device__ inline std::uint64_t pattern_8(Pattern pattern, std::uint64_t i) {
    auto const at = pattern.offset + i;
    auto const shift = static_cast<unsigned>(at % 8) * 8;
    auto const word = pattern_word(pattern.key, at / 8);
    return shift == 0 ? word : (word >> shift) | (pattern_word(pattern.key, at / 8 + 1) << (64 - shift));
}

}  // namespace peerlane::cuda
