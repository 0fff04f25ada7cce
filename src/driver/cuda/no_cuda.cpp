/// What stands in the place of the CUDA driver in a build without nvcc.

#include <peerlane/error.hpp>
#include <peerlane/open.hpp>

namespace peerlane {

CudaAvailability cuda_availability() {
    return {false, 0,
            "this build of peerlane has the simulator only: no nvcc was found when it was configured. Install the CUDA "
            "toolkit and configure again with -DPEERLANE_CUDA=ON, or use a simulated machine"};
}

std::unique_ptr<Driver> open_cuda() {
    throw Error({.code = code::no_device, .call = "open_cuda", .cure = cuda_availability().reason});
}

}  // namespace peerlane
