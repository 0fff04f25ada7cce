#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace peerlane::measuring {
namespace {

constexpr double confidence = 0.95;

double between(const std::vector<double>& sorted, double part) {
    auto const at = part * static_cast<double>(sorted.size() - 1);
    auto const below = static_cast<std::size_t>(at);
    auto const above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::vector<double> sorted_of(std::span<const double> samples) {
    if (samples.empty()) {
        throw std::invalid_argument("statistics: no samples");
    }
    std::vector<double> sorted(samples.begin(), samples.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
}

}  // namespace

double quantile(std::span<const double> samples, double part) {
    if (!(part >= 0 && part <= 1)) {
        throw std::invalid_argument("quantile: the part lies within 0 and 1");
    }
    return between(sorted_of(samples), part);
}

Summary summarize(std::span<const double> samples) {
    auto const sorted = sorted_of(samples);
    Summary summary{between(sorted, 0.5), -1, sorted.size()};
    if (sorted.size() >= least_for_spread && summary.median > 0) {
        summary.spread = (between(sorted, 0.75) - between(sorted, 0.25)) / 2 / summary.median;
    }
    return summary;
}

std::optional<Interval> median_interval(std::span<const double> samples) {
    auto const n = samples.size();
    // Outside of the k-th samples from both ends: 2 (C(n,0) + ... + C(n,k-1)) / 2^n.
    auto term = std::exp2(-static_cast<double>(n));
    double outside = 0;
    std::size_t k = 0;
    while (k < n / 2 && outside + 2 * term <= 1 - confidence) {
        outside += 2 * term;
        ++k;
        term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    }
    if (k == 0) {
        return std::nullopt;
    }
    auto const sorted = sorted_of(samples);
    return Interval{sorted[k - 1], sorted[n - k]};
}

}  // namespace peerlane::measuring
