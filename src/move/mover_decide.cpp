// What a copy of some size between two places does, worked out once for each class of sizes.

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "move/mover_state.hpp"
#include "move/reach.hpp"

namespace peerlane {
namespace {

/// Going to another stream and back: two events more each way.
constexpr double hop_s = 8e-6;
/// Part of a copy's time within which a kernel is not worth a multiprocessor, nor what a launch costs the host.
constexpr double clearly = 0.97;

bool between_devices(Place a, Place b) {
    return a.is_device() && b.is_device() && a != b;
}

}  // namespace

std::optional<double> Mover::State::measured_s(const Leg& leg, std::uint64_t bytes) const {
    auto const* const found = ready.profile.leg(leg);
    if (found == nullptr || found->curve.points.empty()) {
        return std::nullopt;
    }
    auto const& points = found->curve.points;
    auto const above = std::find_if(points.begin(), points.end(), [&](auto const& p) { return p.bytes >= bytes; });
    if (above == points.begin() || above == points.end()) {
        return above == points.end()
                   ? points.back().seconds * static_cast<double>(bytes) / static_cast<double>(points.back().bytes)
                   : points.front().seconds;
    }
    auto const& below = *std::prev(above);
    auto const part = static_cast<double>(bytes - below.bytes) / static_cast<double>(above->bytes - below.bytes);
    return below.seconds + part * (above->seconds - below.seconds);
}

std::optional<move::Decision::Side> Mover::State::side_of(const Choice& choice, Place from, Place to,
                                                          Place issuer) const {
    Leg const by_copy{from, to, Engine::copy, issuer}, by_kernel{from, to, Engine::kernel, issuer};
    auto const& best = choice.routes.front().legs.front();
    if (!between_devices(from, to)) {
        return issuer == best.issuer ? std::optional(move::Decision::Side{best, {}}) : std::nullopt;
    }
    auto const copy_s = measured_s(by_copy, choice.bytes), kernel_s = measured_s(by_kernel, choice.bytes);
    auto const best_s = measured_s(best, choice.bytes);
    auto const near = [&](std::optional<double> seconds) { return !seconds || !best_s || *seconds <= *best_s + hop_s; };
    move::Decision::Side side;
    if (move::may_use(ready, by_copy) && near(copy_s)) {
        side.behind = by_copy;
    } else if (move::may_use(ready, by_kernel) && near(kernel_s)) {
        side.behind = by_kernel;
    }
    auto const sooner = copy_s && kernel_s ? *kernel_s < *copy_s * clearly : choice.bytes <= options.small_kernel_bytes;
    if (move::may_use(ready, by_kernel) && sooner) {
        side.idle = by_kernel;
    }
    return side.behind ? std::optional(side) : std::nullopt;
}

std::vector<Route> Mover::State::issued_at_destination(std::vector<Route> routes, std::uint64_t bytes) const {
    auto any = false;
    for (auto& route : routes) {
        auto& leg = route.legs.front();
        if (route.legs.size() != 1 || !between_devices(leg.from, leg.to) || leg.issuer == leg.to) {
            continue;
        }
        auto other = leg;
        other.issuer = leg.to;
        auto const part = static_cast<std::uint64_t>(route.share * static_cast<double>(bytes));
        auto const there_s = measured_s(other, part), here_s = measured_s(leg, part);
        if (move::may_use(ready, other) && there_s && here_s && *there_s <= *here_s + hop_s) {
            leg = other;
            any = true;
        }
    }
    return any ? routes : std::vector<Route>{};
}

std::unique_ptr<move::Decision> Mover::State::decide(Place from, Place to, std::uint64_t bytes) const {
    auto decision = std::make_unique<move::Decision>();
    decision->choice = choose(from, to, bytes);
    auto const& routes = decision->choice.routes;
    if (routes.empty()) {
        auto const& why = decision->choice.why;
        throw std::invalid_argument(fmt::format("copy: {} from {} to {}", why.empty() ? "no way" : why.front(),
                                                to_string(from), to_string(to)));
    }
    decision->single = routes.size() == 1 && routes[0].legs.size() == 1;
    if (!decision->single) {
        decision->adaptation = std::make_unique<move::Adaptation>(routes);
        if (auto pulled = issued_at_destination(routes, bytes); !pulled.empty()) {
            decision->to_adaptation = std::make_unique<move::Adaptation>(std::move(pulled));
        }
        return decision;
    }
    decision->leg = routes[0].legs[0];
    if (from.is_device()) {
        decision->from_side = side_of(decision->choice, from, to, from);
    }
    if (to.is_device()) {
        decision->to_side = side_of(decision->choice, from, to, to);
    }
    Leg const other{from, to, Engine::copy, decision->leg.issuer};
    if (decision->leg.engine == Engine::kernel && move::may_use(ready, other) && bytes <= options.small_kernel_bytes) {
        decision->leg = other;  // in another stream it comes behind an event anyway
    }
    return decision;
}

}  // namespace peerlane
