#include "plan/leg_costs.hpp"

#include <algorithm>

namespace peerlane::plan {
namespace {

/// Of a transfer that somebody waits for, the part that one behind others does not have: where only the former was
/// measured (h200-pair: 11 us against 2.9 and 4.4).
constexpr double waited_for_s = 7e-6;

LegCost cost_of(const LegCurve& curve) {
    LegCost cost;
    cost.once = model::Cost::of(curve.curve);
    auto queued = curve.queued;
    if (queued.points.empty()) {
        queued = curve.curve;
        for (auto& point : queued.points) {
            point.seconds = std::max(0.3 * point.seconds, point.seconds - waited_for_s);
        }
    }
    cost.queued = model::Cost::of(queued);
    for (auto const& point : queued.points) {
        cost.rate = std::max(cost.rate, static_cast<double>(point.bytes) / point.seconds);
    }
    cost.basis = curve.basis;
    cost.spread = curve.curve.points.empty() ? -1 : curve.curve.points.back().spread;
    return cost;
}

}  // namespace

LegCosts::LegCosts(const Machine& machine, const Profile& profile) : nominal_(machine), profile_(&profile) {
    for (auto const& curve : profile.legs) {
        auto const& leg = curve.leg;
        if (!curve.curve.points.empty()) {
            legs_[{leg.from, leg.to, leg.engine, leg.issuer}] = &curve;
        }
    }
}

const LegCurve* LegCosts::find(const Leg& leg) const {
    auto const found = legs_.find({leg.from, leg.to, leg.engine, leg.issuer});
    return found == legs_.end() ? nullptr : found->second;
}

Place LegCosts::nearest(Place place, int device) const {
    return place == host() ? nominal_.staging_places(device, device).front() : place;
}

Leg LegCosts::near(Leg leg) const {
    leg.from = leg.from.is_host() ? nearest(leg.from, leg.to.index) : leg.from;
    leg.to = leg.to.is_host() ? nearest(leg.to, leg.from.index) : leg.to;
    return leg;
}

std::optional<LegCost> LegCosts::leg(const Leg& leg) const {
    if (auto const* const curve = find(leg)) {
        return cost_of(*curve);
    }
    auto known = near(leg);
    for (auto const any : {false, true}) {
        if (any) {
            known.from = known.from.is_host() ? host() : known.from;
            known.to = known.to.is_host() ? host() : known.to;
        }
        if (auto const* const curve = find(known)) {
            return cost_of(*curve);
        }
    }
    auto const cost = nominal_.leg(leg);
    return cost ? std::optional(cost_of(NominalCosts::curve(leg, *cost))) : std::nullopt;
}

std::optional<AccessCosts> LegCosts::access(int accessor, Place place) const {
    for (auto const at :
         {place, place.is_host() ? nearest(place, accessor) : place, place.is_host() ? host() : place}) {
        if (auto const* const found = profile_->access_of(accessor, at)) {
            if (!found->touches.empty() || !found->reads.empty()) {
                return *found;
            }
        }
    }
    return nominal_.access(accessor, place);
}

}  // namespace peerlane::plan
