#include "model/cost.hpp"

#include <algorithm>
#include <stdexcept>

namespace peerlane::model {
namespace {

using Knot = Cost::Knot;

/// Sizes at which either has a knot, ascending, none twice.
std::vector<double> joint_sizes(const Cost& a, const Cost& b) {
    std::vector<double> sizes;
    sizes.reserve(a.knots().size() + b.knots().size());
    for (auto const* cost : {&a, &b}) {
        for (auto const& knot : cost->knots()) {
            sizes.push_back(knot.bytes);
        }
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

/// The greater (sign 1) or the smaller (sign -1) of both, with a knot wherever they cross.
Cost envelope(const Cost& a, const Cost& b, double sign) {
    auto const sizes = joint_sizes(a, b);
    auto const pick = [&](double x) { return sign * std::max(sign * a.seconds(x), sign * b.seconds(x)); };
    std::vector<Knot> knots;
    auto const crossing = [&](double from, double gap, double closing) {
        auto const at = closing != 0 ? from - gap / closing : from;
        return at > from ? at : from;
    };
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        auto const x = sizes[i];
        knots.push_back({x, pick(x)});
        auto const at = crossing(x, a.seconds(x) - b.seconds(x), a.slope(x) - b.slope(x));
        if (at > x && (i + 1 == sizes.size() || at < sizes[i + 1])) {
            knots.push_back({at, pick(at)});
        }
    }
    auto const last = knots.back().bytes;
    auto const beyond = last + std::max(1.0, last);
    return Cost::of(std::move(knots), (pick(beyond) - pick(last)) / (beyond - last));
}

}  // namespace

Cost Cost::linear(double fixed_s, double s_per_byte) {
    Cost cost;
    cost.knots_ = {{0, fixed_s}};
    cost.tail_ = s_per_byte;
    return cost;
}

Cost Cost::of(const Curve& curve) {
    Cost cost;
    if (curve.points.empty()) {
        return cost;
    }
    cost.knots_ = {{0, curve.points.front().seconds}};
    for (auto const& point : curve.points) {
        if (point.bytes > 0) {
            cost.knots_.push_back({static_cast<double>(point.bytes), point.seconds});
        }
    }
    // Two octaves: the difference of two neighbours is mostly their noise where points are dense.
    auto const& last = cost.knots_.back();
    auto const* before = &cost.knots_.front();
    for (auto const& knot : cost.knots_) {
        if (knot.bytes <= last.bytes / 4) {
            before = &knot;
        }
    }
    if (last.bytes > before->bytes) {
        cost.tail_ = std::max(0.0, (last.seconds - before->seconds) / (last.bytes - before->bytes));
    }
    return cost;
}

Cost Cost::of(std::vector<Knot> knots, double tail) {
    auto const falls =
        std::adjacent_find(knots.begin(), knots.end(), [](const Knot& a, const Knot& b) { return a.bytes >= b.bytes; });
    if (knots.empty() || knots.front().bytes != 0 || falls != knots.end()) {
        throw std::invalid_argument("cost: knots begin at 0 bytes and ascend");
    }
    Cost cost;
    cost.knots_ = std::move(knots);
    cost.tail_ = tail;
    return cost;
}

std::size_t Cost::piece(double bytes) const {
    auto const after = std::upper_bound(knots_.begin(), knots_.end(), bytes,
                                        [](double size, const Knot& knot) { return size < knot.bytes; });
    return after == knots_.begin() ? 0 : static_cast<std::size_t>(after - knots_.begin()) - 1;
}

double Cost::slope(double bytes) const {
    auto const i = piece(bytes);
    if (i + 1 == knots_.size()) {
        return tail_;
    }
    return (knots_[i + 1].seconds - knots_[i].seconds) / (knots_[i + 1].bytes - knots_[i].bytes);
}

double Cost::seconds(double bytes) const {
    auto const& knot = knots_[piece(bytes)];
    return knot.seconds + slope(bytes) * (bytes - knot.bytes);
}

Cost& Cost::operator+=(const Cost& other) {
    std::vector<Knot> knots;
    for (auto const size : joint_sizes(*this, other)) {
        knots.push_back({size, seconds(size) + other.seconds(size)});
    }
    knots_ = std::move(knots);
    tail_ += other.tail_;
    return *this;
}

Cost operator*(double factor, Cost cost) {
    for (auto& knot : cost.knots_) {
        knot.seconds *= factor;
    }
    cost.tail_ *= factor;
    return cost;
}

Cost max(const Cost& a, const Cost& b) {
    return envelope(a, b, 1);
}

Cost min(const Cost& a, const Cost& b) {
    return envelope(a, b, -1);
}

}  // namespace peerlane::model
