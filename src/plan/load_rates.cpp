// Rates of streams that run together: max-min over what they share.
#include "plan/load.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "model/sharing.hpp"
#include "plan/load_places.hpp"

namespace peerlane::plan {
namespace {

/// Both directions of a cable at once, as a part of their sum (docs/choosing.md): at a root port of the host, and
/// elsewhere.
constexpr double root_port_duplex = 0.79, cable_duplex = 0.95;

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

std::vector<double> Load::rates(std::span<const Stream* const> streams, bool* guessed) const {
    if (busy_.empty()) {
        if (auto const* const plan = known(streams)) {
            std::vector<double> rates;
            for (auto const* stream : streams) {
                rates.push_back(plan->rates[at(place_of(*stream, plan->streams))]);
            }
            return rates;
        }
    }
    auto rates = expected(streams, guessed);
    if (guessed != nullptr && hopeful_) {
        *guessed = false;
    } else if (busy_.empty() && guessed != nullptr) {
        *guessed = *guessed || std::any_of(known_.begin(), known_.end(), [&](const Known& plan) {
            return plan.streams.size() > 1 && same_ends(plan.streams.front(), *streams.front());
        });
    }
    if (auto const* const plan = alike(streams)) {
        for (auto& rate : rates) {
            rate *= plan->kept;
        }
    }
    return rates;
}

std::vector<double> Load::expected(std::span<const Stream* const> streams, bool* guessed) const {
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
            share(both, (hopeful_ ? 1.0
                         : root   ? root_port_duplex
                                  : cable_duplex) *
                            (capacity_[at(link)] + capacity_[at(twin)]));
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

}  // namespace peerlane::plan
