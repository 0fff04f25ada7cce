#include "traffic/run/plans.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include <peerlane/planner.hpp>
#include <peerlane/units.hpp>

namespace peerlane::traffic {
namespace {

using Key = std::tuple<Place, Place, std::uint64_t>;

/// `make` is asked once for each source, destination and size.
template <class Make>
Plans shared_plans(const std::vector<Flow>& flows, Make make) {
    Plans plans;
    plans.of_flow.reserve(flows.size());
    std::map<Key, int> known;
    for (auto const& flow : flows) {
        auto const [found, added] =
            known.try_emplace({flow.src, flow.dst, flow.bytes}, static_cast<int>(plans.plans.size()));
        if (added) {
            plans.plans.push_back(make(flow));
        }
        plans.of_flow.push_back(found->second);
    }
    return plans;
}

Route single_copy(const Flow& flow) {
    return {1.0, {{flow.src, flow.dst, Engine::copy, flow.src.is_device() ? flow.src : flow.dst}}, 0, 0};
}

/// Any NUMA node that the device is said to be near to.
Place host_near(const Machine& machine, int device) {
    auto const numa = machine.devices[static_cast<std::size_t>(device)].numa;
    return numa && machine.graph.numa_node(*numa) >= 0 ? host(*numa) : host();
}

}  // namespace

Route staged_route(Place src, Place middle, Place dst, std::uint64_t bytes) {
    // At most 64 chunks, so that one flow does not fill the queue of a stream; small ones so that filling costs little.
    constexpr std::uint64_t least = 512 * KiB, most = 16 * MiB;
    auto const chunk = std::max(std::clamp(std::bit_ceil(bytes / 32 + 1), least, most), std::bit_ceil(bytes / 64 + 1));
    return {1.0,
            {{src, middle, Engine::copy, src.is_device() ? src : middle},
             {middle, dst, Engine::copy, middle.is_device() ? middle : dst}},
            std::min(chunk, bytes),
            4};
}

Plans driver_plans(const std::vector<Flow>& flows) {
    return shared_plans(flows, [](const Flow& flow) { return Ways{single_copy(flow)}; });
}

Plans library_plans(const Machine& machine, const std::vector<Flow>& flows) {
    // NCCL's P2P level: a fabric, one PCIe switch or several; a host bridge between the two ends it.
    constexpr auto furthest = PathClass::pxb;
    return shared_plans(flows, [&](const Flow& flow) {
        if (flow.src.is_host() || flow.dst.is_host() || flow.src == flow.dst) {
            return Ways{single_copy(flow)};
        }
        auto const* const pair = machine.pair(flow.src.index, flow.dst.index);
        if (pair != nullptr && pair->claim.value_or(true) && pair->path >= furthest) {
            return Ways{single_copy(flow)};
        }
        return Ways{staged_route(flow.src, host_near(machine, flow.src.index), flow.dst, flow.bytes)};
    });
}

Plans planned_alone(const Machine& machine, const std::vector<Flow>& flows) {
    Planner const planner(machine, {}, {}, {true, PlannerOptions{}.staging_bytes, {}});
    return shared_plans(flows, [&](const Flow& flow) {
        auto routes = planner.explain(flow.src, flow.dst, flow.bytes).routes;
        auto const by_copy = std::all_of(routes.begin(), routes.end(), [](const Route& route) {
            return std::all_of(route.legs.begin(), route.legs.end(),
                               [](const Leg& leg) { return leg.engine == Engine::copy; });
        });
        return !routes.empty() && by_copy ? routes : Ways{single_copy(flow)};
    });
}

}  // namespace peerlane::traffic
