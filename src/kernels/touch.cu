#include "kernels/device.cuh"
#include "kernels/touch.hpp"

namespace peerlane::cuda {
namespace {

__device__ unsigned folded(unsigned word) {
    return word;
}
__device__ unsigned folded(std::uint64_t word) {
    return static_cast<unsigned>(word ^ (word >> 32));
}
__device__ unsigned folded(uint4 word) {
    return word.x ^ word.y ^ word.z ^ word.w;
}

/// The sum of what was read goes nowhere, but the compiler cannot know: `zero` is 0, so nothing is ever stored. Loads
/// bypass the first-level cache (ld.cv), so that every round reads again.
template <class Word>
__device__ void touch_words(const unsigned char* from, std::uint64_t bytes, std::uint64_t stride, unsigned rounds,
                            unsigned zero, unsigned* nowhere) {
    unsigned sum = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        for (auto at = first_index() * stride; at + sizeof(Word) <= bytes; at += grid_stride() * stride) {
            sum ^= folded(__ldcv(reinterpret_cast<const Word*>(from + at)));
        }
    }
    if ((sum & zero) != 0) {
        *nowhere = sum;
    }
}

__global__ void __launch_bounds__(1024)
    touch_range(const unsigned char* from, std::uint64_t bytes, std::uint64_t stride, unsigned rounds, unsigned width,
                unsigned zero, unsigned* nowhere) {
    if (width == 16) {
        touch_words<uint4>(from, bytes, stride, rounds, zero, nowhere);
    } else if (width == 8) {
        touch_words<std::uint64_t>(from, bytes, stride, rounds, zero, nowhere);
    } else {
        touch_words<unsigned>(from, bytes, stride, rounds, zero, nowhere);
    }
}

cudaError_t launch_touch(const LaunchSite& site, const TouchArguments& a) {
    auto const aligned = [&](std::uint64_t value) { return a.width != 0 && value % a.width == 0; };
    if (!is_width(a.width) || a.stride < a.width || !aligned(a.stride) ||
        !aligned(static_cast<std::uint64_t>(a.from))) {
        return cudaErrorInvalidValue;
    }
    if (a.bytes == 0 || a.rounds == 0) {
        return cudaSuccess;
    }
    return launch(site, ctas_of(site, a.bytes / a.stride + 1, 1, 4 * site.multiprocessors), threads_of(site),
                  touch_range, static_cast<const unsigned char*>(pointer_to(a.from)), a.bytes, a.stride, a.rounds,
                  a.width, 0u, static_cast<unsigned*>(nullptr));
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(touch, TouchArguments, launch_touch, &touch_range)
