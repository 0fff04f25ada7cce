#include "plan/load.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "machine/nominal.hpp"
#include "machine/paths.hpp"
#include "model/sharing.hpp"

namespace peerlane::plan {
namespace {

constexpr double giga = 1e9;

/// Both directions of a cable at once, as a part of their sum (docs/choosing.md): at a root port of the host, and
/// elsewhere.
constexpr double root_port_duplex = 0.79, cable_duplex = 0.95;
constexpr double memory_part = 0.8;        ///< of the nominal rate of a node's channels
constexpr double interconnect_part = 0.7;  ///< between sockets
constexpr double not_slowed = 0.97;        ///< part of what a leg reaches alone: the rest is noise
constexpr double loaded_part = 0.6;        ///< of a link's capacity: from there on it may be what slows
constexpr double all_of_it = 1.25;         ///< one leg's own, with what is gained by several
constexpr double copy_engines = 3;         ///< of a device (h200-pair's attribute), where no group tells
constexpr double fabric_part = 0.83, pcie_part = 0.87;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

bool is_fabric(const Link& link) {
    return link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
}

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

/// Any node of the host stands for each: a machine whose nodes are not known is measured so.
bool same(Place a, Place b) {
    return a == b || (a.is_host() && b.is_host() && (a == host() || b == host()));
}

bool joins_same(const Leg& a, const Leg& b) {
    return same(a.from, b.from) && same(a.to, b.to) && a.engine == b.engine;
}

struct Used {
    int stream;
    const LoadedUse* use;
};

const LoadedUse* user(const std::vector<Used>& used, const Leg& leg) {
    const LoadedUse* found = nullptr;
    for (auto const& one : used) {
        if (joins_same(one.use->leg, leg) && one.use->leg.issuer == leg.issuer) {
            return one.use;
        }
        if (joins_same(one.use->leg, leg)) {
            found = one.use;
        }
    }
    return found;
}

}  // namespace

Load::Load(const LegCosts& costs, const std::vector<std::pair<Place, Place>>& busy) : costs_(&costs) {
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
    for (auto const& [from, to] : busy) {
        Leg const leg{from, to, Engine::copy, from.is_device() ? from : to};
        if (auto const cost = costs.leg(leg)) {
            busy_.push_back({{leg, cost->rate, links_of(leg)}});
        }
    }
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

/// Groups that meet in a leg show the same thing.
void Load::learn_hidden(const LoadedGroup& group, const std::vector<std::size_t>& legs, double capacity) {
    Hidden made{{}, capacity};
    for (auto const leg : legs) {
        made.legs.push_back(group.legs[leg].leg);
    }
    std::erase_if(hidden_, [&](const Hidden& known) {
        auto const meets = std::any_of(known.legs.begin(), known.legs.end(), [&](const Leg& leg) {
            return std::find(made.legs.begin(), made.legs.end(), leg) != made.legs.end();
        });
        if (meets) {
            made.capacity = std::max(made.capacity, known.capacity);
            for (auto const& leg : known.legs) {
                if (std::find(made.legs.begin(), made.legs.end(), leg) == made.legs.end()) {
                    made.legs.push_back(leg);
                }
            }
        }
        return meets;
    });
    hidden_.push_back(std::move(made));
}

/// What the legs of a group take from cannot be seen in it. For each link that several of them take and load, what they
/// reached together is what it gives. The same for the copy engines of one issuer, in parts of an engine's time. Where
/// nothing of this slowed one, all that were slowed have something in common that nobody knows of.
void Load::learn_groups() {
    for (auto const& group : costs_->profile().loaded) {
        auto const count = group.legs.size();
        std::vector<bool> slowed(count), explained(count);
        std::map<int, std::vector<std::size_t>> users, issued;
        for (std::size_t i = 0; i < count; ++i) {
            auto const& leg = group.legs[i];
            slowed[i] = leg.gbs < leg.alone_gbs * not_slowed;
            for (auto const link : links_of(leg.leg)) {
                users[link].push_back(i);
            }
            if (leg.leg.engine == Engine::copy) {
                issued[leg.leg.issuer.index].push_back(i);
            }
        }
        Group known{&group, {}};
        // Groups move tens of MiB, and longer copies reach more: the part of its own rate that a leg kept is what
        // counts.
        auto const alone = [&](std::size_t leg) {
            auto const cost = costs_->leg(group.legs[leg].leg);
            return cost ? std::max(cost->rate, group.legs[leg].alone_gbs * giga) : group.legs[leg].alone_gbs * giga;
        };
        auto const kept = [&](std::size_t leg) {
            return alone(leg) * std::min(1.0, group.legs[leg].gbs / group.legs[leg].alone_gbs);
        };
        auto const rate_of = [&](const std::vector<std::size_t>& legs) {
            return std::accumulate(legs.begin(), legs.end(), 0.0,
                                   [&](double sum, std::size_t leg) { return sum + kept(leg); });
        };
        // A description may have legs share a link that they do not, as one without the fabric's links does.
        for (auto const& [link, legs] : users) {
            capacity_[at(link)] = std::max(capacity_[at(link)], rate_of(legs));
        }
        auto const add = [&](const std::vector<std::size_t>& legs, bool by_time) {
            Common common;
            auto any = false;
            for (auto const leg : legs) {
                auto const weight = by_time ? 1 / alone(leg) : 1.0;
                common.legs.emplace_back(leg, weight);
                common.capacity += weight * kept(leg);
                any = any || slowed[leg];
            }
            if (!any) {
                return;
            }
            for (auto const leg : legs) {
                explained[leg] = true;
            }
            known.common.push_back(std::move(common));
        };
        for (auto const& [link, legs] : users) {
            if (legs.size() > 1 && rate_of(legs) >= capacity_[at(link)] * loaded_part) {
                add(legs, false);
            }
            auto const twin = at(link) < twin_.size() ? twin_[at(link)] : -1;
            if (auto const back = users.find(twin); twin > link && back != users.end()) {
                auto both = legs;
                both.insert(both.end(), back->second.begin(), back->second.end());
                if (rate_of(both) >= (capacity_[at(link)] + capacity_[at(twin)]) * loaded_part) {
                    add(both, false);
                }
            }
        }
        for (auto const& [device, legs] : issued) {
            if (static_cast<double>(legs.size()) > copy_engines) {
                add(legs, true);
            }
        }
        std::vector<std::size_t> all_slowed;
        double parts = 0;
        auto unexplained = false;
        for (std::size_t i = 0; i < count; ++i) {
            unexplained = unexplained || (slowed[i] && !explained[i]);
            if (slowed[i]) {
                all_slowed.push_back(i);
                parts += group.legs[i].gbs / group.legs[i].alone_gbs;
            }
        }
        // Where they had no more together than one of them has alone, each alone takes all there is of it, and bytes of
        // one may weigh more than bytes of another.
        if (unexplained && parts > all_of_it) {
            add(all_slowed, false);
        } else if (unexplained) {
            learn_hidden(group, all_slowed, parts);
        }
        groups_.push_back(std::move(known));
    }
}

std::vector<int> Load::fabric_links(int from, int to) const {
    auto const& links = costs_->machine().graph.links;
    auto const& nodes = costs_->machine().graph.nodes;
    std::vector<int> way;
    for (std::size_t i = 0; i < links.size(); ++i) {
        if (is_fabric(links[i]) && links[i].from == from && links[i].to == to) {
            return {static_cast<int>(i)};
        }
    }
    for (std::size_t i = 0; i < links.size(); ++i) {
        if (!is_fabric(links[i]) || links[i].from != from || nodes[at(links[i].to)].kind == NodeKind::device) {
            continue;
        }
        for (std::size_t j = 0; j < links.size(); ++j) {
            if (is_fabric(links[j]) && links[j].from == links[i].to && links[j].to == to) {
                return {static_cast<int>(i), static_cast<int>(j)};  // planes side by side: one stands for all
            }
        }
    }
    // Over other devices: the fewest links.
    std::map<int, int> by{{from, -1}};
    std::vector<int> front{from};
    while (!front.empty() && by.count(to) == 0) {
        std::vector<int> next;
        for (std::size_t i = 0; i < links.size(); ++i) {
            if (is_fabric(links[i]) && std::find(front.begin(), front.end(), links[i].from) != front.end() &&
                by.try_emplace(links[i].to, static_cast<int>(i)).second) {
                next.push_back(links[i].to);
            }
        }
        front = std::move(next);
    }
    if (by.count(to) != 0) {
        for (auto node = to; by.at(node) >= 0; node = links[at(by.at(node))].from) {
            way.push_back(by.at(node));
        }
    }
    return way;
}

std::vector<int> Load::links_of(const Leg& leg) const {
    auto const& graph = costs_->machine().graph;
    if (leg.from == leg.to) {
        return {};
    }
    if (leg.from.is_device() && leg.to.is_device()) {
        auto const from = graph.device_node(leg.from.index);
        auto const to = graph.device_node(leg.to.index);
        auto const* const pair = costs_->machine().pair(leg.from.index, leg.to.index);
        if (pair != nullptr && (pair->path == PathClass::nv || pair->path == PathClass::xgmi)) {
            return fabric_links(from, to);
        }
        return host_way(graph, from, to);
    }
    auto const device = leg.from.is_device() ? leg.from.index : leg.to.index;
    auto place = leg.from.is_host() ? leg.from : leg.to;
    if (place == host()) {
        place = costs_->nominal().staging_places(device, device).front();
    }
    auto const node = graph.numa_node(place.index);
    auto const end = graph.device_node(device);
    if (node < 0) {
        return {};
    }
    auto way = leg.from.is_device() ? host_way(graph, end, node) : host_way(graph, node, end);
    auto const memory = std::find(numa_node_.begin(), numa_node_.end(), node);
    if (memory != numa_node_.end() && !way.empty()) {
        way.push_back(static_cast<int>(graph.links.size()) + static_cast<int>(memory - numa_node_.begin()));
    }
    return way;
}

std::vector<double> Load::rates(std::span<const Stream* const> streams, bool* guessed) const {
    std::vector<Used> used;
    std::vector<double> caps;
    auto const add = [&](const Stream& stream) {
        auto cap = std::numeric_limits<double>::infinity();
        for (auto const& use : stream) {
            used.push_back({static_cast<int>(caps.size()), &use});
            cap = std::min(cap, use.rate);
        }
        caps.push_back(cap);
    };
    for (auto const* stream : streams) {
        add(*stream);
    }
    for (auto const& stream : busy_) {
        add(stream);
    }
    if (used.size() < 2) {
        caps.resize(streams.size());
        return caps;
    }
    std::vector<double> capacity;
    std::vector<std::vector<model::Use>> uses(caps.size());
    auto const take = [&](int stream, int link, double weight) {
        auto& list = uses[at(stream)];
        auto const found =
            std::find_if(list.begin(), list.end(), [&](const model::Use& use) { return use.link == link; });
        if (found == list.end()) {
            list.push_back({link, weight});
        } else {
            found->weight += weight;
        }
    };
    // What a group of legs reached together is theirs; with some of them idle the others get no more than all.
    std::vector<std::vector<const LoadedUse*>> together;
    for (auto const& group : groups_) {
        std::vector<const LoadedUse*> members;  // one a leg of the group; nullptr: not at work here
        for (auto const& loaded : group.measured->legs) {
            members.push_back(user(used, loaded.leg));
        }
        for (auto const& common : group.common) {
            std::vector<std::pair<int, double>> working;  // stream, weight
            for (auto const& one : used) {
                for (auto const& [leg, weight] : common.legs) {
                    if (members[leg] == one.use) {
                        working.emplace_back(one.stream, weight);
                    }
                }
            }
            // One leg that nothing known slowed was slowed by all of the others together, or by chance.
            auto const alone = common.legs.size() == 1;
            if (alone ? working.empty() || std::count(members.begin(), members.end(), nullptr) != 0
                      : working.size() < 2) {
                continue;
            }
            auto const limit = static_cast<int>(capacity.size());
            capacity.push_back(common.capacity);
            for (auto const& [stream, weight] : working) {
                take(stream, limit, weight);
            }
        }
        if (std::count(members.begin(), members.end(), nullptr) == 0) {
            together.push_back(std::move(members));
        }
    }
    auto const measured_together = [&](const std::vector<const LoadedUse*>& users) {
        return std::any_of(together.begin(), together.end(), [&](const std::vector<const LoadedUse*>& group) {
            return std::all_of(users.begin(), users.end(), [&](const LoadedUse* use) {
                return std::find(group.begin(), group.end(), use) != group.end();
            });
        });
    };
    std::map<int, std::vector<Used>> users;
    for (auto const& one : used) {
        for (auto const link : one.use->links) {
            users[link].push_back(one);
        }
    }
    auto const share = [&](const std::vector<Used>& of, double limit) {
        std::vector<const LoadedUse*> legs;
        for (auto const& one : of) {
            legs.push_back(one.use);
        }
        if (of.size() < 2 || measured_together(legs)) {
            return;
        }
        if (guessed != nullptr) {
            *guessed = *guessed || std::any_of(of.begin(), of.end(),
                                               [&](const Used& one) { return one.stream != of.front().stream; });
        }
        auto const link = static_cast<int>(capacity.size());
        capacity.push_back(limit);
        for (auto const& one : of) {
            take(one.stream, link, 1.0);
        }
    };
    auto const& graph = costs_->machine().graph;
    for (auto const& [link, of] : users) {
        share(of, capacity_[at(link)]);
        auto const twin = at(link) < twin_.size() ? twin_[at(link)] : -1;
        if (auto const back = users.find(twin); twin > link && back != users.end()) {
            auto both = of;
            both.insert(both.end(), back->second.begin(), back->second.end());
            auto const root = graph.nodes[at(graph.links[at(link)].from)].kind == NodeKind::host_bridge ||
                              graph.nodes[at(graph.links[at(link)].to)].kind == NodeKind::host_bridge;
            share(both, (root ? root_port_duplex : cable_duplex) * (capacity_[at(link)] + capacity_[at(twin)]));
        }
    }
    for (auto const& hidden : hidden_) {
        std::vector<const Used*> working;
        for (auto const& one : used) {
            if (std::any_of(hidden.legs.begin(), hidden.legs.end(),
                            [&](const Leg& leg) { return joins_same(leg, one.use->leg); })) {
                working.push_back(&one);
            }
        }
        if (working.size() < 2) {
            continue;
        }
        auto const limit = static_cast<int>(capacity.size());
        capacity.push_back(hidden.capacity);
        for (auto const* one : working) {
            take(one->stream, limit, 1 / one->use->rate);
        }
    }
    // Copies of one device: each takes its engine for the part of its rate that it gets.
    std::map<int, std::vector<Used>> issued;
    for (auto const& one : used) {
        if (one.use->leg.engine == Engine::copy && one.use->leg.issuer.is_device()) {
            issued[one.use->leg.issuer.index].push_back(one);
        }
    }
    for (auto const& [device, copies] : issued) {
        std::vector<const LoadedUse*> legs;
        for (auto const& one : copies) {
            legs.push_back(one.use);
        }
        if (static_cast<double>(copies.size()) <= copy_engines || measured_together(legs)) {
            continue;
        }
        auto const limit = static_cast<int>(capacity.size());
        capacity.push_back(copy_engines);
        for (auto const& one : copies) {
            take(one.stream, limit, 1 / one.use->rate);
        }
    }
    model::Sharing sharing(capacity);
    std::vector<model::FlowId> flows;
    for (std::size_t i = 0; i < caps.size(); ++i) {
        flows.push_back(sharing.add(uses[i], 1.0, caps[i]));
    }
    (void)sharing.solve();
    std::vector<double> rates;
    for (std::size_t i = 0; i < streams.size(); ++i) {
        rates.push_back(sharing.rate(flows[i]));
    }
    return rates;
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
