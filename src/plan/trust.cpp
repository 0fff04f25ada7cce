#include "plan/trust.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <peerlane/planner.hpp>

namespace peerlane::plan {
namespace {

Check check_of(const Leg& leg) {
    auto const pushed = leg.issuer == leg.from;
    return leg.engine == Engine::copy ? (pushed ? Check::push : Check::pull) : (pushed ? Check::store : Check::load);
}

std::string failure_words(const CheckResult& result) {
    switch (result.result) {
        case Result::ok:
            return "";
        case Result::no:
            return result.reason.empty() ? "not there" : result.reason;
        case Result::wrong:
            return fmt::format("delivers wrong bytes ({}) from offset {}",
                               result.kind ? to_string(*result.kind) : "unknown", result.first_bad_offset.value_or(0));
        case Result::hang:
            return "hangs";
        case Result::error:
            return fmt::format("fails with code {}", result.code.value_or(-1));
        case Result::skipped:
            return result.reason.empty() ? "was not proven" : "was not proven: " + result.reason;
    }
    return "";
}

bool joins_devices(const Leg& leg) {
    return leg.from.is_device() && leg.to.is_device() && leg.from != leg.to;
}

}  // namespace

std::string access_words(const Leg& leg) {
    auto const pushed = leg.issuer == leg.from;
    auto const* by = leg.engine == Engine::copy ? "copy engine" : "kernel";
    return pushed ? fmt::format("{} writes {} by {}", leg.from.index, leg.to.index, by)
                  : fmt::format("{} reads {} by {}", leg.to.index, leg.from.index, by);
}

Trust trust_of(const Machine& machine, const Verdicts& verdicts, bool trust_claimed, const Leg& leg) {
    if (!joins_devices(leg)) {
        return {"", true};
    }
    auto const accessor = leg.issuer.index;
    auto const owner = leg.issuer == leg.from ? leg.to.index : leg.from.index;
    auto const* const pair = machine.pair(accessor, owner);
    if (pair != nullptr && pair->claim && !*pair->claim) {
        auto const& read = pair->claims.read;
        return {read && *read != "OK" ? fmt::format("driver refuses: {}", *read) : "the driver claims no peer access"};
    }
    auto const* const verdict = verdicts.pair(accessor, owner);
    if (verdict != nullptr && (*verdict)[Check::claim].result == Result::no) {
        return {"the driver claims no peer access"};
    }
    if (trust_claimed) {
        return {};
    }
    if (verdict == nullptr) {
        return {"was not proven"};
    }
    auto const& result = (*verdict)[check_of(leg)];
    return {failure_words(result), result.result == Result::ok};
}

Trust trust_of(const Machine& machine, const Verdicts& verdicts, bool trust_claimed, const std::vector<Leg>& legs) {
    Trust all{"", true};
    for (auto const& leg : legs) {
        auto one = trust_of(machine, verdicts, trust_claimed, leg);
        all.proven = all.proven && one.proven;
        if (!one.refusal.empty()) {
            all.refusal = legs.size() > 1
                              ? fmt::format("{} > {}: {}", to_string(leg.from), to_string(leg.to), one.refusal)
                              : std::move(one.refusal);
            return all;
        }
    }
    auto const& from = legs.front().from;
    auto const& to = legs.back().to;
    if (legs.size() > 1 && legs.front().to.is_host() && from.is_device() && to.is_device()) {
        auto const* const control = verdicts.control_of(from.index, to.index);
        all.proven = control != nullptr && control->staged.result == Result::ok;
        if (control != nullptr && control->staged.result != Result::skipped) {
            all.refusal = failure_words(control->staged);
        }
    }
    return all;
}

}  // namespace peerlane::plan

namespace peerlane {

Verdicts proven_by(const Profile& profile) {
    Verdicts verdicts;
    verdicts.simulated = profile.simulated;
    for (auto const& measured : profile.legs) {
        auto const& leg = measured.leg;
        if (measured.basis != Basis::measured || measured.curve.points.empty() || !leg.from.is_device() ||
            !leg.to.is_device() || leg.from == leg.to) {
            continue;
        }
        auto const accessor = leg.issuer.index;
        auto const owner = leg.issuer == leg.from ? leg.to.index : leg.from.index;
        if (verdicts.pair(accessor, owner) == nullptr) {
            PairVerdict const made{accessor, owner, {}};
            verdicts.pairs.insert(std::upper_bound(verdicts.pairs.begin(), verdicts.pairs.end(), made,
                                                   [](const PairVerdict& a, const PairVerdict& b) {
                                                       return std::pair(a.accessor, a.owner) <
                                                              std::pair(b.accessor, b.owner);
                                                   }),
                                  made);
        }
        auto const pushed = leg.issuer == leg.from;
        auto const check =
            leg.engine == Engine::copy ? (pushed ? Check::push : Check::pull) : (pushed ? Check::store : Check::load);
        (*verdicts.pair(accessor, owner))[check].result = Result::ok;
    }
    return verdicts;
}

}  // namespace peerlane
