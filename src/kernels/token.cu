#include <peerlane/device.cuh>

#include "kernels/device.cuh"
#include "kernels/token.hpp"

namespace peerlane::cuda {
namespace {

__global__ void pass_token(TokenArguments a, std::uint64_t budget_ns) {
    if (first_index() != 0) {
        return;
    }
    auto const* const waited_for = reinterpret_cast<const std::uint32_t*>(a.waited_for);
    auto* const signalled = reinterpret_cast<std::uint32_t*>(a.signalled);
    unsigned met = 0, seen = 0;
    for (; met < a.rounds; ++met) {
        auto const token = a.first + met;
        if (a.starts != 0) {
            device::set_flag(signalled, token);
        }
        (void)device::wait_flag(waited_for, token, budget_ns, &seen);
        if (seen != token) {
            break;
        }
        if (a.starts == 0) {
            device::set_flag(signalled, token);
        }
    }
    auto* const result = reinterpret_cast<volatile unsigned*>(a.result);
    result[0] = met;
    result[1] = seen;
    __threadfence_system();
}

cudaError_t launch_token(const LaunchSite& site, const TokenArguments& a) {
    auto const addresses = static_cast<std::uint64_t>(a.waited_for) | static_cast<std::uint64_t>(a.signalled) |
                           static_cast<std::uint64_t>(a.result);
    if (addresses % 4 != 0 || !(a.budget_s >= 0) || a.budget_s > 3600) {
        return cudaErrorInvalidValue;
    }
    return launch(site, 1, 1, pass_token, a, static_cast<std::uint64_t>(a.budget_s * 1e9));
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(token, TokenArguments, launch_token, &pass_token)
