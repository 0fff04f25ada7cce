#include "plan/at_work.hpp"

#include <algorithm>

#include <peerlane/planner.hpp>

#include "plan/decide.hpp"

namespace peerlane::plan {

namespace {

/// These lanes as routes; none where one leg carries all, or a leg was not measured.
RouteLegs measurable(const Profile& profile, const std::vector<Lane>& lanes, const std::vector<int>& chosen) {
    RouteLegs routes;
    auto several = chosen.size() > 1;
    for (auto const index : chosen) {
        routes.emplace_back();
        for (auto const& use : lanes[static_cast<std::size_t>(index)].load) {
            auto const* const curve = profile.leg(use.leg);
            if (curve == nullptr || curve->basis != Basis::measured) {
                return {};
            }
            routes.back().push_back(use.leg);
        }
        several = several || routes.back().size() > 1;
    }
    return several ? routes : RouteLegs{};
}

}  // namespace

bool same_routes(const LoadedPlan& plan, const RouteLegs& routes) {
    return routes.size() == plan.routes.size() &&
           std::all_of(routes.begin(), routes.end(), [&](const std::vector<Leg>& legs) {
               return std::any_of(plan.routes.begin(), plan.routes.end(),
                                  [&](const LoadedRoute& route) { return route.legs == legs; });
           });
}

AtWork::AtWork(const Machine& machine, const Verdicts& verdicts, bool trust_claimed, const Profile& profile)
    : verdicts_(verdicts),
      trust_claimed_(trust_claimed),
      profile_(profile),
      costs_(machine, profile),
      load_(costs_, {}),
      hopeful_load_(costs_, {}, true) {}

std::vector<RouteLegs> AtWork::wanted(Place from, Place to, const std::vector<std::uint64_t>& sizes, bool hopeful) {
    std::vector<RouteLegs> wanted;
    auto const want = [&](RouteLegs routes) {
        auto const known = std::find(wanted.begin(), wanted.end(), routes) != wanted.end() ||
                           std::any_of(profile_.plans.begin(), profile_.plans.end(),
                                       [&](const LoadedPlan& plan) { return same_routes(plan, routes); });
        if (!routes.empty() && !known) {
            wanted.push_back(std::move(routes));
        }
    };
    auto& load = hopeful ? hopeful_load_ : load_;
    load.learn_plans();
    Scorer const scorer(costs_, load, PlannerOptions{}.staging_bytes);
    auto const lanes = lanes_between({costs_, load, verdicts_, trust_claimed_, false}, from, to);
    for (auto const bytes : sizes) {
        auto const decision = decide(scorer, lanes, bytes);
        if (decision.best_alone >= 0) {
            want(measurable(profile_, lanes, {decision.best_alone}));
        }
        if (decision.splits()) {
            want(measurable(profile_, lanes, decision.split_lanes));
        }
    }
    return wanted;
}

}  // namespace peerlane::plan
