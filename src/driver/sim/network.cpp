#include "driver/sim/network.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "driver/sim/defaults.hpp"
#include "driver/sim/fabric.hpp"
#include "machine/nominal.hpp"
#include "machine/paths.hpp"

namespace peerlane::sim {
namespace {

constexpr double giga = 1e9;
constexpr double no_limit = 1e15;         ///< bytes/s; a capacity has to be finite
constexpr double host_memory_part = 0.8;  ///< of the channels' nominal rate that transfers reach
constexpr double usual_host_memory_gbs = 200;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

bool switched(const Graph& graph, const Link& link) {
    auto const kind = link.kind == LinkKind::pcie ? NodeKind::pci_bridge : NodeKind::nvswitch;
    return graph.nodes[at(link.from)].kind == kind || graph.nodes[at(link.to)].kind == kind;
}

double effective_gbs(const Graph& graph, const Link& link, const Figures& figures) {
    auto gbs = assumed_gbs(link) * link_efficiency(figures, link, switched(graph, link));
    for (auto const& figure : figures.capacities) {
        auto const by_kind = !figure.kind.empty() && figure.kind == to_string(link.kind);
        auto const by_name = figure.kind.empty() && figure.from == graph.nodes[at(link.from)].name &&
                             figure.to == graph.nodes[at(link.to)].name;
        if (by_kind || by_name) {
            gbs = figure.gbs;
        }
    }
    return gbs;
}

class Builder {
  public:
    Builder(const Machine& machine, const Figures& figures)
        : machine_(machine),
          graph_(machine.graph),
          figures_(figures),
          devices_(static_cast<int>(machine.devices.size())) {}

    Network build() {
        for (auto const& link : graph_.links) {
            net_.capacity.push_back(effective_gbs(graph_, link, figures_) * giga);
        }
        for (int d = 0; d < devices_; ++d) {
            net_.local.push_back(add(figures_.local_gbs * giga, "memory of gpu" + std::to_string(d)));
        }
        for (auto const& node : graph_.nodes) {
            if (node.kind == NodeKind::numa) {
                net_.numa_memory[node.index] =
                    add(memory_gbs(graph_.find(node.name)) * giga, "memory of host:" + std::to_string(node.index));
            }
        }
        if (figures_.host_duplex_gbs) {
            net_.host_duplex = add(*figures_.host_duplex_gbs * giga, "all host legs together");
        }
        if (figures_.staged_total_gbs) {
            net_.staged_total = add(*figures_.staged_total_gbs * giga, "all copies that the driver stages");
        }
        find_ways();
        admit_measured();
        join_directions();
        for (int d = 0; d < devices_; ++d) {
            add_ports(d);
            add_host_ways(d);
        }
        for (int a = 0; a < devices_; ++a) {
            for (int b = 0; b < devices_; ++b) {
                finish(a, b);
            }
        }
        return std::move(net_);
    }

  private:
    int add(double capacity, std::string name) {
        auto const limit = static_cast<int>(net_.capacity.size());
        net_.capacity.push_back(capacity);
        net_.limit_names[limit] = std::move(name);
        return limit;
    }

    [[nodiscard]] const std::string& name(int node) const { return graph_.nodes[at(node)].name; }
    [[nodiscard]] std::string cable(const Link& link) const {
        return "both ways of " + name(link.from) + "=" + name(link.to);
    }

    [[nodiscard]] const Link& link(int index) const { return graph_.links[at(index)]; }
    [[nodiscard]] NodeKind kind(int node) const { return graph_.nodes[at(node)].kind; }

    /// Of a NUMA node, read plus write.
    [[nodiscard]] double memory_gbs(int node) const {
        if (figures_.host_memory_gbs) {
            return *figures_.host_memory_gbs;
        }
        double nominal = 0;
        for (auto const& one : graph_.links) {
            if (one.kind == LinkKind::memory && one.to == node && one.capacity_gbs) {
                nominal = std::max(nominal, *one.capacity_gbs);
            }
        }
        return nominal > 0 ? nominal * host_memory_part : usual_host_memory_gbs;
    }

    void find_ways() {
        net_.peer.assign(at(devices_), std::vector<PeerWay>(at(devices_)));
        for (int a = 0; a < devices_; ++a) {
            for (int b = 0; b < devices_; ++b) {
                if (a == b) {
                    continue;
                }
                auto& way = net_.peer[at(a)][at(b)];
                auto const from = graph_.device_node(a);
                auto const to = graph_.device_node(b);
                way.links = fabric_way(graph_, from, to);
                way.switched = way.links.size() > 1;
                if (!way.links.empty()) {
                    continue;
                }
                auto const routed = routed_ways(graph_, from, to);
                for (auto const& one : routed) {
                    way.links.insert(way.links.end(), one.begin(), one.end());
                    way.share = 1.0 / static_cast<double>(routed.size());
                }
                if (way.links.empty()) {
                    way.links = host_way(graph_, from, to);
                    way.over_pcie = !way.links.empty();
                }
            }
        }
    }

    /// A measured pair is true even where the links that somebody assumed would not carry it.
    void admit_measured() {
        for (auto const& pair : machine_.pairs) {
            auto const forward = std::max(pair.measured.write_gbs.value_or(0), pair.measured.write_sm_gbs.value_or(0));
            auto const backward = std::max(pair.measured.read_gbs.value_or(0), pair.measured.read_sm_gbs.value_or(0));
            auto const raise = [&](const PeerWay& way, double gbs) {
                for (auto const index : way.links) {
                    net_.capacity[at(index)] = std::max(net_.capacity[at(index)], gbs * giga * way.share);
                }
            };
            raise(net_.peer[at(pair.accessor)][at(pair.owner)], forward);
            raise(net_.peer[at(pair.owner)][at(pair.accessor)], backward);
            measured_ = std::max({measured_, forward, backward});
        }
    }

    /// The two directions of a fabric's cable share a limit a little below their sum. Those of a PCIe cable each lose a
    /// part as soon as the other one is in use (seen in runs that fill one direction and half of the other).
    void join_directions() {
        auto const links = graph_.links.size();
        both_.assign(links, -1);
        host_both_.assign(links, -1);
        net_.twin.assign(links, -1);
        net_.duplex.assign(links, 1.0);
        for (std::size_t i = 0; i < links; ++i) {
            auto const& one = graph_.links[i];
            for (std::size_t j = i + 1; j < links && net_.twin[i] < 0 && both_[i] < 0; ++j) {
                auto const& other = graph_.links[j];
                if (other.from != one.to || other.to != one.from || other.kind != one.kind) {
                    continue;
                }
                auto const sum = net_.capacity[i] + net_.capacity[j];
                auto const part = link_duplex(figures_, one, switched(graph_, one));
                if (one.kind == LinkKind::pcie) {
                    net_.twin[i] = static_cast<int>(j);
                    net_.twin[j] = static_cast<int>(i);
                    net_.duplex[i] = net_.duplex[j] = part;
                    if (kind(one.from) == NodeKind::host_bridge || kind(one.to) == NodeKind::host_bridge) {
                        host_both_[i] = host_both_[j] = add(
                            host_port_duplex(figures_, one.generation.value_or(4)) * sum, "host legs, " + cable(one));
                    }
                } else if (part < 1.0) {
                    both_[i] = both_[j] = add(part * sum, cable(one));
                }
            }
        }
    }

    void add_ports(int device) {
        auto const node = graph_.device_node(device);
        net_.pcie_out.push_back(-1);
        net_.pcie_in.push_back(-1);
        for (std::size_t i = 0; i < graph_.links.size(); ++i) {
            if (graph_.links[i].kind == LinkKind::pcie) {
                if (graph_.links[i].from == node) {
                    net_.pcie_out.back() = static_cast<int>(i);
                }
                if (graph_.links[i].to == node) {
                    net_.pcie_in.back() = static_cast<int>(i);
                }
            }
        }
    }

    [[nodiscard]] std::vector<int> with_host_limits(std::vector<int> way, int numa) const {
        for (std::size_t i = 0, count = way.size(); i < count; ++i) {
            auto const limit = host_both_[at(way[i])] >= 0 ? host_both_[at(way[i])] : both_[at(way[i])];
            if (limit >= 0) {
                way.push_back(limit);
            }
        }
        way.push_back(net_.numa_memory.at(numa));
        if (net_.host_duplex) {
            way.push_back(*net_.host_duplex);
        }
        return way;
    }

    /// Most that one copy staged by the driver moves over this leg.
    [[nodiscard]] double staged_limit(const std::vector<int>& way) const {
        if (figures_.staged_by_driver_fraction) {
            return net_.narrowest(way) * *figures_.staged_by_driver_fraction;
        }
        auto limit = no_limit;
        for (auto const index : way) {
            auto const& one = link(index);
            auto const cable = one.kind == LinkKind::pcie
                                   ? assumed_gbs(one) * giga * staged_part(one.generation.value_or(4))
                                   : net_.capacity[at(index)] * 0.68;
            limit = std::min(limit, cable);
        }
        return limit;
    }

    void add_host_ways(int device) {
        auto const node = graph_.device_node(device);
        std::vector<std::pair<std::size_t, int>> numas;  // length of the way, node
        std::map<int, std::pair<double, double>> staged;
        for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
            if (graph_.nodes[n].kind != NodeKind::numa) {
                continue;
            }
            auto out = host_way(graph_, node, static_cast<int>(n));
            auto in = host_way(graph_, static_cast<int>(n), node);
            if (out.empty() || in.empty()) {
                continue;
            }
            auto const numa = graph_.nodes[n].index;
            numas.emplace_back(out.size(), numa);
            staged[numa] = {staged_limit(out), staged_limit(in)};
            net_.to_numa[{device, numa}] = with_host_limits(std::move(out), numa);
            net_.from_numa[{device, numa}] = with_host_limits(std::move(in), numa);
        }
        if (numas.empty()) {
            throw std::invalid_argument(
                fmt::format("simulated machine: device {} has no way to host memory in the graph", device));
        }
        auto const nearest = std::min_element(numas.begin(), numas.end())->second;
        net_.numa.push_back(nearest);
        net_.to_host.push_back(net_.to_numa.at({device, nearest}));
        net_.from_host.push_back(net_.from_numa.at({device, nearest}));
        net_.staged_to.push_back(staged.at(nearest).first);
        net_.staged_from.push_back(staged.at(nearest).second);
        if (!net_.staged_total) {
            auto const port = net_.pcie_out.back();
            auto const generation = port < 0 ? 4 : link(port).generation.value_or(4);
            auto const one = figures_.staged_by_driver_gbs ? *figures_.staged_by_driver_gbs * giga
                                                           : std::min(net_.staged_to.back(), net_.staged_from.back());
            net_.staged_here.push_back(add(one * staged_duplex(figures_, graph_, generation),
                                           "copies that the driver stages, gpu" + std::to_string(device)));
        }
    }

    [[nodiscard]] int socket_of(int bridge) const {
        if (graph_.nodes[at(bridge)].socket >= 0) {
            return graph_.nodes[at(bridge)].socket;
        }
        for (auto const& one : graph_.links) {
            if (one.from == bridge && kind(one.to) == NodeKind::numa) {
                return graph_.nodes[at(one.to)].socket;
            }
        }
        return -1;
    }

    struct Port {
        int out = -1, in = -1, both = -1;
    };

    /// Limits of what a root port passes to other root ports; -1 where the link itself is all.
    const Port& crossing(int bridge, bool other_socket, const Link& uplink) {
        auto const found = ports_.find({bridge, other_socket});
        if (found != ports_.end()) {
            return found->second;
        }
        auto& port = ports_[{bridge, other_socket}];
        auto const gbs = crossing_gbs(figures_, uplink, switched(graph_, uplink), other_socket);
        if (gbs) {
            auto const capacity = std::max(*gbs, measured_) * giga;
            auto const to = name(bridge) + (other_socket ? " to other sockets" : " to other ports");
            port = {add(capacity, "peer traffic out of " + to), add(capacity, "peer traffic into " + to),
                    add(2 * capacity * figures_.crossing_duplex, "peer traffic both ways of " + to)};
        }
        return port;
    }

    void add_crossing(PeerWay& way, const std::vector<int>& links) {
        std::vector<std::pair<int, int>> bridges;  // node, PCIe link beside it
        for (std::size_t i = 0; i < links.size(); ++i) {
            auto const& one = link(links[i]);
            if (one.kind == LinkKind::pcie && kind(one.to) == NodeKind::host_bridge) {
                bridges.emplace_back(one.to, links[i]);
            }
            if (one.kind == LinkKind::pcie && kind(one.from) == NodeKind::host_bridge) {
                bridges.emplace_back(one.from, links[i]);
            }
        }
        if (bridges.size() < 2 || bridges.front().first == bridges.back().first) {
            return;
        }
        way.port_out = bridges.front().first;
        way.port_in = bridges.back().first;
        auto const one = socket_of(way.port_out);
        auto const other = socket_of(way.port_in);
        auto const numas = std::count_if(links.begin(), links.end(),
                                         [&](int index) { return kind(link(index).to) == NodeKind::numa; });
        auto const other_socket = one >= 0 && other >= 0 ? one != other : numas > 1;
        auto const out = crossing(way.port_out, other_socket, link(bridges.front().second));
        auto const in = crossing(way.port_in, other_socket, link(bridges.back().second));
        for (auto const limit : {out.out, out.both, in.in, in.both}) {
            if (limit >= 0) {
                way.write_limits.push_back(limit);
            }
        }
        if (figures_.interference && !figures_.interference->empty()) {
            for (auto const bridge : {way.port_out, way.port_in}) {
                if (net_.writes_out.count(bridge) == 0) {
                    net_.writes_out[bridge] = add(no_limit, "writes out of " + name(bridge) + " to other ports");
                    net_.reads_in[bridge] = add(no_limit, "reads into " + name(bridge) + " from other ports");
                }
            }
        }
    }

    void finish(int a, int b) {
        auto& way = net_.peer[at(a)][at(b)];
        if (way.links.empty()) {
            return;
        }
        auto const links = way.links;
        std::set<int> limits;
        for (auto const index : links) {
            if (both_[at(index)] >= 0) {
                limits.insert(both_[at(index)]);
            }
        }
        way.links.insert(way.links.end(), limits.begin(), limits.end());
        if (way.over_pcie) {
            add_crossing(way, links);
        }
        if (!way.over_pcie) {
            for (auto const index : net_.peer[at(b)][at(a)].links) {
                if (at(index) < graph_.links.size() && link(index).kind == LinkKind::nvlink) {
                    way.requests.push_back(index);
                }
            }
            way.requests.insert(way.requests.end(), limits.begin(), limits.end());
        }
        auto const routed = way.share < 1.0 || (!way.over_pcie && passes_device(graph_, links));
        way.limit = std::min(net_.narrowest(way.links), net_.narrowest(way.write_limits)) / way.share *
                    (routed ? figures_.xgmi_routed_efficiency : 1.0);
    }

    const Machine& machine_;
    const Graph& graph_;
    const Figures& figures_;
    int devices_;
    Network net_;
    std::vector<int> both_, host_both_;  ///< [link]: limit of both directions of its cable; -1: none
    std::map<std::pair<int, bool>, Port> ports_;
    double measured_ = 0;  ///< fastest measured pair, GB/s
};

}  // namespace

double Network::narrowest(const std::vector<int>& links) const {
    auto rate = std::numeric_limits<double>::infinity();
    for (auto const link : links) {
        rate = std::min(rate, capacity[at(link)]);
    }
    return rate;
}

Network make_network(const Machine& machine, const Figures& figures) {
    return Builder(machine, figures).build();
}

}  // namespace peerlane::sim
