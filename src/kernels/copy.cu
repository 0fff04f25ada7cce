#include "kernels/copy.hpp"
#include "kernels/ranges.cuh"

namespace peerlane::cuda {
namespace {

__global__ void __launch_bounds__(1024)
    copy_by_grid(unsigned char* to, const unsigned char* from, std::uint64_t bytes, unsigned width) {
    copy_range(whole_grid(), to, from, bytes, width);
}

cudaError_t launch_copy(const LaunchSite& site, const CopyArguments& a) {
    if (!is_width(a.width)) {
        return cudaErrorInvalidValue;
    }
    if (a.bytes == 0) {
        return cudaSuccess;
    }
    return launch(site, ctas_of(site, a.bytes, 64, site.multiprocessors), threads_of(site), copy_by_grid,
                  static_cast<unsigned char*>(pointer_to(a.to)), static_cast<const unsigned char*>(pointer_to(a.from)),
                  a.bytes, a.width);
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(copy, CopyArguments, launch_copy, &copy_by_grid)
