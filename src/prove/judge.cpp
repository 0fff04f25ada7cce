#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <utility>

#include <peerlane/verdicts.hpp>

namespace peerlane {
namespace {

/// Two rates this close are the same for a choice: one run of one size says no more.
constexpr double close_enough = 0.9;

bool failed(const CheckResult& check) {
    return check.result == Result::wrong || check.result == Result::hang || check.result == Result::error;
}

/// One way to move bytes from source to destination without the host, and the check that serves it.
struct Candidate {
    const CheckResult* check;
    Engine engine;
    int issuer;
};

/// In written order, which is also the order of preference among equals: the copy engine leaves the multiprocessors
/// alone, and pushing costs the engine less than pulling.
std::vector<Candidate> candidates(const Verdicts& verdicts, int source, int destination) {
    std::vector<Candidate> all;
    auto const* const pushing = verdicts.pair(source, destination);
    auto const* const pulling = verdicts.pair(destination, source);
    auto const add = [&all](const PairVerdict* pair, Check check, Engine engine, int issuer) {
        if (pair != nullptr && (*pair)[check].result == Result::ok) {
            all.push_back({&(*pair)[check], engine, issuer});
        }
    };
    add(pushing, Check::push, Engine::copy, source);
    add(pulling, Check::pull, Engine::copy, destination);
    add(pushing, Check::store, Engine::kernel, source);
    add(pulling, Check::load, Engine::kernel, destination);
    return all;
}

/// The first that is not clearly slower than the fastest; one that was not timed is not known to be slower.
const Candidate& best_of(const std::vector<Candidate>& all) {
    double fastest = 0;
    for (auto const& candidate : all) {
        fastest = std::max(fastest, candidate.check->gbs.value_or(0));
    }
    return *std::find_if(all.begin(), all.end(), [&](const Candidate& candidate) {
        return !candidate.check->gbs || *candidate.check->gbs >= close_enough * fastest;
    });
}

RouteVerdict route_of(const Verdicts& verdicts, int source, int destination) {
    RouteVerdict route{source, destination};
    auto const* const control = verdicts.control_of(source, destination);
    auto const staging_right = control != nullptr && control->staged.result == Result::ok;
    if (staging_right) {
        route.staged_gbs = control->staged.gbs;
    }
    auto const all = candidates(verdicts, source, destination);
    if (all.empty()) {
        route.use = staging_right ? RouteVerdict::Use::staged : RouteVerdict::Use::none;
        return route;
    }
    auto const& best = best_of(all);
    route.direct_gbs = best.check->gbs;
    if (route.direct_gbs && route.staged_gbs && *route.direct_gbs < close_enough * *route.staged_gbs) {
        route.use = RouteVerdict::Use::staged;
        return route;
    }
    route.use = RouteVerdict::Use::direct;
    route.engine = best.engine;
    route.issuer = best.issuer;
    return route;
}

bool claimed(const PairVerdict& pair) {
    return pair[Check::claim].result == Result::ok;
}

/// Wrong bytes, a hang or an error where the driver said yes, or a question that it could not even answer.
bool broken(const PairVerdict& pair) {
    return std::any_of(all_checks.begin(), all_checks.end(),
                       [&](Check check) { return failed(pair[check]) && (claimed(pair) || check == Check::claim); });
}

/// Besides enabling, which the check `map` itself is about.
bool any_other_way(const PairVerdict& pair, std::initializer_list<Result> results) {
    auto const& ways = pair[Check::map].ways;
    return claimed(pair) && std::any_of(ways.begin(), ways.end(), [&](const MappingWay& way) {
               return way.way != "enable" && std::find(results.begin(), results.end(), way.result) != results.end();
           });
}

bool tells(const PairVerdict& pair) {
    return pair[Check::claim].result != Result::skipped;
}

/// Claimed one way only, or claimed and then not there (no mapping slot left). Missing atomics are by design of the
/// link.
bool less_than_it_should_be(const Verdicts& verdicts, const PairVerdict& pair) {
    constexpr std::array expected{Check::map, Check::push, Check::pull, Check::store, Check::load, Check::flag};
    auto const* const back = verdicts.pair(pair.owner, pair.accessor);
    auto const one_way = back != nullptr && (*back)[Check::claim].result == Result::no;
    auto const missing =
        std::any_of(expected.begin(), expected.end(), [&](Check check) { return pair[check].result == Result::no; });
    return claimed(pair) && (one_way || missing || any_other_way(pair, {Result::no}));
}

Status status_of(const Verdicts& verdicts) {
    // The control arm moves the same bytes past everything under test: where it is not right, nothing above it can be
    // told.
    for (auto const& control : verdicts.control) {
        if (failed(control.staged)) {
            return Status::inconclusive;
        }
    }
    for (auto const& test : verdicts.self_tests) {
        if (failed(test.found)) {
            return Status::inconclusive;
        }
    }
    if (std::none_of(verdicts.pairs.begin(), verdicts.pairs.end(), tells)) {
        return Status::inconclusive;
    }
    auto const broken_way = [](const PairVerdict& pair) { return any_other_way(pair, {Result::wrong, Result::hang}); };
    auto const broken_group = [](const GroupVerdict& group) {
        return group.result == Result::wrong || group.result == Result::hang || group.result == Result::error;
    };
    if (std::any_of(verdicts.pairs.begin(), verdicts.pairs.end(), broken) ||
        std::any_of(verdicts.pairs.begin(), verdicts.pairs.end(), broken_way) ||
        std::any_of(verdicts.groups.begin(), verdicts.groups.end(), broken_group)) {
        return Status::broken;
    }
    // No way at all and nothing wrong either: nothing was tried that could have told.
    if (std::any_of(verdicts.routes.begin(), verdicts.routes.end(),
                    [](const RouteVerdict& route) { return route.use == RouteVerdict::Use::none; })) {
        return Status::inconclusive;
    }
    auto const slow = [](const RouteVerdict& route) {
        return route.use == RouteVerdict::Use::staged && route.direct_gbs.has_value();
    };
    auto const less = [&](const PairVerdict& pair) {
        return less_than_it_should_be(verdicts, pair) || any_other_way(pair, {Result::no, Result::error});
    };
    auto const fell = [&](const GroupVerdict& group) { return collapsed(verdicts, group); };
    if (std::any_of(verdicts.routes.begin(), verdicts.routes.end(), slow) ||
        std::any_of(verdicts.pairs.begin(), verdicts.pairs.end(), less) ||
        std::any_of(verdicts.groups.begin(), verdicts.groups.end(), fell)) {
        return Status::degraded;
    }
    return Status::healthy;
}

}  // namespace

bool collapsed(const Verdicts& verdicts, const GroupVerdict& group) {
    constexpr double least = 0.1;
    if (group.result != Result::ok || group.rates.size() != group.pairs.size()) {
        return false;
    }
    for (std::size_t i = 0; i < group.pairs.size(); ++i) {
        auto const [accessor, owner] = group.pairs[i];
        auto const* const pair = verdicts.pair(accessor, owner);
        auto const alone = pair == nullptr ? std::nullopt : (*pair)[group.pull ? Check::pull : Check::push].gbs;
        auto same_accessor = 0.0, same_owner = 0.0;
        for (auto const& other : group.pairs) {
            same_accessor += other.first == accessor ? 1 : 0;
            same_owner += other.second == owner ? 1 : 0;
        }
        if (alone && group.rates[i] < least * *alone / std::max(same_accessor, same_owner)) {
            return true;
        }
    }
    return false;
}

void judge(Verdicts& verdicts) {
    std::set<std::pair<int, int>> directions;
    for (auto const& pair : verdicts.pairs) {
        directions.insert({pair.accessor, pair.owner});
        directions.insert({pair.owner, pair.accessor});
    }
    for (auto const& control : verdicts.control) {
        directions.insert({control.source, control.destination});
    }
    verdicts.routes.clear();
    for (auto const& direction : directions) {
        verdicts.routes.push_back(route_of(verdicts, direction.first, direction.second));
    }
    verdicts.status = status_of(verdicts);
}

}  // namespace peerlane
