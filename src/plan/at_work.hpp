#pragma once
/// Which routes the plans between two places would keep at work at once: what is worth measuring together.

#include <cstdint>
#include <vector>

#include <peerlane/machine.hpp>
#include <peerlane/profile.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane::plan {

/// The routes of a plan, each its legs.
using RouteLegs = std::vector<std::vector<Leg>>;

/// The plan for each of these sizes, and its fastest route alone, where they have several legs, all of them measured
/// alone, and the profile does not tell what these routes reach. None twice. `hopeful`: as if legs did nothing to each
/// other beyond sharing links, which shows what would be worth trying.
std::vector<RouteLegs> routes_at_work(const Machine& machine, const Verdicts& verdicts, bool trust_claimed,
                                      const Profile& profile, Place from, Place to,
                                      const std::vector<std::uint64_t>& sizes, bool hopeful);

/// The same routes, in any order.
bool same_routes(const LoadedPlan& plan, const RouteLegs& routes);

}  // namespace peerlane::plan
