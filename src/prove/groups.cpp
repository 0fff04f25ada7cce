// Which pairs are tried together.
#include <set>

#include <fmt/format.h>

#include <peerlane/prove.hpp>

namespace peerlane::prove {
namespace {

/// Source and destination of data.
using Flows = std::vector<std::pair<int, int>>;

struct NamedFlows {
    std::string name;
    Flows flows;
};

std::vector<NamedFlows> patterns(const std::set<int>& devices) {
    std::vector<NamedFlows> all;
    for (auto const d : devices) {
        NamedFlows out{fmt::format("all out of {}", d), {}};
        for (auto const other : devices) {
            if (other != d) {
                out.flows.emplace_back(d, other);
            }
        }
        all.push_back(std::move(out));
    }
    for (auto const d : devices) {
        NamedFlows in{fmt::format("all into {}", d), {}};
        for (auto const other : devices) {
            if (other != d) {
                in.flows.emplace_back(other, d);
            }
        }
        all.push_back(std::move(in));
    }
    NamedFlows disjoint{"disjoint pairs", {}};
    std::vector<int> const order(devices.begin(), devices.end());
    for (std::size_t i = 0; i + 1 < order.size(); i += 2) {
        disjoint.flows.emplace_back(order[i], order[i + 1]);
    }
    all.push_back(std::move(disjoint));
    NamedFlows everything{"all at once", {}};
    for (auto const a : devices) {
        for (auto const b : devices) {
            if (a != b) {
                everything.flows.emplace_back(a, b);
            }
        }
    }
    all.push_back(std::move(everything));
    return all;
}

}  // namespace

std::vector<ProbeStep> group_steps(const Verdicts& verdicts, std::uint64_t seed) {
    std::set<int> devices;
    for (auto const& pair : verdicts.pairs) {
        devices.insert({pair.accessor, pair.owner});
    }
    std::vector<ProbeStep> steps;
    for (auto const accessor : devices) {
        ProbeStep step{
            ProbeStep::Kind::group, Check::map, accessor, 0, {}, seed, {}, fmt::format("peers of {}", accessor)};
        for (auto const& pair : verdicts.pairs) {
            if (pair.accessor == accessor && pair[Check::map].result == Result::ok) {
                step.pairs.emplace_back(pair.accessor, pair.owner);
            }
        }
        if (step.pairs.size() > 1) {  // one alone was the pair's own check
            step.owner = step.pairs.front().second;
            steps.push_back(std::move(step));
        }
    }
    std::set<std::pair<Check, Flows>> seen;
    for (auto const& pattern : patterns(devices)) {
        for (auto const check : {Check::push, Check::pull}) {
            ProbeStep step{ProbeStep::Kind::group, check, 0, 0, {group_bytes}, seed, {}, pattern.name};
            for (auto const& [source, destination] : pattern.flows) {
                auto const accessor = check == Check::push ? source : destination;
                auto const owner = check == Check::push ? destination : source;
                auto const* const pair = verdicts.pair(accessor, owner);
                if (pair != nullptr && (*pair)[check].result == Result::ok) {
                    step.pairs.emplace_back(accessor, owner);
                }
            }
            if (step.pairs.size() < 2 || !seen.insert({check, step.pairs}).second) {
                continue;
            }
            step.accessor = step.pairs.front().first;
            step.owner = step.pairs.front().second;
            steps.push_back(std::move(step));
        }
    }
    return steps;
}

}  // namespace peerlane::prove
