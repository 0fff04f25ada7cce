#include "driver/sim/truth.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "machine/nominal.hpp"
#include "machine/paths.hpp"
#include "machine/synthesize.hpp"

namespace peerlane::sim {
namespace {

constexpr double giga = 1e9;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

double efficiency(const Figures& figures, LinkKind kind) {
    switch (kind) {
        case LinkKind::pcie:
            return figures.pcie_efficiency;
        case LinkKind::nvlink:
            return figures.nvlink_efficiency;
        case LinkKind::xgmi:
            return figures.xgmi_efficiency;
        case LinkKind::interconnect:
            return figures.interconnect_efficiency;
        case LinkKind::memory:
        case LinkKind::network:
            break;
    }
    return 1.0;
}

double effective_gbs(const Graph& graph, const Link& link, const Figures& figures) {
    auto gbs = assumed_gbs(link) * efficiency(figures, link.kind);
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

bool is_fabric(const Link& link) {
    return link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
}

/// Fabric links from a to b: direct ones, else one link in and one out of a common switch.
std::vector<int> fabric_way(const Graph& graph, int a, int b) {
    for (std::size_t i = 0; i < graph.links.size(); ++i) {
        if (is_fabric(graph.links[i]) && graph.links[i].from == a && graph.links[i].to == b) {
            return {static_cast<int>(i)};
        }
    }
    std::vector<int> way;
    for (std::size_t i = 0; i < graph.links.size(); ++i) {
        auto const& in = graph.links[i];
        if (!is_fabric(in) || in.from != a || graph.nodes[at(in.to)].kind == NodeKind::device) {
            continue;
        }
        for (std::size_t j = 0; j < graph.links.size(); ++j) {
            auto const& out = graph.links[j];
            if (is_fabric(out) && out.from == in.to && out.to == b) {
                way.push_back(static_cast<int>(i));
                way.push_back(static_cast<int>(j));
            }
        }
        if (!way.empty()) {
            return way;  // several switches side by side carry one capacity each; one of them stands for all (see
                         // make_network)
        }
    }
    return way;
}

/// Switches side by side (18 links spread over four) act as one: joins parallel fabric ways into one pair of links.
Graph with_joined_switches(Graph graph) {
    int first = -1;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        if (graph.nodes[n].kind != NodeKind::nvswitch) {
            continue;
        }
        if (first < 0) {
            first = static_cast<int>(n);
            continue;
        }
        for (auto& link : graph.links) {
            link.from = link.from == static_cast<int>(n) ? first : link.from;
            link.to = link.to == static_cast<int>(n) ? first : link.to;
        }
    }
    std::vector<Link> joined;
    for (auto const& link : graph.links) {
        auto const same = std::find_if(joined.begin(), joined.end(), [&](const Link& l) {
            return l.from == link.from && l.to == link.to && l.kind == link.kind && is_fabric(l);
        });
        if (link.from == link.to && is_fabric(link)) {
            continue;
        }
        if (same == joined.end()) {
            joined.push_back(link);
            continue;
        }
        same->capacity_gbs = assumed_gbs(*same) + assumed_gbs(link);
        same->width = same->width.value_or(0) + link.width.value_or(0);
    }
    graph.links = std::move(joined);
    return graph;
}

/// A description may show devices (or the bridge above them) that hang on nothing: an excerpt, a flat cloud bus, a link
/// table. Each still has memory of the host somewhere, so it gets a port of the first NUMA node, whose rate is then an
/// assumption.
Graph with_host_memory(Graph graph) {
    auto const add = [&](NodeKind kind, const char* name) {
        graph.nodes.push_back({kind, 0, name, "", -1});
        return static_cast<int>(graph.nodes.size()) - 1;
    };
    auto const join = [&](int a, int b, LinkKind kind) {
        graph.links.push_back({a, b, kind, {}, {}, {}, {}});
        graph.links.push_back({b, a, kind, {}, {}, {}, {}});
    };
    auto const first = [&](NodeKind kind) {
        auto const found =
            std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.kind == kind; });
        return found == graph.nodes.end() ? -1 : static_cast<int>(found - graph.nodes.begin());
    };
    auto const has_numa = first(NodeKind::numa) >= 0;
    auto const numa = has_numa ? first(NodeKind::numa) : add(NodeKind::numa, "numa:assumed");
    auto port = -1;
    for (std::size_t n = 0, count = graph.nodes.size(); n < count; ++n) {
        auto const node = static_cast<int>(n);
        if (graph.nodes[n].kind != NodeKind::device) {
            continue;
        }
        auto held = false;
        for (std::size_t m = 0; m < graph.nodes.size() && !held; ++m) {
            held = graph.nodes[m].kind == NodeKind::numa && !host_way(graph, node, static_cast<int>(m)).empty() &&
                   !host_way(graph, static_cast<int>(m), node).empty();
        }
        if (held) {
            continue;
        }
        // Of what lies above the device, a host bridge joins the memory; a device alone gets one.
        auto above = -1;
        for (std::size_t m = 0; m < graph.nodes.size() && above < 0; ++m) {
            if (graph.nodes[m].kind == NodeKind::host_bridge && !host_way(graph, node, static_cast<int>(m)).empty()) {
                above = static_cast<int>(m);
            }
        }
        if (above >= 0) {
            join(above, numa, LinkKind::memory);
            continue;
        }
        if (port < 0) {
            port = add(NodeKind::host_bridge, "host:assumed");
            join(port, numa, LinkKind::memory);
        }
        join(node, port, LinkKind::pcie);
    }
    return graph;
}

void add_host_ways(Network& net, const Graph& graph, int device) {
    auto const from = graph.device_node(device);
    std::vector<std::pair<std::size_t, int>> numas;  // length of the way, node
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        if (graph.nodes[n].kind != NodeKind::numa) {
            continue;
        }
        auto out = host_way(graph, from, static_cast<int>(n));
        auto in = host_way(graph, static_cast<int>(n), from);
        if (out.empty() || in.empty()) {
            continue;
        }
        auto const numa = graph.nodes[n].index;
        numas.emplace_back(out.size(), numa);
        out.push_back(net.numa_memory.at(numa));
        in.push_back(net.numa_memory.at(numa));
        if (net.host_duplex) {
            out.push_back(*net.host_duplex);
            in.push_back(*net.host_duplex);
        }
        net.to_numa[{device, numa}] = std::move(out);
        net.from_numa[{device, numa}] = std::move(in);
    }
    if (numas.empty()) {
        throw std::invalid_argument(
            fmt::format("simulated machine: device {} has no way to host memory in the graph", device));
    }
    auto const nearest = std::min_element(numas.begin(), numas.end())->second;
    net.numa.push_back(nearest);
    net.to_host.push_back(net.to_numa.at({device, nearest}));
    net.from_host.push_back(net.from_numa.at({device, nearest}));
}

/// A measured pair is true even where the links that somebody assumed would not carry it.
void admit_measured(Network& net, const Machine& machine) {
    for (auto const& pair : machine.pairs) {
        auto const forward = std::max(pair.measured.write_gbs.value_or(0), pair.measured.write_sm_gbs.value_or(0));
        auto const backward = std::max(pair.measured.read_gbs.value_or(0), pair.measured.read_sm_gbs.value_or(0));
        auto const raise = [&](const std::vector<int>& way, double gbs) {
            for (auto const link : way) {
                net.capacity[at(link)] = std::max(net.capacity[at(link)], gbs * giga);
            }
        };
        raise(net.peer[at(pair.accessor)][at(pair.owner)], forward);
        raise(net.peer[at(pair.owner)][at(pair.accessor)], backward);
    }
}

Network make_network(const Machine& machine, const Figures& figures) {
    Network net;
    auto const& graph = machine.graph;
    for (auto const& link : graph.links) {
        net.capacity.push_back(effective_gbs(graph, link, figures) * giga);
    }
    auto const add = [&](double gbs) {
        net.capacity.push_back(gbs * giga);
        return static_cast<int>(net.capacity.size()) - 1;
    };
    auto const devices = machine.devices.size();
    for (std::size_t d = 0; d < devices; ++d) {
        net.local.push_back(add(figures.local_gbs));
    }
    for (auto const& node : graph.nodes) {
        if (node.kind == NodeKind::numa) {
            net.numa_memory[node.index] = add(figures.host_memory_gbs);
        }
    }
    if (figures.host_duplex_gbs) {
        net.host_duplex = add(*figures.host_duplex_gbs);
    }
    net.peer.assign(devices, std::vector<std::vector<int>>(devices));
    for (std::size_t a = 0; a < devices; ++a) {
        add_host_ways(net, graph, static_cast<int>(a));
        for (std::size_t b = 0; b < devices; ++b) {
            if (a == b) {
                continue;
            }
            auto const from = graph.device_node(static_cast<int>(a));
            auto const to = graph.device_node(static_cast<int>(b));
            auto& way = net.peer[a][b];
            way = fabric_way(graph, from, to);
            if (way.empty()) {
                way = host_way(graph, from, to);
            }
        }
    }
    admit_measured(net, machine);
    return net;
}

void check_devices(const Fault& fault, int devices) {
    auto const check = [&](int d) {
        if (d >= devices) {
            throw std::invalid_argument(
                fmt::format("fault '{}': no device {}; this machine has {}", to_string(fault), d, devices));
        }
    };
    if (fault.what == Fault::What::fact || fault.what == Fault::What::together) {
        return;
    }
    check(fault.a);
    check(fault.b);
}

}  // namespace

const Fault* Truth::fault(Fault::What what, int a, int b, std::uint64_t bytes) const {
    for (auto fault = faults.rbegin(); fault != faults.rend(); ++fault) {
        if (fault->what == what && fault->concerns(a, b) && fault->concerns_size(bytes)) {
            return &*fault;
        }
    }
    return nullptr;
}

bool Truth::claims(int accessor, int owner) const {
    if (accessor == owner || fault(Fault::What::claim, accessor, owner) != nullptr || !figures.gpu_direct) {
        return false;
    }
    auto const* pair = machine.pair(accessor, owner);
    return pair != nullptr && pair->claim.value_or(true) && !network.peer[at(accessor)][at(owner)].empty();
}

std::optional<int> Truth::slot_limit(int accessor) const {
    for (auto fault = faults.rbegin(); fault != faults.rend(); ++fault) {
        if (fault->what == Fault::What::map && fault->effect == Fault::Effect::limit &&
            (fault->a == Fault::any || fault->a == accessor)) {
            return static_cast<int>(fault->number);
        }
    }
    return std::nullopt;
}

double Truth::limited_rate(int source, int destination, double rate) const {
    auto const* found = fault(Fault::What::rate, source, destination);
    if (found == nullptr) {
        return rate;
    }
    return found->effect == Fault::Effect::rate ? std::min(rate, found->number * giga) : rate * found->number;
}

double Truth::extra_latency(int source, int destination) const {
    auto const* found = fault(Fault::What::latency, source, destination);
    return found == nullptr ? 0.0 : found->number;
}

bool Truth::keeps_mirror(int accessor, int owner) const {
    return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
        return fault.effect == Fault::Effect::mirror && fault.what != Fault::What::host &&
               fault.concerns(accessor, owner);
    });
}

Truth make_truth(const Machine& machine, const Figures& figures, const std::vector<Fault>& faults, std::uint64_t seed) {
    Truth truth{machine, figures, faults, {}, seed};
    if (truth.machine.graph.empty()) {
        truth.machine.graph = synthesize_graph(truth.machine);
    }
    truth.machine.graph = with_host_memory(with_joined_switches(std::move(truth.machine.graph)));
    for (auto const& fault : faults) {
        check_devices(fault, static_cast<int>(machine.devices.size()));
    }
    truth.network = make_network(truth.machine, figures);
    return truth;
}

}  // namespace peerlane::sim
