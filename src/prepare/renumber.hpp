#pragma once
/// Verdicts and profiles under other numbers of the same devices. Pure.

#include <vector>

#include <peerlane/profile.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane::preparing {

/// New number of each device; -1: left out, with all that is said of it.
using Numbers = std::vector<int>;

Verdicts renumbered(Verdicts verdicts, const Numbers& numbers);
Profile renumbered(Profile profile, const Numbers& numbers);

}  // namespace peerlane::preparing
