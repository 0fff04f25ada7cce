#include "kernels/add.hpp"
#include "kernels/device.cuh"

namespace peerlane::cuda {
namespace {

/// What one add returns goes into the next one's operand, masked by a 0 that the compiler does not know: so that every
/// add is a fetch-add of its own and none are put together.
__global__ void __launch_bounds__(1024) add_to(unsigned* counter, unsigned lanes, unsigned rounds, unsigned zero) {
    auto const stride = grid_stride();
    for (auto lane = first_index(); lane < lanes; lane += stride) {
        unsigned old = 0;
        for (unsigned round = 0; round < rounds; ++round) {
            old = atomicAdd_system(counter, 1u + (old & zero));
        }
    }
}

cudaError_t launch_add(const LaunchSite& site, const AddArguments& a) {
    if (a.lanes == 0 || a.rounds == 0) {
        return cudaSuccess;
    }
    if (static_cast<std::uint64_t>(a.counter) % 4 != 0) {
        return cudaErrorInvalidValue;
    }
    return launch(site, ctas_of(site, a.lanes, 1, site.multiprocessors), threads_of(site), add_to,
                  static_cast<unsigned*>(pointer_to(a.counter)), a.lanes, a.rounds, 0u);
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(add, AddArguments, launch_add, &add_to)
