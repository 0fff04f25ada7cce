#include "kernels/device.cuh"
#include "kernels/scribble.hpp"

namespace peerlane::cuda {
namespace {

__global__ void scribble_word(volatile unsigned* word, unsigned stores) {
    if (first_index() != 0) {
        return;
    }
    for (unsigned i = 0; i < stores; ++i) {
        *word = i;
    }
}

cudaError_t launch_scribble(const LaunchSite& site, const ScribbleArguments& a) {
    if (a.stores == 0) {
        return cudaSuccess;
    }
    if (static_cast<std::uint64_t>(a.word) % 4 != 0 || a.stores > ScribbleArguments::most_stores) {
        return cudaErrorInvalidValue;
    }
    return launch(site, 1, 1, scribble_word, static_cast<volatile unsigned*>(pointer_to(a.word)), a.stores);
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(scribble, ScribbleArguments, launch_scribble, &scribble_word)
