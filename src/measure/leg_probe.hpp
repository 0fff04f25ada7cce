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
    /// A transfer that takes longer than `long_s` is made three times each way (its spread is then not known), one that
    /// takes longer than `very_long_s` once, and not queued: what it would cost is no news. Sizes beyond the first one
    /// that takes `most_transfer_s` are left out.
    double long_s = 25e-3, very_long_s = 60e-3, most_transfer_s = 1.5;
};

/// One transfer on an idle leg as the host sees it, and what one more costs in a queue. Empty when the leg cannot be
/// mapped. Throws Stopped, Lost, Error.
std::optional<LegCurve> measure_leg(Bench& bench, const Leg& leg, const LegRules& rules);

}  // namespace peerlane::measuring
