// The choice for one size, with its reasons and what it beat.

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/units.hpp>

#include "plan/planner_state.hpp"
#include "plan/reasons.hpp"

namespace peerlane {
namespace {

using plan::Decision;
using plan::Lane;
using plan::LaneKind;
using plan::Scored;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

bool asked_for(const Lane& lane, RoutePolicy policy, std::optional<int> over) {
    switch (policy) {
        case RoutePolicy::automatic:
            return true;
        case RoutePolicy::direct:
            return lane.legs.size() == 1;
        case RoutePolicy::staged:
            return lane.kind == LaneKind::staged;
        case RoutePolicy::relay:
            return lane.kind == LaneKind::relay && (!over || lane.legs.front().to == gpu(*over));
        case RoutePolicy::split:
            return false;
    }
    return false;
}

/// Of the usable lanes that were asked for the first within a tie of the fastest; -1: none.
int best_of(const std::vector<Lane>& lanes, const Decision& decision, RoutePolicy policy, std::optional<int> over) {
    auto best = -1;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        if (decision.alone[i].possible() && asked_for(lanes[i], policy, over) &&
            (best < 0 || decision.alone[i].seconds < decision.alone[at(best)].seconds * (1 - plan::tie))) {
            best = static_cast<int>(i);
        }
    }
    return best;
}

/// Asked for although it may not be trusted, or although there is no such way: the caller's responsibility, and said.
int distrusted(const std::vector<Lane>& lanes, RoutePolicy policy, std::optional<int> over, std::string& why) {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        if (!asked_for(lanes[i], policy, over) || policy == RoutePolicy::automatic) {
            continue;
        }
        why = policy == RoutePolicy::direct
                  ? fmt::format("asked for direct although nothing direct may be trusted: {}",
                                plan::access_words(lanes[i].legs[0]))
                  : fmt::format("asked for {} although it may not be trusted: {}",
                                policy == RoutePolicy::relay ? "relay" : "staged", lanes[i].trust.refusal);
        return static_cast<int>(i);
    }
    if (policy == RoutePolicy::staged && !lanes.empty()) {
        why = "one leg joins these places: there is nothing to stage";
        return 0;
    }
    if (policy == RoutePolicy::relay) {
        why = over ? fmt::format("gpu{} cannot relay between these places", *over)
                   : std::string("no device relays between these places");
    }
    return -1;
}

std::string slower_words(double more) {
    return more < plan::tie ? "as fast, later in the order of ties" : fmt::format("{:.1f} % slower", more * 100);
}

}  // namespace

Choice Planner::explain(Place from, Place to, std::uint64_t bytes, RoutePolicy policy,
                        std::optional<int> relay_over) const {
    state_->require(from, to);
    if (bytes == 0) {
        throw std::invalid_argument("nothing to move: the size is 0");
    }
    auto const lanes = state_->lanes(from, to);
    auto const decision = plan::decide(state_->scorer, lanes, bytes, policy == RoutePolicy::split);
    std::string reservation;
    auto const splits = policy == RoutePolicy::split ? decision.split.possible()
                                                     : policy == RoutePolicy::automatic && decision.splits();
    auto lane = splits                             ? -1
                : policy == RoutePolicy::automatic ? decision.best_alone
                                                   : best_of(lanes, decision, policy, relay_over);
    Scored chosen;
    if (splits) {
        chosen = decision.split;
    } else if (policy == RoutePolicy::split) {
        lane = decision.best_alone;
        reservation = "there is nothing to split over";
    } else if (lane < 0) {
        lane = distrusted(lanes, policy, relay_over, reservation);
    }
    if (lane >= 0) {
        auto const& one = lanes[at(lane)];
        chosen = !decision.alone[at(lane)].possible() && !one.costs.empty() ? state_->scorer.one(one, bytes)
                                                                            : decision.alone[at(lane)];
        if (!chosen.possible()) {  // no cost is known
            chosen.routes = {
                {1.0, one.legs, one.legs.size() > 1 ? std::uint64_t{4} << 20 : 0, one.legs.size() > 1 ? 4 : 0}};
        }
    }
    Choice choice;
    choice.bytes = bytes;
    choice.routes = chosen.routes;
    choice.predicted_s = chosen.seconds;
    choice.predicted_gbs = chosen.seconds > 0 ? static_cast<double>(bytes) / chosen.seconds / 1e9 : 0;
    if (!reservation.empty()) {
        choice.reasons.push_back({reservation, {}});
    }
    plan::ReasonContext const context{lanes, state_->load, state_->options.trust_claimed};
    if (splits) {
        choice.reasons.push_back(plan::reason_of_split(context, decision));
    } else if (lane >= 0) {
        choice.reasons.push_back(plan::reason_of_lane(context, lane, chosen));
    } else if (reservation.empty()) {
        choice.reasons.push_back({"nothing that may be trusted joins these places", {}});
    }
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        if (static_cast<int>(i) == lane) {
            continue;
        }
        auto const& alone = decision.alone[i];
        auto const possible = alone.possible();
        auto reason =
            lanes[i].costs.empty() ? std::string("the machine's graph has no such way") : lanes[i].trust.refusal;
        if (possible && chosen.seconds > 0) {
            auto const more = alone.seconds / chosen.seconds - 1;
            reason = policy != RoutePolicy::automatic && more < 0 ? "not asked for" : slower_words(more);
        }
        auto routes = possible ? alone.routes : std::vector<Route>{{1.0, lanes[i].legs, 0, 0}};
        choice.rejected.push_back(
            {std::move(routes), possible ? std::optional(alone.seconds) : std::nullopt, std::move(reason)});
    }
    if (decision.split.possible() && !splits) {
        auto const more = chosen.seconds > 0 ? decision.split.seconds / chosen.seconds - 1 : 0.0;
        choice.rejected.push_back({decision.split.routes, decision.split.seconds,
                                   policy != RoutePolicy::automatic && more < 0 ? "not asked for"
                                   : more < 0
                                       ? fmt::format("gains {:.1f} %, less than a further route has to", -more * 100)
                                       : slower_words(more)});
    }
    std::stable_sort(choice.rejected.begin(), choice.rejected.end(), [](const Rejected& a, const Rejected& b) {
        return a.predicted_s && (!b.predicted_s || *a.predicted_s < *b.predicted_s);
    });
    if (!choice.rejected.empty() && choice.rejected.front().predicted_s && chosen.seconds > 0) {
        choice.margin = *choice.rejected.front().predicted_s / chosen.seconds - 1;
    }
    choice.why = plan::lines_of(choice.reasons);
    return choice;
}

}  // namespace peerlane
