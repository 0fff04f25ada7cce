/// How two devices stand to each other.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <peerlane/advise.hpp>

namespace peerlane {
namespace {

bool failed(Result result) {
    return result == Result::wrong || result == Result::hang || result == Result::error;
}

std::string named(const PairVerdict& pair, const char* what, const CheckResult& check) {
    return fmt::format("{}:{} {} {}{}", pair.accessor, pair.owner, what, to_string(check.result),
                       check.kind ? fmt::format(" ({})", to_string(*check.kind)) : "");
}

struct Trouble {
    Standing standing;
    std::string text;
};

/// What one direction of access brings: the worst of it.
std::optional<Trouble> trouble_of(const PairVerdict& pair) {
    auto const claimed = pair[Check::claim].result == Result::ok;
    for (auto const check : all_checks) {
        if (failed(pair[check].result) && (claimed || check == Check::claim)) {
            return Trouble{Standing::wrong, named(pair, to_string(check), pair[check])};
        }
    }
    if (!claimed) {
        return std::nullopt;
    }
    // Processes that share memory, as inference engines do, need imports; atomics are missing by design of many a link.
    for (auto const& way : pair[Check::map].ways) {
        if (failed(way.result)) {
            auto const standing = way.result == Result::error ? Standing::part : Standing::wrong;
            return Trouble{standing,
                           fmt::format("{}:{} {} {}", pair.accessor, pair.owner, way.way, to_string(way.result))};
        }
    }
    constexpr std::array needed{Check::map, Check::push, Check::pull, Check::store, Check::load, Check::flag};
    for (auto const check : needed) {
        if (pair[check].result == Result::no) {
            return Trouble{Standing::part, named(pair, to_string(check), pair[check])};
        }
    }
    for (auto const check : {Check::store, Check::load}) {
        if (pair[check].result == Result::skipped) {
            return Trouble{Standing::part,
                           fmt::format("{}:{} {} was not proven", pair.accessor, pair.owner, to_string(check))};
        }
    }
    return std::nullopt;
}

std::optional<double> rate_of(const RouteVerdict* route) {
    if (route == nullptr) {
        return std::nullopt;
    }
    return route->use == RouteVerdict::Use::direct ? route->direct_gbs : route->staged_gbs;
}

Neighbours judged(const Machine& machine, const Verdicts& verdicts, int a, int b) {
    Neighbours pair{a, b};
    auto const* const told = machine.pair(a, b);
    pair.path = told != nullptr ? told->path : PathClass::unknown;
    auto const rate = std::pair(rate_of(verdicts.route(a, b)), rate_of(verdicts.route(b, a)));
    if (rate.first && rate.second) {
        pair.gbs = std::min(*rate.first, *rate.second);
    }
    auto const worsen = [&](Standing standing, std::string text) {
        if (standing > pair.standing) {
            pair.standing = standing;
            pair.trouble = std::move(text);
        }
    };
    int claims = 0, asked = 0;
    for (auto const* const one : {verdicts.pair(a, b), verdicts.pair(b, a)}) {
        if (one == nullptr || (*one)[Check::claim].result == Result::skipped) {
            worsen(Standing::part, fmt::format("{}:{} was not proven", a, b));
            continue;
        }
        ++asked;
        claims += (*one)[Check::claim].result == Result::ok ? 1 : 0;
        if (auto trouble = trouble_of(*one)) {
            worsen(trouble->standing, std::move(trouble->text));
        }
    }
    if (asked == 2 && claims == 0) {
        worsen(Standing::no_peer, "");
    } else if (asked == 2 && claims == 1) {
        worsen(Standing::part, fmt::format("{}:{} access in one direction only", a, b));
    }
    // Where the control arm is wrong, nothing that was compared with it can be told.
    for (auto const* const arm : {verdicts.control_of(a, b), verdicts.control_of(b, a)}) {
        if (arm != nullptr && failed(arm->staged.result)) {
            worsen(Standing::cut_off, fmt::format("{}>{} through the host {}", arm->source, arm->destination,
                                                  to_string(arm->staged.result)));
        }
    }
    for (auto const* const route : {verdicts.route(a, b), verdicts.route(b, a)}) {
        if (route != nullptr && route->use == RouteVerdict::Use::none) {
            worsen(Standing::cut_off,
                   fmt::format("{}>{} is not right through the host either", route->source, route->destination));
        } else if (route != nullptr && route->use == RouteVerdict::Use::staged && route->direct_gbs &&
                   route->staged_gbs) {
            worsen(Standing::part,
                   fmt::format("{}>{} is slower directly ({:.3g} GB/s) than through the host ({:.3g})", route->source,
                               route->destination, *route->direct_gbs, *route->staged_gbs));
        }
    }
    return pair;
}

}  // namespace

std::vector<Neighbours> neighbours_of(const Machine& machine, const Verdicts& verdicts) {
    std::vector<Neighbours> all;
    for (auto a = machine.devices.begin(); a != machine.devices.end(); ++a) {
        for (auto b = a + 1; b != machine.devices.end(); ++b) {
            all.push_back(judged(machine, verdicts, a->id, b->id));
        }
    }
    return all;
}

}  // namespace peerlane
