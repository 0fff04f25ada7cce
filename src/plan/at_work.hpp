#pragma once
/// Which routes the plans between two places would keep at work at once: what is worth measuring together.

#include <cstdint>
#include <vector>

#include <peerlane/machine.hpp>
#include <peerlane/profile.hpp>
#include <peerlane/verdicts.hpp>

#include "plan/leg_costs.hpp"
#include "plan/load.hpp"

namespace peerlane::plan {

/// The routes of a plan, each its legs.
using RouteLegs = std::vector<std::vector<Leg>>;

class AtWork {
  public:
    /// All are referred to. The profile may get further plans, and nothing else.
    AtWork(const Machine& machine, const Verdicts& verdicts, bool trust_claimed, const Profile& profile);
    /// The plan for each of these sizes, and its fastest route alone, where they have several legs, all of them
    /// measured alone, and the profile does not tell what these routes reach. None twice. `hopeful`: as if legs did
    /// nothing to each other beyond sharing links, which shows what would be worth trying.
    [[nodiscard]] std::vector<RouteLegs> wanted(Place from, Place to, const std::vector<std::uint64_t>& sizes,
                                                bool hopeful);

  private:
    const Verdicts& verdicts_;
    bool trust_claimed_;
    const Profile& profile_;
    LegCosts costs_;
    Load load_, hopeful_load_;
};

/// The same routes, in any order.
bool same_routes(const LoadedPlan& plan, const RouteLegs& routes);

}  // namespace peerlane::plan
