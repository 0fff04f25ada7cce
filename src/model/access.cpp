#include "model/access.hpp"

#include <algorithm>
#include <cmath>

#include "model/cost.hpp"

namespace peerlane::model {
namespace {

double transactions(double width) {
    return std::ceil(width / sector_bytes);
}

}  // namespace

std::optional<double> touch_seconds(const AccessCosts& costs, Pattern pattern, double bytes) {
    std::optional<double> in_order;
    if (!costs.touches.empty()) {
        in_order = Cost::of(Curve{costs.touches}).seconds(bytes);
    } else {
        const AccessRate* dense = nullptr;
        for (auto const& rate : costs.reads) {
            if (rate.stride <= rate.width && (dense == nullptr || rate.useful_gbs > dense->useful_gbs)) {
                dense = &rate;
            }
        }
        if (dense != nullptr) {
            in_order = bytes / (dense->useful_gbs * 1e9);
        }
    }
    if (pattern.scattered_bytes == 0) {
        return in_order;
    }
    // Nearest width by factor, widest distance, and that distance at least a sector.
    auto const width = static_cast<double>(pattern.scattered_bytes);
    const AccessRate* best = nullptr;
    auto const off = [&](const AccessRate& rate) { return std::abs(std::log(width / rate.width)); };
    for (auto const& rate : costs.reads) {
        if (rate.stride < std::max<std::uint32_t>(rate.width * 2, static_cast<std::uint32_t>(sector_bytes))) {
            continue;
        }
        if (best == nullptr || off(rate) < off(*best) || (off(rate) == off(*best) && rate.stride > best->stride)) {
            best = &rate;
        }
    }
    if (best != nullptr) {
        auto const s_per_transaction =
            best->width / (best->useful_gbs * 1e9) / transactions(static_cast<double>(best->width));
        auto const took = bytes / width * transactions(width) * s_per_transaction;
        // Pieces of many sectors run into the rate of those in order.
        return in_order && width >= sector_bytes ? std::max(took, *in_order) : took;
    }
    if (!in_order) {
        return std::nullopt;
    }
    return *in_order * std::max(1.0, transactions(width) * sector_bytes / width);
}

}  // namespace peerlane::model
