#pragma once
/// What kernels pay for memory that they read in place.

#include <peerlane/profile.hpp>

#include "measure/bench.hpp"
#include "measure/proven.hpp"
#include "measure/stop.hpp"

namespace peerlane::measuring {

struct AccessRules {
    StopRule stop = full_rule;
    std::uint64_t most_bytes = std::uint64_t{256} << 20;  ///< of a range that is read
    double longest_round_s = 1.5e-3;                      ///< reading a range once: less of it over a slow link
    double longest_touch_s = 10e-3;                       ///< larger ranges in order are left out
};

/// Costs that could be measured; the others stay empty. Throws Stopped, Lost, Error.
AccessCosts measure_access(Bench& bench, const AccessPlan& plan, const AccessRules& rules);

}  // namespace peerlane::measuring
