#include "measure/steps.hpp"

#include <algorithm>
#include <cmath>

namespace peerlane::measuring {
namespace {

/// The straight line through two points.
double line_at(const CurvePoint& a, const CurvePoint& b, double bytes) {
    auto const from = static_cast<double>(a.bytes);
    return a.seconds + (b.seconds - a.seconds) * (bytes - from) / (static_cast<double>(b.bytes) - from);
}

/// Drawing a line on to the middle of the next interval makes about this much of an error of its ends.
constexpr double noise_grows = 3;

double noise_around(std::span<const CurvePoint> points, std::size_t i) {
    double noise = 0;
    for (auto at = i > 0 ? i - 1 : 0; at < std::min(points.size(), i + 3); ++at) {
        noise = std::max(noise, points[at].spread);
    }
    return noise_grows * noise;
}

/// Geometric, rounded so that addresses and sizes stay multiples of what the widest access needs: 384, 512, 768 B.
std::uint64_t middle(std::uint64_t a, std::uint64_t b) {
    auto const mean = std::sqrt(static_cast<double>(a) * static_cast<double>(b));
    auto const unit = std::max(1.0, std::exp2(std::floor(std::log2(mean)) - 2));
    return static_cast<std::uint64_t>(std::round(mean / unit) * unit);
}

}  // namespace

std::vector<std::uint64_t> coarse_sizes(const StepRule& rule) {
    std::vector<std::uint64_t> sizes;
    for (auto bytes = rule.first; bytes < rule.last; bytes *= rule.coarse_ratio) {
        sizes.push_back(bytes);
    }
    sizes.push_back(std::max(rule.first, rule.last));
    return sizes;
}

double bend_between(std::span<const CurvePoint> points, std::size_t i) {
    auto const bytes = std::sqrt(static_cast<double>(points[i].bytes) * static_cast<double>(points[i + 1].bytes));
    auto const here = line_at(points[i], points[i + 1], bytes);
    std::vector<double> off;
    if (i > 0) {
        off.push_back(line_at(points[i - 1], points[i], bytes) - here);
    }
    if (i + 2 < points.size()) {
        off.push_back(line_at(points[i + 1], points[i + 2], bytes) - here);
    }
    if (off.empty()) {
        return 0;
    }
    auto const [near, far] = std::minmax({std::abs(off.front()), std::abs(off.back())});
    auto const one_way = (off.front() < 0) == (off.back() < 0);
    return (one_way ? near : far / 2) / here;
}

std::optional<std::uint64_t> next_size(std::span<const CurvePoint> points, const StepRule& rule) {
    if (points.size() >= rule.most_points) {
        return std::nullopt;
    }
    std::optional<std::uint64_t> best;
    double most = 0;
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
        auto const& a = points[i];
        auto const& b = points[i + 1];
        if (static_cast<double>(b.bytes) < rule.least_ratio * static_cast<double>(a.bytes)) {
            continue;
        }
        auto const bend = bend_between(points, i) - noise_around(points, i);
        auto const between = middle(a.bytes, b.bytes);
        if (bend > rule.bend && bend > most && between > a.bytes && between < b.bytes) {
            most = bend;
            best = between;
        }
    }
    return best;
}

}  // namespace peerlane::measuring
