/// The PCI tree as nodes and links of the graph.

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "discover/assemble.hpp"
#include "discover/read_host.hpp"
#include "machine/nominal.hpp"

namespace peerlane {
namespace {

enum class Port { root, upstream, downstream, other };

/// Kinds of the bridges of a way, nearest to the host first. The configuration space tells them where this user may
/// read it; else they alternate below the root port, as switches do.
std::vector<Port> ports_of(const std::vector<std::string>& way, const HostFacts& host) {
    std::vector<Port> ports;
    for (std::size_t i = 0; i < way.size(); ++i) {
        auto const* const bridge = host.function(way[i]);
        auto const type = bridge == nullptr ? std::nullopt : bridge->port_type;
        if (type == 4U) {
            ports.push_back(Port::root);
        } else if (type == 5U) {
            ports.push_back(Port::upstream);
        } else if (type == 6U) {
            ports.push_back(Port::downstream);
        } else if (type) {
            ports.push_back(Port::other);
        } else if (i == 0) {
            ports.push_back(Port::root);
        } else {
            ports.push_back(ports.back() == Port::upstream ? Port::downstream : Port::upstream);
        }
    }
    return ports;
}

bool is_network(const PciFunction& function) {
    return function.class_code.value_or(0) >> 16U == 0x02;
}

class TreeBuilder {
  public:
    TreeBuilder(const HostFacts& host, Machine& machine) : host_(host), graph_(machine.graph) {}

    void count_below(const PciFunction& function) {
        auto const way = way_to(function);
        for (std::size_t i = 0; i < way.size(); ++i) {
            below_[way[i]].insert(i + 1 < way.size() ? way[i + 1] : function.bus);
        }
    }

    void add_numa_nodes() {
        for (auto const& numa : host_.numa) {
            if (!numa.device.empty() || (numa.cpus.empty() && numa.memory_bytes.value_or(0) == 0)) {
                continue;
            }
            auto const node = add_node(NodeKind::numa, numa.node, fmt::format("numa:{}", numa.node), "");
            graph_.nodes[at(node)].socket = numa.socket.value_or(-1);
            for (auto const other : numa_nodes_) {
                join(other, node, LinkKind::interconnect, {});
            }
            numa_nodes_.push_back(node);
        }
    }

    /// Hangs a node below its bridges. Without a place in the tree it stays alone.
    void attach(int node, const PciFunction& function, PciRate rate) {
        if (function.root.empty()) {
            return;
        }
        auto const way = way_to(function);
        auto const ports = ports_of(way, host_);
        // From the bottom: every station is joined with the one below it, by the link above the lower one.
        int lower = node;
        for (std::size_t i = way.size(); i-- > 0;) {
            bool const branching_root = ports[i] == Port::root && below_[way[i]].size() > 1;
            if (ports[i] == Port::upstream || ports[i] == Port::other || branching_root) {
                auto const [bridge, fresh] = bridge_node(way[i]);
                join(lower, bridge, LinkKind::pcie, rate);
                if (!fresh) {
                    return;
                }
                lower = bridge;
                auto const* const facts = host_.function(way[i]);
                // What joins a root port to its host bridge is inside the processor.
                rate = facts == nullptr || branching_root ? PciRate{} : link_rate(*facts, host_);
            }
        }
        join(lower, host_node(function), LinkKind::pcie, rate);
    }

    void join_hosts_with_memory() {
        for (auto const& [root, host] : hosts_) {
            auto const& numbers = numa_of_root_[root];
            int memory = -1;
            if (numbers.size() == 1 && numbers.front()) {
                memory = graph_.numa_node(*numbers.front());
            } else if (numa_nodes_.size() == 1 && numbers == std::vector<std::optional<int>>{std::nullopt}) {
                memory = numa_nodes_.front();  // there is only this one, whatever the firmware left out
            }
            if (memory >= 0) {
                join(host, memory, LinkKind::memory, {});
                graph_.nodes[at(host)].socket = graph_.nodes[at(memory)].socket;
            }
        }
    }

    int add_node(NodeKind kind, int index, std::string name, std::string bus) {
        if (graph_.find(name) >= 0) {
            name += "@" + bus;
        }
        graph_.nodes.push_back({kind, index, std::move(name), std::move(bus), -1});
        return static_cast<int>(graph_.nodes.size()) - 1;
    }

  private:
    static std::size_t at(int index) { return static_cast<std::size_t>(index); }

    static std::vector<std::string> way_to(const PciFunction& function) {
        return {function.above.rbegin(), function.above.rend()};
    }

    void join(int a, int b, LinkKind kind, PciRate rate) {
        auto const gbs = kind == LinkKind::pcie ? pcie_gbs(rate.generation, rate.width) : std::nullopt;
        graph_.links.push_back({a, b, kind, rate.generation, rate.width, gbs, std::nullopt});
        graph_.links.push_back({b, a, kind, rate.generation, rate.width, gbs, std::nullopt});
    }

    std::pair<int, bool> bridge_node(const std::string& bus) {
        auto const known = bridges_.find(bus);
        if (known != bridges_.end()) {
            return {known->second, false};
        }
        auto const node = add_node(NodeKind::pci_bridge, static_cast<int>(bridges_.size()), "bridge:" + bus, bus);
        bridges_[bus] = node;
        return {node, true};
    }

    int host_node(const PciFunction& function) {
        auto& numbers = numa_of_root_[function.root];
        if (std::find(numbers.begin(), numbers.end(), function.numa) == numbers.end()) {
            numbers.push_back(function.numa);
        }
        auto const known = hosts_.find(function.root);
        if (known != hosts_.end()) {
            return known->second;
        }
        auto const index = static_cast<int>(hosts_.size());
        auto const node = add_node(NodeKind::host_bridge, index, fmt::format("host:{}", index), "");
        hosts_[function.root] = node;
        return node;
    }

    const HostFacts& host_;
    Graph& graph_;
    std::map<std::string, std::set<std::string>> below_;  ///< next stations below each bridge, devices included
    std::map<std::string, int> bridges_, hosts_;
    std::map<std::string, std::vector<std::optional<int>>> numa_of_root_;  ///< different answers of what hangs below
    std::vector<int> numa_nodes_;
};

}  // namespace

void add_nodes(const HostFacts& host, const std::vector<Found>& devices, Machine& machine) {
    TreeBuilder tree(host, machine);
    std::vector<const PciFunction*> adapters;
    for (auto const& function : host.pci) {
        if (is_network(function) && !function.interfaces.empty() && !function.virtual_function &&
            function.interfaces.front().rfind("mlx", 0) == 0) {
            adapters.push_back(&function);
        }
    }
    for (auto const& device : devices) {
        if (device.function != nullptr) {
            tree.count_below(*device.function);
        }
    }
    for (auto const* const adapter : adapters) {
        tree.count_below(*adapter);
    }
    for (std::size_t id = 0; id < devices.size(); ++id) {
        tree.add_node(NodeKind::device, static_cast<int>(id), fmt::format("gpu{}", id), devices[id].bus);
    }
    tree.add_numa_nodes();
    for (std::size_t id = 0; id < devices.size(); ++id) {
        if (devices[id].function != nullptr) {
            tree.attach(static_cast<int>(id), *devices[id].function, link_rate(devices[id], host));
        }
    }
    int index = 0;
    for (auto const* const adapter : adapters) {
        auto const node = tree.add_node(NodeKind::nic, index++, adapter->interfaces.front(), adapter->bus);
        tree.attach(node, *adapter, link_rate(*adapter, host));
    }
    tree.join_hosts_with_memory();
}

}  // namespace peerlane
