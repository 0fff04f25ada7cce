#pragma once
/// When enough samples of one time were taken. Pure; the rule in words: docs/measuring.md.

#include <cstddef>
#include <span>

namespace peerlane::measuring {

struct StopRule {
    std::size_t least = 5;    ///< samples that are taken in any case
    std::size_t most = 25;    ///< never more
    double precision = 0.01;  ///< the interval that holds the median may be so wide to each side, part of the median
    double budget_s = 0.03;   ///< sum of the samples after which `least` are enough
};

/// The median is known well enough, or more samples are not worth their time. Never by precision with fewer than 6
/// samples, however well they agree.
bool enough(std::span<const double> samples, const StopRule& rule);

/// Of a full measurement and of a quick one.
inline constexpr StopRule full_rule{};
inline constexpr StopRule quick_rule{5, 9, 0.03, 0.004};

}  // namespace peerlane::measuring
