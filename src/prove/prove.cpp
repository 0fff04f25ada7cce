#include <peerlane/prove.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

namespace peerlane::prove {
namespace {

bool has_sizes(Check check) {
    return check == Check::push || check == Check::pull || check == Check::store || check == Check::load;
}

/// Both directions of two devices side by side, so that a prober keeps its buffers and mappings from one to the other.
std::vector<DirectedPair> side_by_side(const Machine& machine, std::span<const DirectedPair> asked) {
    std::vector<DirectedPair> pairs(asked.begin(), asked.end());
    if (pairs.empty()) {
        for (auto const& pair : machine.pairs) {
            pairs.emplace_back(pair.accessor, pair.owner);
        }
    }
    for (auto const& pair : pairs) {
        if (machine.device(pair.first) == nullptr || machine.device(pair.second) == nullptr ||
            pair.first == pair.second) {
            throw std::invalid_argument(fmt::format("no pair {}:{} on a machine of {} devices", pair.first, pair.second,
                                                    machine.devices.size()));
        }
    }
    auto const key = [](const DirectedPair& pair) {
        return std::pair(DirectedPair(std::minmax(pair.first, pair.second)), pair);
    };
    std::sort(pairs.begin(), pairs.end(),
              [&](const DirectedPair& a, const DirectedPair& b) { return key(a) < key(b); });
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    return pairs;
}

}  // namespace

std::vector<ProbeStep> proof_steps(const Machine& machine, const ProveOptions& options) {
    auto ascending = options.sizes;
    std::sort(ascending.begin(), ascending.end());
    ascending.erase(std::unique(ascending.begin(), ascending.end()), ascending.end());
    if (ascending.empty() || ascending.front() == 0) {
        throw std::invalid_argument("a proof needs at least one size, and none of 0 bytes");
    }
    auto const asked = [&](Check check) {
        return std::find(options.checks.begin(), options.checks.end(), check) != options.checks.end();
    };
    std::vector<ProbeStep> steps;
    std::set<DirectedPair> controlled;
    for (auto const& pair : side_by_side(machine, options.pairs)) {
        for (auto const& direction : {pair, DirectedPair(pair.second, pair.first)}) {
            if (controlled.insert(direction).second) {
                steps.push_back({ProbeStep::Kind::control, Check::claim, direction.first, direction.second, ascending,
                                 options.seed});
            }
        }
        for (auto const check : all_checks) {
            if (check == Check::atomic && options.ways) {  // once it is known whether the pair's kernels work at all
                steps.push_back({ProbeStep::Kind::ways, Check::map, pair.first, pair.second, {}, options.seed});
            }
            if (asked(check)) {
                steps.push_back({ProbeStep::Kind::check, check, pair.first, pair.second,
                                 has_sizes(check) ? ascending : std::vector<std::uint64_t>{}, options.seed});
            }
        }
    }
    return steps;
}

std::vector<ProbeStep> first_proof_steps(const Machine& machine, std::span<const DirectedPair> pairs,
                                         std::span<const std::uint64_t> sizes, std::uint64_t seed) {
    ProveOptions options;
    options.pairs.assign(pairs.begin(), pairs.end());
    options.sizes.assign(sizes.begin(), sizes.end());
    options.seed = seed;
    return proof_steps(machine, options);
}

Verdicts assemble(const Machine& machine, std::span<const ProbeOutcome> outcomes, std::uint64_t seed, bool simulated) {
    Verdicts verdicts;
    verdicts.simulated = simulated;
    verdicts.seed = seed;
    std::map<DirectedPair, PairVerdict> pairs;
    std::map<DirectedPair, ControlVerdict> control;
    std::map<int, SelfTest> self_tests;
    for (auto const& outcome : outcomes) {
        DirectedPair const key{outcome.step.accessor, outcome.step.owner};
        if (outcome.step.kind == ProbeStep::Kind::self_test && machine.device(key.second) != nullptr) {
            self_tests[key.second] = {key.second, outcome.result};
            continue;
        }
        if (machine.pair(key.first, key.second) == nullptr) {
            throw std::invalid_argument(
                fmt::format("an outcome of {}:{}, which this machine does not have", key.first, key.second));
        }
        if (outcome.step.kind == ProbeStep::Kind::group && outcome.step.check == Check::map) {
            // Only what a pair lost is its own: that the others fit is no news of any of them.
            for (std::size_t i = 0; i < std::min(outcome.step.pairs.size(), outcome.result.ways.size()); ++i) {
                auto const found = pairs.find(outcome.step.pairs[i]);
                if (found != pairs.end() && outcome.result.ways[i].result != Result::ok) {
                    found->second[Check::map].ways.push_back(outcome.result.ways[i]);
                }
            }
            continue;
        }
        if (outcome.step.kind == ProbeStep::Kind::group) {
            auto const& result = outcome.result;
            verdicts.groups.push_back({outcome.step.pairs, result.result, result.gbs, outcome.step.name,
                                       outcome.step.check == Check::pull, result.rates, result.reason});
            continue;
        }
        if (outcome.step.kind == ProbeStep::Kind::idle) {
            continue;
        }
        if (outcome.step.kind == ProbeStep::Kind::control) {
            control[key] = {key.first, key.second, outcome.result};
            continue;
        }
        auto const made = pairs.try_emplace(key);
        auto& pair = made.first->second;
        if (made.second) {
            pair.accessor = key.first;
            pair.owner = key.second;
            for (auto& check : pair.checks) {
                check.reason = "not part of this proof";
            }
        }
        if (outcome.step.kind == ProbeStep::Kind::ways) {
            auto& ways = pair[Check::map].ways;
            auto const& result = outcome.result;
            ways.insert(ways.end(), result.ways.begin(), result.ways.end());
            if (result.ways.empty()) {  // none was begun, and why
                for (auto const* way : {"pool", "virtual", "import_legacy", "import_virtual"}) {
                    ways.push_back({way, result.result, result.code, result.reason});
                }
            }
            continue;
        }
        pair[outcome.step.check] = outcome.result;
    }
    for (auto& entry : pairs) {
        verdicts.pairs.push_back(std::move(entry.second));
    }
    for (auto& entry : control) {
        verdicts.control.push_back(std::move(entry.second));
    }
    for (auto& entry : self_tests) {
        verdicts.self_tests.push_back(std::move(entry.second));
    }
    judge(verdicts);
    return verdicts;
}

Verdicts prove(ProbeHost& host, const Machine& machine, const ProveOptions& options) {
    auto const steps = proof_steps(machine, options);
    auto outcomes = host.run(steps, options.seconds_per_step, options.begin, options.end);
    auto const verdicts = assemble(machine, outcomes, options.seed, options.simulated);
    auto const groups = options.groups ? group_steps(verdicts, options.seed) : std::vector<ProbeStep>{};
    if (groups.empty()) {
        return verdicts;
    }
    auto together = host.run(groups, options.seconds_per_step, options.begin, options.end);
    std::move(together.begin(), together.end(), std::back_inserter(outcomes));
    return assemble(machine, outcomes, options.seed, options.simulated);
}

}  // namespace peerlane::prove
