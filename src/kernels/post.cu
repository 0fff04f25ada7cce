#include <peerlane/device.cuh>

#include "kernels/device.cuh"
#include "kernels/post.hpp"

namespace peerlane::cuda {
namespace {

__global__ void post_messages(PostArguments a, std::uint64_t budget_ns) {
    if (first_index() != 0) {
        return;
    }
    auto* const ring = reinterpret_cast<DeviceRing*>(a.ring);
    std::uint32_t accepted = 0, met = 0;
    for (std::uint32_t i = 0; i < a.count; ++i) {
        auto const offset = std::uint64_t{i} * a.bytes;
        auto const posted = device::post(ring, reinterpret_cast<unsigned char*>(a.to) + offset,
                                         reinterpret_cast<const unsigned char*>(a.from) + offset, a.bytes,
                                         reinterpret_cast<std::uint32_t*>(a.flag), a.first_value + i, budget_ns);
        accepted += posted.accepted ? 1 : 0;
        if (!device::wait(ring, posted, budget_ns)) {
            break;
        }
        ++met;
    }
    auto* const result = reinterpret_cast<volatile std::uint32_t*>(a.result);
    result[0] = accepted;
    result[1] = met;
    __threadfence_system();
}

cudaError_t launch_post(const LaunchSite& site, const PostArguments& a) {
    if (static_cast<std::uint64_t>(a.ring) % 64 != 0 || !(a.budget_s >= 0) || a.budget_s > 3600) {
        return cudaErrorInvalidValue;
    }
    return launch(site, 1, 1, post_messages, a, static_cast<std::uint64_t>(a.budget_s * 1e9));
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(post, PostArguments, launch_post, &post_messages)
