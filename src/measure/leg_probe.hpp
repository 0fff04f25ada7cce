#pragma once
/// Curves of one leg.

#include <optional>

#include <peerlane/profile.hpp>

#include "measure/bench.hpp"
#include "measure/steps.hpp"
#include "measure/stop.hpp"

namespace peerlane::measuring {

struct LegRules {
    StopRule stop = full_rule;
    StepRule steps = full_steps;
    double most_transfer_s = 0.25;  ///< sizes beyond the first that takes this long are left out
};

/// One transfer on an idle leg as the host sees it, and what one more costs in a queue. Empty when the leg cannot be
/// mapped. Throws Stopped, Lost, Error.
std::optional<LegCurve> measure_leg(Bench& bench, const Leg& leg, const LegRules& rules);

/// Seconds that one transfer takes behind others of the same stream. The stop rule looks at what it costs to find out.
CurvePoint queued_point(Bench& bench, const Leg& leg, std::uint64_t bytes, double single_s, const StopRule& rule);

}  // namespace peerlane::measuring
