#include "prepare/renumber.hpp"

#include <algorithm>
#include <tuple>

namespace peerlane::preparing {
namespace {

class Renumber {
  public:
    explicit Renumber(const Numbers& numbers) : numbers_(numbers) {}
    /// False: left out.
    bool operator()(int& device) const {
        if (device < 0 || static_cast<std::size_t>(device) >= numbers_.size()) {
            return false;
        }
        device = numbers_[static_cast<std::size_t>(device)];
        return device >= 0;
    }
    bool operator()(Place& place) const { return !place.is_device() || (*this)(place.index); }
    bool operator()(Leg& leg) const { return (*this)(leg.from) && (*this)(leg.to) && (*this)(leg.issuer); }

  private:
    const Numbers& numbers_;
};

}  // namespace

Verdicts renumbered(Verdicts verdicts, const Numbers& numbers) {
    Renumber const number(numbers);
    std::erase_if(verdicts.pairs, [&](PairVerdict& pair) { return !number(pair.accessor) || !number(pair.owner); });
    std::erase_if(verdicts.control,
                  [&](ControlVerdict& arm) { return !number(arm.source) || !number(arm.destination); });
    std::erase_if(verdicts.self_tests, [&](SelfTest& test) { return !number(test.device); });
    std::erase_if(verdicts.routes, [&](RouteVerdict& route) {
        return !number(route.source) || !number(route.destination) || (route.issuer >= 0 && !number(route.issuer));
    });
    std::erase_if(verdicts.groups, [&](GroupVerdict& group) {
        return !std::all_of(group.pairs.begin(), group.pairs.end(),
                            [&](auto& pair) { return number(pair.first) && number(pair.second); });
    });
    auto const by = [](auto const& key) { return [key](auto const& a, auto const& b) { return key(a) < key(b); }; };
    std::sort(verdicts.pairs.begin(), verdicts.pairs.end(),
              by([](const PairVerdict& pair) { return std::tuple(pair.accessor, pair.owner); }));
    std::sort(verdicts.control.begin(), verdicts.control.end(),
              by([](const ControlVerdict& arm) { return std::tuple(arm.source, arm.destination); }));
    std::sort(verdicts.self_tests.begin(), verdicts.self_tests.end(),
              by([](const SelfTest& test) { return test.device; }));
    std::sort(verdicts.routes.begin(), verdicts.routes.end(),
              by([](const RouteVerdict& route) { return std::tuple(route.source, route.destination); }));
    verdicts.findings.clear();  // their words name the old numbers
    return verdicts;
}

Profile renumbered(Profile profile, const Numbers& numbers) {
    Renumber const number(numbers);
    std::erase_if(profile.legs, [&](LegCurve& curve) { return !number(curve.leg); });
    std::erase_if(profile.loaded, [&](LoadedGroup& group) {
        return !std::all_of(group.legs.begin(), group.legs.end(), [&](LoadedLeg& one) { return number(one.leg); });
    });
    std::erase_if(profile.plans, [&](LoadedPlan& plan) {
        return !std::all_of(plan.routes.begin(), plan.routes.end(), [&](LoadedRoute& route) {
            return std::all_of(route.legs.begin(), route.legs.end(), [&](Leg& leg) { return number(leg); });
        });
    });
    std::erase_if(profile.access, [&](AccessCosts& costs) { return !number(costs.accessor) || !number(costs.place); });
    return profile;
}

}  // namespace peerlane::preparing
