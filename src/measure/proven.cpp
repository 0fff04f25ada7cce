#include "measure/proven.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

namespace peerlane::measuring {
namespace {

/// Whole accesses are measured of every pair up to so many devices; beyond, of the first pairs of each sort.
constexpr std::size_t few_devices = 4;
constexpr std::size_t whole_accesses = 8;

/// Directed pairs that are joined alike.
using Sort = std::tuple<PathClass, int, double, bool>;
Sort sort_of(const Ground& ground, int a, int b) {
    auto const* const pair = ground.machine.pair(a, b);
    auto const same_node = ground.near(a) == ground.near(b);
    return pair == nullptr ? Sort{PathClass::unknown, 0, 0.0, same_node}
                           : Sort{pair->path, pair->nvlinks.value_or(0), pair->nominal_gbs.value_or(0), same_node};
}

/// The first of each sort, then the second of each, and so on.
template <class T, class SortOf>
std::vector<T> spread_over(const std::vector<T>& all, std::size_t most, SortOf sort) {
    std::map<decltype(sort(all.front())), std::size_t> seen;
    std::vector<std::pair<std::size_t, std::size_t>> order;  // turn within its sort, position
    for (std::size_t i = 0; i < all.size(); ++i) {
        order.emplace_back(seen[sort(all[i])]++, i);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::size_t> taken;
    for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
        taken.push_back(order[i].second);
    }
    std::sort(taken.begin(), taken.end());
    std::vector<T> result;
    for (auto const i : taken) {
        result.push_back(all[i]);
    }
    return result;
}

}  // namespace

std::vector<int> host_nodes(const Machine& machine) {
    std::vector<int> nodes;
    for (auto const& node : machine.graph.nodes) {
        if (node.kind == NodeKind::numa) {
            nodes.push_back(node.index);
        }
    }
    for (auto const& device : machine.devices) {
        if (device.numa && *device.numa >= 0) {
            nodes.push_back(*device.numa);
        }
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    std::erase_if(nodes, [&](int node) {  // memory of a device that the host sees as a node
        return std::any_of(machine.devices.begin(), machine.devices.end(),
                           [node](const Device& device) { return device.memory_numa == node; });
    });
    return nodes;
}

bool Ground::right(Check check, int accessor, int owner) const {
    if (verdicts == nullptr) {
        auto const* const pair = machine.pair(accessor, owner);
        return trust_claimed && pair != nullptr && pair->claim.value_or(false);
    }
    auto const* const pair = verdicts->pair(accessor, owner);
    return pair != nullptr && (*pair)[check].result == Result::ok;
}

bool Ground::host_right(int device, bool to_host) const {
    if (verdicts == nullptr) {
        return true;
    }
    bool any = false;
    for (auto const& arm : verdicts->control) {
        if ((to_host ? arm.source : arm.destination) == device) {
            if (arm.staged.result == Result::ok) {
                return true;
            }
            any = true;
        }
    }
    return !any;
}

Place Ground::near(int device) const {
    auto const* const found = machine.device(device);
    auto const node = found != nullptr ? found->numa : std::nullopt;
    auto const here = node ? std::find(hosts.begin(), hosts.end(), host(*node)) : hosts.end();
    return here != hosts.end() ? *here : hosts.front();
}

Ground ground_of(const Machine& machine, std::vector<int> devices, const std::vector<int>& nodes,
                 const Verdicts* verdicts, bool trust_claimed) {
    if (devices.empty()) {
        for (auto const& device : machine.devices) {
            devices.push_back(device.id);
        }
    }
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    for (auto const device : devices) {
        if (machine.device(device) == nullptr) {
            throw std::invalid_argument(fmt::format("measure: the machine has no device {}", device));
        }
    }
    std::vector<Place> hosts;
    for (auto const node : nodes.empty() ? host_nodes(machine) : nodes) {
        if (node < 0) {
            throw std::invalid_argument(fmt::format("measure: {} is no NUMA node", node));
        }
        hosts.push_back(host(node));
    }
    if (hosts.empty()) {
        hosts.push_back(host());
    }
    return {machine, std::move(devices), std::move(hosts), verdicts, trust_claimed};
}

std::vector<Leg> proven_legs(const Ground& ground, bool quick) {
    std::vector<Leg> legs;
    for (auto const a : ground.devices) {
        for (auto const b : ground.devices) {
            if (a == b) {
                continue;
            }
            auto const add = [&](Check check, Engine engine, int issuer) {
                if (ground.right(check, issuer, issuer == a ? b : a)) {
                    legs.push_back({gpu(a), gpu(b), engine, gpu(issuer)});
                }
            };
            add(Check::push, Engine::copy, a);
            add(Check::pull, Engine::copy, b);
            add(Check::store, Engine::kernel, a);
            add(Check::load, Engine::kernel, b);
        }
    }
    for (auto const engine : {Engine::copy, Engine::kernel}) {
        if (engine == Engine::kernel && quick) {
            continue;
        }
        for (auto const device : ground.devices) {
            for (auto const place : ground.hosts) {
                if (ground.host_right(device, true)) {
                    legs.push_back({gpu(device), place, engine, gpu(device)});
                }
                if (ground.host_right(device, false)) {
                    legs.push_back({place, gpu(device), engine, gpu(device)});
                }
            }
        }
    }
    return legs;
}

namespace {

/// Collects groups; one of which any move has no leg is left out.
class Groups {
  public:
    Groups(const Ground& ground, const std::vector<Leg>& legs, std::size_t most)
        : ground_(ground), legs_(legs), most_(most) {
        for (auto const a : ground.devices) {
            for (auto const b : ground.devices) {
                if (a != b) {
                    pairs_.emplace_back(a, b);
                }
            }
        }
    }

    /// Of each directed pair (or of those with a < b), the moves that `make` gives.
    template <class Make>
    void of_pairs(const char* name, bool unordered, Make make) {
        std::vector<std::pair<int, int>> possible;
        for (auto const& [a, b] : pairs_) {
            if ((!unordered || a < b) && possible_group(make(a, b))) {
                possible.emplace_back(a, b);
            }
        }
        if (possible.empty()) {
            return;
        }
        auto const sort = [&](const std::pair<int, int>& pair) { return sort_of(ground_, pair.first, pair.second); };
        for (auto const& pair : spread_over(possible, most_, sort)) {
            groups_.push_back({name, make(pair.first, pair.second)});
        }
    }

    /// Of each two devices the moves over each third one.
    template <class Make>
    void of_triples(const char* name, Make make) {
        using Triple = std::tuple<int, int, int>;
        std::vector<Triple> possible;
        for (auto const& [a, b] : pairs_) {
            for (auto const over : ground_.devices) {
                if (over != a && over != b && possible_group(make(a, over, b))) {
                    possible.emplace_back(a, over, b);
                }
            }
        }
        if (possible.empty()) {
            return;
        }
        auto const sort = [&](const Triple& triple) {
            auto const [a, over, b] = triple;
            return std::tuple(sort_of(ground_, a, over), sort_of(ground_, over, b), sort_of(ground_, a, b));
        };
        for (auto const& triple : spread_over(possible, most_, sort)) {
            groups_.push_back({name, make(std::get<0>(triple), std::get<1>(triple), std::get<2>(triple))});
        }
    }

    /// Moves without a leg are left out; at least two must be left.
    void one(const char* name, const std::vector<Move>& moves) {
        std::vector<Move> possible;
        std::copy_if(moves.begin(), moves.end(), std::back_inserter(possible),
                     [&](const Move& move) { return has_leg(move); });
        auto const known = std::any_of(groups_.begin(), groups_.end(),
                                       [&](const GroupPlan& group) { return group.moves == possible; });
        if (possible.size() >= 2 && !known) {
            groups_.push_back({name, std::move(possible)});
        }
    }

    std::vector<GroupPlan> take() { return std::move(groups_); }

  private:
    [[nodiscard]] bool has_leg(const Move& move) const {
        return std::any_of(legs_.begin(), legs_.end(),
                           [&](const Leg& leg) { return leg.from == move.first && leg.to == move.second; });
    }
    [[nodiscard]] bool possible_group(const std::vector<Move>& moves) const {
        return std::all_of(moves.begin(), moves.end(), [&](const Move& move) { return has_leg(move); });
    }

    const Ground& ground_;
    const std::vector<Leg>& legs_;
    std::size_t most_;
    std::vector<std::pair<int, int>> pairs_;
    std::vector<GroupPlan> groups_;
};

}  // namespace

std::vector<GroupPlan> plan_groups(const Ground& ground, const std::vector<Leg>& legs, std::size_t most_of_kind) {
    Groups groups(ground, legs, most_of_kind);
    auto const near = [&](int device) { return ground.near(device); };
    auto const& devices = ground.devices;

    groups.of_pairs("duplex", true, [&](int a, int b) {
        return std::vector<Move>{{gpu(a), gpu(b)}, {gpu(b), gpu(a)}};
    });
    for (std::size_t i = 0; i < std::min(devices.size(), most_of_kind); ++i) {
        groups.one("host duplex", {{gpu(devices[i]), near(devices[i])}, {near(devices[i]), gpu(devices[i])}});
    }
    groups.of_pairs("host legs", false, [&](int a, int b) {
        return std::vector<Move>{{gpu(a), near(a)}, {near(a), gpu(b)}};
    });
    groups.of_pairs("fabric beside host legs", false, [&](int a, int b) {
        return std::vector<Move>{{gpu(a), gpu(b)}, {gpu(a), near(a)}, {near(a), gpu(b)}};
    });
    groups.of_pairs("from host through a peer", false, [&](int a, int b) {
        return std::vector<Move>{{near(b), gpu(b)}, {near(a), gpu(a)}, {gpu(a), gpu(b)}};
    });
    groups.of_pairs("to host through a peer", false, [&](int a, int b) {
        return std::vector<Move>{{gpu(a), near(a)}, {gpu(a), gpu(b)}, {gpu(b), near(b)}};
    });
    groups.of_triples("relay", [&](int a, int over, int b) {
        return std::vector<Move>{{gpu(a), gpu(over)}, {gpu(over), gpu(b)}};
    });
    groups.of_triples("relay beside direct", [&](int a, int over, int b) {
        return std::vector<Move>{{gpu(a), gpu(b)}, {gpu(a), gpu(over)}, {gpu(over), gpu(b)}};
    });

    std::vector<Move> disjoint, ring, out, in, both;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        auto const next = devices[(i + 1) % devices.size()];
        if (i % 2 == 0 && i + 1 < devices.size()) {
            disjoint.emplace_back(gpu(devices[i]), gpu(next));
        }
        ring.emplace_back(gpu(devices[i]), gpu(next));
        out.emplace_back(gpu(devices[i]), near(devices[i]));
        in.emplace_back(near(devices[i]), gpu(devices[i]));
        if (i >= most_of_kind) {
            continue;
        }
        std::vector<Move> out_of_one, into_one;
        for (auto const other : devices) {
            if (other != devices[i]) {
                out_of_one.emplace_back(gpu(devices[i]), gpu(other));
                into_one.emplace_back(gpu(other), gpu(devices[i]));
            }
        }
        groups.one("all out of one", out_of_one);
        groups.one("all into one", into_one);
    }
    both = out;
    both.insert(both.end(), in.begin(), in.end());
    groups.one("disjoint pairs", disjoint);
    groups.one("ring", ring);
    groups.one("all to host", out);
    groups.one("host to all", in);
    groups.one("all host legs", both);
    return groups.take();
}

std::vector<Move> plan_ends(const Ground& ground, std::size_t most) {
    std::vector<std::pair<int, int>> pairs;
    for (auto const a : ground.devices) {
        for (auto const b : ground.devices) {
            if (a != b) {
                pairs.emplace_back(a, b);
            }
        }
    }
    std::vector<Move> ends;
    if (!pairs.empty()) {
        auto const sort = [&](const std::pair<int, int>& pair) { return sort_of(ground, pair.first, pair.second); };
        for (auto const& [a, b] : spread_over(pairs, most, sort)) {
            ends.emplace_back(gpu(a), gpu(b));
        }
    }
    for (std::size_t i = 0; i < std::min(ground.devices.size(), most); ++i) {
        auto const device = ground.devices[i];
        ends.emplace_back(gpu(device), ground.near(device));
        ends.emplace_back(ground.near(device), gpu(device));
    }
    return ends;
}

std::vector<AccessPlan> plan_accesses(const Ground& ground, bool quick) {
    std::vector<AccessPlan> plans;
    std::vector<std::pair<int, int>> pairs;
    for (auto const a : ground.devices) {
        for (auto const b : ground.devices) {
            if (a != b && ground.right(Check::load, a, b)) {
                pairs.emplace_back(a, b);
            }
        }
    }
    auto whole = pairs;
    if (ground.devices.size() > few_devices && !pairs.empty()) {
        whole = spread_over(pairs, whole_accesses,
                            [&](const std::pair<int, int>& pair) { return sort_of(ground, pair.first, pair.second); });
    }
    for (auto const device : ground.devices) {
        plans.push_back({device, gpu(device), true, !quick});
        for (auto const& [accessor, owner] : pairs) {
            if (accessor == device) {
                auto const in_whole = std::find(whole.begin(), whole.end(), std::pair(accessor, owner)) != whole.end();
                plans.push_back({device, gpu(owner), ground.right(Check::atomic, accessor, owner), in_whole && !quick});
            }
        }
        for (auto const place : ground.hosts) {
            if (ground.host_right(device, false)) {
                plans.push_back({device, place, false, !quick && place == ground.near(device)});
            }
        }
    }
    return plans;
}

}  // namespace peerlane::measuring
