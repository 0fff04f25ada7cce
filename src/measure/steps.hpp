#pragma once
/// Which sizes a curve is measured at: a coarse row first, then more where it bends. Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <peerlane/profile.hpp>

namespace peerlane::measuring {

struct StepRule {
    std::uint64_t first = 256;
    std::uint64_t last = std::uint64_t{1} << 30;
    std::uint64_t coarse_ratio = 4;  ///< of neighbours in the coarse row
    double bend = 0.02;              ///< error of interpolating, part of the time, that is worth a size more
    double least_ratio = 1.35;       ///< neighbours nearer to each other are not parted
    std::size_t most_points = 28;
};
inline constexpr StepRule full_steps{};
inline constexpr StepRule quick_steps{256, std::uint64_t{1} << 26, 4, 0.05, 3, 14};

/// Ascending, first and last among them.
std::vector<std::uint64_t> coarse_sizes(const StepRule& rule);

/// The error that a straight line over bytes between points i and i + 1 may have in their (geometric) middle, as a part
/// of the time there. The lines through the neighbouring two points on either side, drawn on to the middle, bound what
/// the curve can do if it bends one way only: the nearer of the two counts; half of the farther one where they lie on
/// different sides. 0 where there are no neighbours.
double bend_between(std::span<const CurvePoint> points, std::size_t i);

/// Where to measure next: the middle of the interval with the greatest bend that is above the rule's and above what the
/// spread of the points around explains. Empty when there is none, or there are `most_points`. Points ascend in bytes.
std::optional<std::uint64_t> next_size(std::span<const CurvePoint> points, const StepRule& rule);

}  // namespace peerlane::measuring
