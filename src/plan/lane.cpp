#include "plan/lane.hpp"

#include <algorithm>
#include <limits>

namespace peerlane::plan {
namespace {

/// Beyond so many devices only those that a fabric joins to both ends are looked at.
constexpr std::size_t most_devices_over_pcie = 16;
constexpr double usual_chunk = 4 << 20;

bool over_fabric(const Machine& machine, int a, int b) {
    auto const* const pair = machine.pair(a, b);
    return pair != nullptr && (pair->path == PathClass::nv || pair->path == PathClass::xgmi);
}

/// Of the legs that lead from one place to the other, the usable one that is fastest behind others; copy engines
/// first, as kernels of a lane would take multiprocessors from whoever computes. Where none may be used, the first.
Leg best_leg(const LaneContext& context, Place from, Place to) {
    if (from.is_host() || to.is_host()) {
        return {from, to, Engine::copy, from.is_device() ? from : to};
    }
    std::optional<Leg> best;
    auto least = std::numeric_limits<double>::infinity();
    for (auto const engine : {Engine::copy, Engine::kernel}) {
        for (auto const issuer : {from, to}) {
            Leg const leg{from, to, engine, issuer};
            auto const cost = context.costs.leg(leg);
            if (!cost ||
                !trust_of(context.costs.machine(), context.verdicts, context.trust_claimed, leg).refusal.empty()) {
                continue;
            }
            auto const took = cost->queued.seconds(usual_chunk);
            if (took < least * 0.98) {
                best = leg;
                least = took;
            }
        }
        if (best) {
            break;
        }
    }
    return best.value_or(Leg{from, to, Engine::copy, from});
}

}  // namespace

Basis Lane::basis() const {
    auto worst = Basis::measured;
    for (auto const& cost : costs) {
        worst = std::max(worst, cost.basis);
    }
    return worst;
}

bool Lane::at_home() const {
    auto const& leg = legs.front();
    return legs.size() == 1 && (any_stream || leg.issuer == (leg.from.is_device() ? leg.from : leg.to));
}

double Lane::rate() const {
    auto rate = std::numeric_limits<double>::infinity();
    for (auto const& cost : costs) {
        rate = std::min(rate, cost.rate);
    }
    return costs.empty() ? 0 : rate;
}

Lane make_lane(const LaneContext& context, LaneKind kind, std::vector<Leg> legs, Place any) {
    Lane lane;
    lane.kind = kind;
    lane.any_stream = context.any_stream;
    lane.trust = trust_of(context.costs.machine(), context.verdicts, context.trust_claimed, legs);
    for (auto const& leg : legs) {
        auto at = leg;
        at.from = at.from == host() ? any : at.from;
        at.to = at.to == host() ? any : at.to;
        at = context.costs.near(at);
        auto cost = context.costs.leg(at);
        if (!cost) {
            lane.costs.clear();
            lane.load.clear();
            break;
        }
        lane.load.push_back({at, cost->rate, context.load.links_of(at)});
        lane.costs.push_back(*std::move(cost));
    }
    lane.legs = std::move(legs);
    return lane;
}

std::vector<Lane> lanes_between(const LaneContext& context, Place from, Place to) {
    std::vector<Lane> lanes;
    if (from == to) {
        lanes.push_back(make_lane(context, LaneKind::direct, {{from, to, Engine::copy, from}}));
        return lanes;
    }
    auto const& machine = context.costs.machine();
    auto const end = from.is_device() ? from : to;
    auto const any = context.costs.nominal().staging_places(end.index, end.index).front();
    if (from.is_device() && to.is_device()) {
        for (auto const engine : {Engine::copy, Engine::kernel}) {
            for (auto const issuer : {from, to}) {
                lanes.push_back(make_lane(context, LaneKind::direct, {{from, to, engine, issuer}}));
            }
        }
        for (auto const middle : context.costs.nominal().staging_places(from.index, to.index)) {
            lanes.push_back(
                make_lane(context, LaneKind::staged, {best_leg(context, from, middle), best_leg(context, middle, to)}));
        }
    } else {
        lanes.push_back(make_lane(context, LaneKind::direct, {best_leg(context, from, to)}, any));
    }
    auto const few = machine.devices.size() <= most_devices_over_pcie;
    for (auto const& device : machine.devices) {
        auto const middle = gpu(device.id);
        if (middle == from || middle == to) {
            continue;
        }
        auto const near = [&](Place side) { return side.is_host() || over_fabric(machine, side.index, device.id); };
        if ((!near(from) || !near(to)) && !few) {
            continue;
        }
        auto const first = best_leg(context, from, middle);
        auto const second = best_leg(context, middle, to);
        lanes.push_back(make_lane(context, LaneKind::relay, {first, second}, any));
        if (from.is_device() && first.engine == Engine::copy && lanes.back().usable()) {
            auto other = first;
            other.issuer = first.issuer == from ? middle : from;
            auto lane = make_lane(context, LaneKind::relay, {other, second}, any);
            if (lane.usable()) {
                lanes.push_back(std::move(lane));
            }
        }
    }
    return lanes;
}

}  // namespace peerlane::plan
