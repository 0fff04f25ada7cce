#include <algorithm>
#include <bit>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/planner.hpp>
#include <peerlane/units.hpp>

#include "plan/nominal_cost.hpp"

namespace peerlane {
namespace {

using plan::LinearCost;
using plan::NominalCosts;

/// In a pipeline a queued copy costs less than one that is waited for (h200-pair: 4.4 us a chunk).
constexpr double queued_leg_s = 4e-6;
constexpr double pipeline_start_s = 15e-6;
constexpr std::uint64_t least_chunk = 256 * KiB, most_chunk = 64 * MiB;
constexpr int staging_buffers = 4;

struct Candidate {
    Route route;
    std::optional<double> seconds;  ///< empty when there is no way
    plan::Basis basis = plan::Basis::assumed;
    double gbs = 0;
    std::string refusal;  ///< why it may not be used; empty when it may
    bool proven = false;
};

std::string access_words(const Leg& leg) {
    auto const pushed = leg.issuer == leg.from;
    auto const* by = leg.engine == Engine::copy ? "copy engine" : "kernel";
    return pushed ? fmt::format("{} writes {} by {}", leg.from.index, leg.to.index, by)
                  : fmt::format("{} reads {} by {}", leg.to.index, leg.from.index, by);
}

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

/// Why this direct leg may not be used; empty when it may. `proven` tells whether a proof stands behind that.
std::string refusal_of(const Machine& machine, const Leg& leg, const PlanOptions& options, bool& proven) {
    auto const accessor = leg.issuer.index;
    auto const owner = leg.issuer == leg.from ? leg.to.index : leg.from.index;
    auto const* const pair = machine.pair(accessor, owner);
    if (pair != nullptr && pair->claim && !*pair->claim) {
        auto const& read = pair->claims.read;
        return read && *read != "OK" ? fmt::format("driver refuses: {}", *read) : "the driver claims no peer access";
    }
    auto const* const verdict = options.verdicts != nullptr ? options.verdicts->pair(accessor, owner) : nullptr;
    if (verdict != nullptr && (*verdict)[Check::claim].result == Result::no) {
        return "the driver claims no peer access";
    }
    if (options.trust_claimed) {
        return "";
    }
    if (verdict == nullptr) {
        return "was not proven";
    }
    auto const& result = (*verdict)[check_of(leg)];
    proven = result.result == Result::ok;
    return failure_words(result);
}

/// Chunk sizes worth trying: powers of two that make at most 64 chunks (so that one copy never fills the driver's
/// queue) and whose ring fits the staging memory. Past that the smallest that fits is the only one, and their number
/// grows: memory is bounded first.
std::vector<std::uint64_t> chunks_for(std::uint64_t bytes, std::uint64_t staging) {
    auto const fits = std::bit_floor(std::max<std::uint64_t>(staging / staging_buffers, 64 * KiB));
    auto const first = std::min(std::clamp(std::bit_ceil((bytes + 63) / 64), least_chunk, most_chunk), fits);
    std::vector<std::uint64_t> sizes{first};
    while (sizes.back() * 2 <= std::min({fits, most_chunk, std::bit_ceil(bytes)})) {
        sizes.push_back(sizes.back() * 2);
    }
    return sizes;
}

Candidate direct(const NominalCosts& costs, Leg leg, std::uint64_t bytes) {
    Candidate candidate;
    candidate.route.legs = {leg};
    if (auto const cost = costs.leg(leg)) {
        candidate.seconds = plan::seconds(cost->cost, static_cast<double>(bytes));
        candidate.basis = cost->basis;
        candidate.gbs = cost->gbs;
    }
    return candidate;
}

Candidate staged(const NominalCosts& costs, Place from, Place middle, Place to, std::uint64_t bytes,
                 std::uint64_t staging) {
    Candidate best;
    best.route.legs = {{from, middle, Engine::copy, from}, {middle, to, Engine::copy, to}};
    auto const out = costs.leg(best.route.legs[0]);
    auto const in = costs.leg(best.route.legs[1]);
    std::vector<LinearCost> stages;
    if (out && in) {
        stages = {{queued_leg_s, out->cost.s_per_byte}, {queued_leg_s, in->cost.s_per_byte}};
        best.basis = std::max(out->basis, in->basis);
        best.gbs = std::min(out->gbs, in->gbs);
    }
    for (auto const chunk : chunks_for(bytes, staging)) {
        auto const seconds =
            pipeline_start_s + plan::pipeline_seconds(stages, static_cast<double>(bytes), static_cast<double>(chunk));
        if (best.route.chunk == 0 || (!stages.empty() && seconds < *best.seconds)) {
            best.route.chunk = std::min(chunk, std::bit_ceil(bytes));
            best.route.buffers =
                static_cast<int>(std::min<std::uint64_t>(staging_buffers, (bytes + chunk - 1) / chunk));
            best.seconds = stages.empty() ? std::nullopt : std::optional(seconds);
        }
    }
    return best;
}

void require_place(const Machine& machine, Place place) {
    if (place.is_device()) {
        if (place.index < 0 || place.index >= static_cast<int>(machine.devices.size())) {
            throw std::invalid_argument(fmt::format("this machine has no {}: it has {} device{}", to_string(place),
                                                    machine.devices.size(), machine.devices.size() == 1 ? "" : "s"));
        }
        return;
    }
    auto known = place.index == Place::any || machine.graph.numa_node(place.index) >= 0;
    for (auto const& device : machine.devices) {
        known = known || (device.numa && *device.numa == place.index);
    }
    if (!known) {
        throw std::invalid_argument(
            fmt::format("this machine has no {}: no such NUMA node is known", to_string(place)));
    }
}

std::vector<Candidate> candidates(const NominalCosts& costs, Place from, Place to, std::uint64_t bytes,
                                  const PlanOptions& options) {
    std::vector<Candidate> found;
    if (from == to || from.is_host() || to.is_host()) {
        found.push_back(direct(costs, {from, to, Engine::copy, from.is_device() ? from : to}, bytes));
        found.back().proven = true;
        return found;
    }
    for (auto const engine : {Engine::copy, Engine::kernel}) {
        for (auto const issuer : {from, to}) {
            auto candidate = direct(costs, {from, to, engine, issuer}, bytes);
            candidate.refusal = refusal_of(costs.machine(), candidate.route.legs[0], options, candidate.proven);
            found.push_back(std::move(candidate));
        }
    }
    for (auto const middle : costs.staging_places(from.index, to.index)) {
        auto candidate = staged(costs, from, middle, to, bytes, options.staging_bytes);
        if (auto const* control =
                options.verdicts != nullptr ? options.verdicts->control_of(from.index, to.index) : nullptr) {
            candidate.proven = control->staged.result == Result::ok;
            if (control->staged.result != Result::skipped) {
                candidate.refusal = failure_words(control->staged);
            }
        }
        found.push_back(std::move(candidate));
    }
    return found;
}

/// The written order of ties: fewer legs, then copy engine before kernel, then the source's side. Candidates are made
/// in it.
const Candidate* fastest(const std::vector<Candidate>& all, RoutePolicy policy) {
    const Candidate* best = nullptr;
    for (auto const& candidate : all) {
        auto const is_direct = candidate.route.legs.size() == 1;
        auto const asked = policy == RoutePolicy::automatic || (policy == RoutePolicy::direct) == is_direct;
        if (asked && candidate.refusal.empty() && candidate.seconds &&
            (best == nullptr || *candidate.seconds < *best->seconds)) {
            best = &candidate;
        }
    }
    return best;
}

std::string reason_of(const Candidate& candidate, const PlanOptions& options) {
    auto const* standing = candidate.proven ? "proven" : options.trust_claimed ? "claimed, not proven" : "not proven";
    return fmt::format("{}: {} GB/s {}, {}", describe(candidate.route), gbs_text(candidate.gbs),
                       plan::to_string(candidate.basis), standing);
}

}  // namespace

Choice choose(const Machine& machine, Place from, Place to, std::uint64_t bytes, const PlanOptions& options) {
    require_place(machine, from);
    require_place(machine, to);
    if (bytes == 0) {
        throw std::invalid_argument("nothing to move: the size is 0");
    }
    if (from.is_host() && to.is_host()) {
        throw std::invalid_argument("from host to host: no device takes part");
    }
    NominalCosts const costs(machine);
    auto const all = candidates(costs, from, to, bytes, options);
    auto const* best = fastest(all, options.policy);
    Choice choice;
    choice.bytes = bytes;
    if (best == nullptr && options.policy == RoutePolicy::direct && !all.empty()) {
        best = &all.front();
        choice.why.push_back(fmt::format("asked for direct although nothing direct may be trusted: {}",
                                         access_words(best->route.legs[0])));
    }
    if (best == nullptr && options.policy == RoutePolicy::staged) {
        auto const found =
            std::find_if(all.begin(), all.end(), [](const Candidate& c) { return c.route.legs.size() > 1; });
        best = found == all.end() ? &all.front() : &*found;
        choice.why.push_back(found == all.end() ? "one leg joins these places: there is nothing to stage"
                                                : "asked for staged although it may not be trusted: " + found->refusal);
    }
    if (best != nullptr) {
        choice.routes = {best->route};
        choice.predicted_s = best->seconds.value_or(0);
        choice.predicted_gbs = choice.predicted_s > 0 ? static_cast<double>(bytes) / choice.predicted_s / 1e9 : 0;
        choice.why.push_back(reason_of(*best, options));
    } else {
        choice.why.emplace_back("nothing that may be trusted joins these places");
    }
    for (auto const& candidate : all) {
        if (&candidate == best) {
            continue;
        }
        auto reason = candidate.refusal;
        if (!candidate.seconds) {
            reason = "the machine's graph has no such way";
        } else if (reason.empty() && best != nullptr && best->seconds) {
            auto const more = (*candidate.seconds / *best->seconds - 1) * 100;
            reason = options.policy != RoutePolicy::automatic && more < 0 ? "not asked for"
                     : more < 0.05                                        ? "as fast, later in the order of ties"
                                                                          : fmt::format("{:.1f} % slower", more);
        }
        choice.rejected.push_back(
            {{candidate.route}, candidate.refusal.empty() ? candidate.seconds : std::nullopt, std::move(reason)});
    }
    return choice;
}

Plan make_plan(const Machine& machine, const PlanRequest& request, const PlanOptions& options) {
    Plan plan{request, {}};
    for (auto const bytes : request.sizes) {
        plan.choices.push_back(choose(machine, request.from, request.to, bytes, options));
    }
    return plan;
}

}  // namespace peerlane
