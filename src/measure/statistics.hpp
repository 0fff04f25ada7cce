#pragma once
/// What a handful of samples of one time says. Pure.

#include <cstddef>
#include <optional>
#include <span>

namespace peerlane::measuring {

/// Fewer samples have no spread: they could agree by chance.
inline constexpr std::size_t least_for_spread = 5;

/// `spread`: half the distance between the quartiles, as a part of the median; -1 when there are fewer samples than
/// least_for_spread or the median is not positive.
struct Summary {
    double median = 0;
    double spread = -1;
    std::size_t count = 0;
    friend bool operator==(const Summary&, const Summary&) = default;
};

/// The value below which that part of the samples lies, between two samples in proportion. Throws std::invalid_argument
/// for no samples and for a part outside 0 .. 1.
double quantile(std::span<const double> samples, double part);
/// Throws std::invalid_argument for no samples.
Summary summarize(std::span<const double> samples);

struct Interval {
    double low = 0;
    double high = 0;
    friend bool operator==(const Interval&, const Interval&) = default;
};

/// The narrowest pair of samples, equally far from both ends of the sorted row, between which the true median lies with
/// at least 95 % whatever the distribution is (binomial: of n samples the k-th from below and from above). Empty for
/// fewer than 6: the least and the greatest of 5 hold it with 93.75 % only.
std::optional<Interval> median_interval(std::span<const double> samples);

}  // namespace peerlane::measuring
