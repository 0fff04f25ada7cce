#include "kernels/device.cuh"
#include "kernels/line.hpp"

namespace peerlane::cuda {
namespace {

/// `zero` is 0, which the compiler cannot know: so the place of a batch hangs on the words of the one before, and
/// nothing of the batches is put together.
__global__ void read_line(const unsigned char* word, unsigned batches, unsigned zero, unsigned* nowhere) {
    if (first_index() != 0) {
        return;
    }
    unsigned sum = 0;
    for (unsigned i = 0; i < batches; ++i) {
        auto const* const at = reinterpret_cast<const volatile unsigned*>(word + (sum & zero));
        unsigned words[LineArguments::batch];
        for (unsigned j = 0; j < LineArguments::batch; ++j) {
            words[j] = *at;
        }
        for (unsigned j = 0; j < LineArguments::batch; ++j) {
            sum += words[j];
        }
    }
    if ((sum & zero) != 0) {
        *nowhere = sum;
    }
}

cudaError_t launch_line(const LaunchSite& site, const LineArguments& a) {
    if (a.batches == 0) {
        return cudaSuccess;
    }
    if (static_cast<std::uint64_t>(a.word) % 4 != 0 || a.batches > LineArguments::most_batches) {
        return cudaErrorInvalidValue;
    }
    return launch(site, 1, 1, read_line, static_cast<const unsigned char*>(pointer_to(a.word)), a.batches, 0u,
                  static_cast<unsigned*>(nullptr));
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(line, LineArguments, launch_line, &read_line)
