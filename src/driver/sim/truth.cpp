#include "driver/sim/truth.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "driver/sim/defaults.hpp"
#include "driver/sim/fabric.hpp"
#include "machine/paths.hpp"
#include "machine/synthesize.hpp"

namespace peerlane::sim {
namespace {

constexpr double giga = 1e9;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
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

/// One more limit on all that leaves or enters these devices.
void share_port(Network& net, const SimEffects::SharedPort& port) {
    auto const limit = static_cast<int>(net.capacity.size());
    net.capacity.push_back(port.gbs * giga);
    for (auto const device : port.devices) {
        if (device < 0 || at(device) >= net.peer.size()) {
            throw std::invalid_argument(fmt::format("effect: no device {}", device));
        }
        for (std::size_t other = 0; other < net.peer.size(); ++other) {
            if (!net.peer[at(device)][other].links.empty()) {
                net.peer[at(device)][other].links.push_back(limit);
                net.peer[other][at(device)].links.push_back(limit);
            }
        }
        net.to_host[at(device)].push_back(limit);
        net.from_host[at(device)].push_back(limit);
        for (auto* ways : {&net.to_numa, &net.from_numa}) {
            for (auto& [key, way] : *ways) {
                if (key.first == device) {
                    way.push_back(limit);
                }
            }
        }
    }
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
    return pair != nullptr && pair->claim.value_or(true) && !network.peer[at(accessor)][at(owner)].links.empty();
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

Truth make_truth(const Machine& machine, const Figures& figures, const SimOptions& options) {
    Truth truth{machine, figures, options.faults, {}, options.seed, options.effects};
    if (truth.machine.graph.empty()) {
        truth.machine.graph = synthesize_graph(truth.machine);
    }
    truth.machine.graph = with_host_memory(with_joined_switches(std::move(truth.machine.graph)));
    for (auto const& fault : options.faults) {
        check_devices(fault, static_cast<int>(machine.devices.size()));
    }
    for (auto const& slow : options.effects.slow_links) {
        truth.figures.capacities.push_back({slow.from, slow.to, "", slow.gbs});
    }
    if (!truth.figures.interference) {
        truth.figures.interference = interference(truth.machine.graph);
    }
    if (options.effects.write_collapse_gbs) {
        truth.figures.interference->push_back({true, 2, 2, 2, 1, false, *options.effects.write_collapse_gbs});
    }
    truth.network = make_network(truth.machine, truth.figures);
    for (auto const& port : options.effects.shared_ports) {
        share_port(truth.network, port);
    }
    return truth;
}

}  // namespace peerlane::sim
