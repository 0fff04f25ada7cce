#include "kernels/chase.hpp"
#include "kernels/device.cuh"

namespace peerlane::cuda {
namespace {

/// `zero` is 0, which the compiler cannot know: so the place of each load hangs on the word before. Loads bypass the
/// first-level cache (ld.cv).
__global__ void chase_words(const unsigned char* from, std::uint64_t bytes, std::uint64_t stride, unsigned loads,
                            unsigned zero, unsigned* nowhere) {
    if (first_index() != 0) {
        return;
    }
    std::uint64_t at = 0;
    unsigned word = 0;
    for (unsigned i = 0; i < loads; ++i) {
        word = __ldcv(reinterpret_cast<const unsigned*>(from + at));
        at += stride + (word & zero);
        at = at + 4 > bytes ? 0 : at;
    }
    if ((word & zero) != 0) {
        *nowhere = word;
    }
}

cudaError_t launch_chase(const LaunchSite& site, const ChaseArguments& a) {
    if (a.loads == 0) {
        return cudaSuccess;
    }
    if ((static_cast<std::uint64_t>(a.from) | a.stride) % 4 != 0 || a.stride < 4 || a.bytes < 4 ||
        a.loads > ChaseArguments::most_loads) {
        return cudaErrorInvalidValue;
    }
    return launch(site, 1, 1, chase_words, static_cast<const unsigned char*>(pointer_to(a.from)), a.bytes, a.stride,
                  a.loads, 0u, static_cast<unsigned*>(nullptr));
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(chase, ChaseArguments, launch_chase, &chase_words)
