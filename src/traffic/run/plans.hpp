#pragma once
/// Which way each flow takes, by strategy.

#include <vector>

#include <peerlane/simulation.hpp>

#include "driver/sim/truth.hpp"

namespace peerlane::traffic {

using Ways = std::vector<Route>;

/// Flows of the same places and size share a plan.
struct Plans {
    std::vector<Ways> plans;
    std::vector<int> of_flow;  ///< index into `plans`
};

/// One copy call of the runtime, issued by the source where that is a device.
Plans driver_plans(const std::vector<Flow>& flows);
/// As a collective library moves data between two devices: directly up to a path class, else through host memory.
Plans library_plans(const Machine& machine, const std::vector<Flow>& flows);
/// As our planner would move each flow alone on the machine.
Plans planned_alone(const Machine& machine, const std::vector<Flow>& flows);

/// Every flow in up to `parts` equal parts, each on the way that loads the links least, all flows known.
Plans balanced_plans(const sim::Truth& truth, const std::vector<Flow>& flows, int parts);

/// Two legs joined by host memory of a NUMA node, in chunks.
Route staged_route(Place src, Place middle, Place dst, std::uint64_t bytes);

}  // namespace peerlane::traffic
