#include <peerlane/device.cuh>

#include "kernels/await.hpp"
#include "kernels/device.cuh"

namespace peerlane::cuda {
namespace {

__global__ void await_flag(AwaitArguments a, std::uint64_t budget_ns) {
    if (first_index() != 0) {
        return;
    }
    auto* const result = reinterpret_cast<std::uint32_t*>(a.result);
    std::uint32_t seen = 0;
    auto const met = device::wait_flag(reinterpret_cast<const std::uint32_t*>(a.flag), a.at_least, budget_ns, &seen);
    result[1] = seen;
    device::set_flag(result, met ? a.met : a.expired);
}

cudaError_t launch_await(const LaunchSite& site, const AwaitArguments& a) {
    auto const addresses = static_cast<std::uint64_t>(a.flag) | static_cast<std::uint64_t>(a.result);
    if (addresses % 4 != 0 || !(a.budget_s >= 0) || a.budget_s > 3600) {
        return cudaErrorInvalidValue;
    }
    return launch(site, 1, 1, await_flag, a, static_cast<std::uint64_t>(a.budget_s * 1e9));
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(await, AwaitArguments, launch_await, &await_flag)
