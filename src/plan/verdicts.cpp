#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include <peerlane/probe_host.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

const char* to_string(Check check) {
    switch (check) {
        case Check::claim:
            return "claim";
        case Check::map:
            return "map";
        case Check::push:
            return "push";
        case Check::pull:
            return "pull";
        case Check::store:
            return "store";
        case Check::load:
            return "load";
        case Check::atomic:
            return "atomic";
        case Check::flag:
            return "flag";
    }
    return "unknown";
}

const char* to_string(Result result) {
    switch (result) {
        case Result::ok:
            return "ok";
        case Result::no:
            return "no";
        case Result::wrong:
            return "wrong";
        case Result::hang:
            return "hang";
        case Result::error:
            return "error";
        case Result::skipped:
            return "skipped";
    }
    return "unknown";
}

const char* to_string(WrongKind kind) {
    switch (kind) {
        case WrongKind::zero:
            return "zero";
        case WrongKind::stale:
            return "stale";
        case WrongKind::flip:
            return "flip";
        case WrongKind::mirror:
            return "mirror";
        case WrongKind::offset:
            return "offset";
    }
    return "unknown";
}

const char* to_string(Status status) {
    switch (status) {
        case Status::healthy:
            return "healthy";
        case Status::degraded:
            return "degraded";
        case Status::broken:
            return "broken";
        case Status::inconclusive:
            return "inconclusive";
    }
    return "unknown";
}

const char* to_string(RouteVerdict::Use use) {
    switch (use) {
        case RouteVerdict::Use::direct:
            return "direct";
        case RouteVerdict::Use::staged:
            return "staged";
        case RouteVerdict::Use::none:
            return "none";
    }
    return "unknown";
}

const char* to_string(Finding::Severity severity) {
    switch (severity) {
        case Finding::Severity::info:
            return "info";
        case Finding::Severity::warn:
            return "warn";
        case Finding::Severity::error:
            return "error";
    }
    return "unknown";
}

std::optional<Check> parse_check(std::string_view word) {
    for (auto const check : all_checks) {
        if (word == to_string(check)) {
            return check;
        }
    }
    return std::nullopt;
}

std::optional<Result> parse_result(std::string_view word) {
    for (auto const result : {Result::ok, Result::no, Result::wrong, Result::hang, Result::error, Result::skipped}) {
        if (word == to_string(result)) {
            return result;
        }
    }
    return std::nullopt;
}

namespace {

/// Binary search: the vectors are sorted by what `key` returns, and a machine of 16 devices has 240 pairs.
template <class Items, class Key>
auto* find_sorted(Items& items, std::pair<int, int> wanted, Key key) {
    auto const at = std::lower_bound(items.begin(), items.end(), wanted,
                                     [&](auto const& item, auto const& value) { return key(item) < value; });
    return at != items.end() && key(*at) == wanted ? &*at : nullptr;
}

std::pair<int, int> key_of(const PairVerdict& pair) {
    return {pair.accessor, pair.owner};
}

template <class T>
std::pair<int, int> ends_of(const T& item) {
    return {item.source, item.destination};
}

}  // namespace

const PairVerdict* Verdicts::pair(int accessor, int owner) const {
    return find_sorted(pairs, {accessor, owner}, key_of);
}

PairVerdict* Verdicts::pair(int accessor, int owner) {
    return find_sorted(pairs, {accessor, owner}, key_of);
}

const ControlVerdict* Verdicts::control_of(int source, int destination) const {
    return find_sorted(control, {source, destination}, ends_of<ControlVerdict>);
}

const RouteVerdict* Verdicts::route(int source, int destination) const {
    return find_sorted(routes, {source, destination}, ends_of<RouteVerdict>);
}

namespace prove {

std::string describe(const ProbeStep& step) {
    if (step.kind == ProbeStep::Kind::control) {
        return fmt::format("control {}>{}", step.accessor, step.owner);
    }
    if (step.kind == ProbeStep::Kind::self_test) {
        return fmt::format("self-test {}", step.owner);
    }
    if (step.kind == ProbeStep::Kind::group) {
        auto const* const how = step.check == Check::map ? "mapped" : step.check == Check::pull ? "pulled" : "pushed";
        return fmt::format("group {}, {}", step.name, how);
    }
    if (step.kind == ProbeStep::Kind::idle) {
        return fmt::format("idle {}", step.owner);
    }
    if (step.kind == ProbeStep::Kind::ways) {
        return fmt::format("{}:{} ways", step.accessor, step.owner);
    }
    return fmt::format("{}:{} {}", step.accessor, step.owner, to_string(step.check));
}

}  // namespace prove
}  // namespace peerlane
