#include "plan/load.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "machine/nominal.hpp"
#include "machine/paths.hpp"

namespace peerlane::plan {
namespace {

constexpr double giga = 1e9;

constexpr double memory_part = 0.8;        ///< of the nominal rate of a node's channels
constexpr double interconnect_part = 0.7;  ///< between sockets
constexpr double fabric_part = 0.83, pcie_part = 0.87;

double part_of(const Link& link) {
    switch (link.kind) {
        case LinkKind::pcie:
            return pcie_part;
        case LinkKind::nvlink:
        case LinkKind::xgmi:
            return fabric_part;
        case LinkKind::interconnect:
            return interconnect_part;
        default:
            return memory_part;
    }
}

}  // namespace

Load::Load(const LegCosts& costs, const std::vector<std::pair<Place, Place>>& busy, bool hopeful)
    : costs_(&costs), hopeful_(hopeful) {
    auto const& graph = costs.machine().graph;
    for (auto const& link : graph.links) {
        capacity_.push_back(assumed_gbs(link) * giga * part_of(link));
    }
    twin_.assign(graph.links.size(), -1);
    for (std::size_t i = 0; i < graph.links.size(); ++i) {
        for (std::size_t j = 0; j < graph.links.size() && graph.links[i].kind == LinkKind::pcie; ++j) {
            if (graph.links[j].from == graph.links[i].to && graph.links[j].to == graph.links[i].from &&
                graph.links[j].kind == LinkKind::pcie) {
                twin_[i] = static_cast<int>(j);
            }
        }
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        if (graph.nodes[n].kind == NodeKind::numa) {
            double nominal = 0;
            for (auto const& link : graph.links) {
                if (link.kind == LinkKind::memory && link.to == static_cast<int>(n)) {
                    nominal = std::max(nominal, assumed_gbs(link));
                }
            }
            numa_node_.push_back(static_cast<int>(n));
            capacity_.push_back((nominal > 0 ? nominal : 200.0) * giga * memory_part);
        }
    }
    learn_capacities();
    learn_groups();
    if (hopeful) {
        groups_.clear();
        hidden_.clear();
    }
    for (auto const& [from, to] : busy) {
        Leg const leg{from, to, Engine::copy, from.is_device() ? from : to};
        if (auto const cost = costs.leg(leg)) {
            busy_.push_back({{leg, cost->rate, links_of(leg)}});
        }
    }
    learn_plans();
}

/// A link that is the narrowest of a measured leg, by what its description says, carries what the fastest such leg
/// reached; one that is not carries at least as much as the fastest leg over it.
void Load::learn_capacities() {
    std::vector<double> reached(capacity_.size(), 0.0), crossed(capacity_.size(), 0.0);
    auto const learn = [&](const Leg& leg) {
        auto const cost = costs_->leg(leg);
        auto const links = links_of(leg);
        if (!cost || cost->basis != Basis::measured || links.empty()) {
            return;
        }
        auto narrowest = std::numeric_limits<double>::infinity();
        for (auto const link : links) {
            narrowest = std::min(narrowest, capacity_[at(link)]);
        }
        for (auto const link : links) {
            auto& rate = capacity_[at(link)] <= narrowest * 1.05 ? reached[at(link)] : crossed[at(link)];
            rate = std::max(rate, cost->rate);
        }
    };
    for (auto const& curve : costs_->profile().legs) {
        learn(curve.leg);
    }
    // Rates that the machine's description brings.
    auto const& machine = costs_->machine();
    for (auto const& rates : machine.host) {
        learn({gpu(rates.device), host(), Engine::copy, gpu(rates.device)});
        learn({host(), gpu(rates.device), Engine::copy, gpu(rates.device)});
    }
    for (auto const& pair : machine.pairs) {
        if (!pair.measured.empty()) {
            learn({gpu(pair.accessor), gpu(pair.owner), Engine::copy, gpu(pair.accessor)});
        }
    }
    for (std::size_t i = 0; i < capacity_.size(); ++i) {
        capacity_[i] = reached[i] > 0 ? std::max(reached[i], crossed[i]) : std::max(capacity_[i], crossed[i]);
    }
}

double Load::crowd(std::span<const Stream* const> streams, std::size_t stream, std::size_t leg) const {
    auto crowd = 1.0;
    for (auto const link : (*streams[stream])[leg].links) {
        double wanted = 0;
        for (auto const* other : streams) {
            if (other->size() < 2 || leg >= other->size()) {
                continue;
            }
            auto const& use = (*other)[leg];
            wanted += std::find(use.links.begin(), use.links.end(), link) != use.links.end() ? use.rate : 0.0;
        }
        crowd = std::max(crowd, wanted / capacity_[at(link)]);
    }
    return crowd;
}

std::vector<std::string> Load::shared(std::span<const Stream* const> streams) const {
    std::map<int, int> count;
    for (auto const* stream : streams) {
        for (auto const& use : *stream) {
            for (auto const link : use.links) {
                ++count[link];
            }
        }
    }
    for (auto const& stream : busy_) {
        for (auto const link : stream.front().links) {
            ++count[link];
        }
    }
    std::vector<std::string> names;
    auto const& graph = costs_->machine().graph;
    for (auto const& [link, users] : count) {
        if (users > 1 && at(link) < graph.links.size()) {
            auto const& one = graph.links[at(link)];
            names.push_back(fmt::format("{} > {}", graph.nodes[at(one.from)].name, graph.nodes[at(one.to)].name));
        }
    }
    return names;
}

}  // namespace peerlane::plan
