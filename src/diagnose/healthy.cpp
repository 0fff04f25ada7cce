/// Facts of a machine that is not there: nothing in them is wrong.

#include <algorithm>

#include <fmt/format.h>

#include <peerlane/facts.hpp>

#include "machine/parts.hpp"

namespace peerlane {
namespace {

constexpr unsigned nvidia_id = 0x10de, amd_id = 0x1002;

bool is_amd(const Machine& machine, const Device& device) {
    return device.architecture.has_value() || (device.model && device.model->rfind("AMD", 0) == 0) ||
           std::any_of(machine.pairs.begin(), machine.pairs.end(),
                       [&](const Pair& pair) { return pair.accessor == device.id && pair.path == PathClass::xgmi; });
}

/// The address of the input, else one that no device of the input has.
std::string bus_of(const Machine& machine, const Device& device) {
    if (device.bus) {
        return *device.bus;
    }
    auto const taken = [&](const std::string& bus) {
        return std::any_of(machine.devices.begin(), machine.devices.end(),
                           [&](const Device& other) { return other.bus == bus; });
    };
    for (int domain = 0;; ++domain) {
        auto bus = fmt::format("{:04x}:{:02x}:00.0", device.id / 255 + domain * 16, device.id % 255 + 1);
        if (!taken(bus)) {
            return bus;
        }
    }
}

/// Names of the bridges between a device and its host bridge, nearest first; as far as the graph shows a tree.
std::vector<std::string> bridges_above(const Graph& graph, int device) {
    std::vector<std::string> found;
    int at = graph.device_node(device);
    std::vector<int> seen;
    while (at >= 0 && std::find(seen.begin(), seen.end(), at) == seen.end()) {
        seen.push_back(at);
        int next = -1;
        for (auto const& link : graph.links) {
            auto const kind = graph.nodes[static_cast<std::size_t>(link.to)].kind;
            if (link.from == at && link.kind == LinkKind::pcie &&
                (kind == NodeKind::pci_bridge || kind == NodeKind::host_bridge) &&
                std::find(seen.begin(), seen.end(), link.to) == seen.end()) {
                next = link.to;
                break;
            }
        }
        if (next < 0 || graph.nodes[static_cast<std::size_t>(next)].kind == NodeKind::host_bridge) {
            break;
        }
        auto const& node = graph.nodes[static_cast<std::size_t>(next)];
        found.push_back(node.bus.empty() ? node.name : node.bus);
        at = next;
    }
    return found;
}

PciFunction bridge_of(const std::string& bus) {
    PciFunction bridge;
    bridge.bus = bus;
    bridge.class_code = 0x060400;
    bridge.config_bytes = 4096;
    bridge.acs_control = 0;
    return bridge;
}

NvmlDevice device_of(const Device& device, const std::string& bus) {
    NvmlDevice out;
    out.index = device.id;
    out.bus = bus;
    out.uuid = device.uuid.value_or("");
    out.name = device.model.value_or("");
    out.memory_bytes = device.memory_bytes;
    out.compute_capability = device.compute_capability;
    out.current = out.most = {device.pcie_generation, device.pcie_width};
    out.mig = device.mig;
    out.mig_instances = device.mig_instances;
    // A matrix tells the links of pairs; how many a device has does not follow, and is left unread.
    auto const links = device.nvlinks.value_or(0);
    auto const total = links + static_cast<int>(device.inactive_nvlinks.size());
    for (int number = 0; number < total; ++number) {
        auto const& inactive = device.inactive_nvlinks;
        NvmlLink link;
        link.number = number;
        link.active = std::find(inactive.begin(), inactive.end(), number) == inactive.end();
        out.links.push_back(link);
    }
    return out;
}

}  // namespace

Facts healthy_facts(const Machine& machine) {
    Facts facts;
    facts.simulated = true;
    facts.host.pci_tree = true;
    facts.host.hypervisor_flag = false;
    facts.process.init_code = 0;
    std::vector<std::string> bridges;
    for (auto const& device : machine.devices) {
        auto const amd = is_amd(machine, device);
        auto const bus = bus_of(machine, device);
        PciFunction function;
        function.bus = bus;
        function.vendor = amd ? amd_id : nvidia_id;
        if (auto const id = pci_id_of_model(device.model.value_or("")); id.device != 0) {
            function.device = static_cast<unsigned>(id.device);
        }
        function.class_code = 0x030200;
        function.numa = device.numa;
        function.local_cpus = device.cpu_affinity.value_or("");
        function.current = function.most = {device.pcie_generation, device.pcie_width};
        function.driver = amd ? "amdgpu" : "nvidia";
        function.iommu_type = "identity";
        function.config_bytes = 4096;
        function.above = bridges_above(machine.graph, device.id);
        for (auto const& bridge : function.above) {
            if (std::find(bridges.begin(), bridges.end(), bridge) == bridges.end()) {
                bridges.push_back(bridge);
            }
        }
        facts.host.pci.push_back(std::move(function));
        facts.process.runtime_order.push_back(bus);
        if (!amd) {
            facts.nvml.state = NvmlFacts::State::ok;
            facts.nvml.devices.push_back(device_of(device, bus));
            facts.process.driver_gpus.push_back(bus);
        }
    }
    for (auto const& bridge : bridges) {
        facts.host.pci.push_back(bridge_of(bridge));
    }
    for (auto const& pair : machine.pairs) {
        if (facts.nvml.state == NvmlFacts::State::ok) {
            facts.nvml.pairs.push_back({facts.host.pci[static_cast<std::size_t>(pair.accessor)].bus,
                                        facts.host.pci[static_cast<std::size_t>(pair.owner)].bus, pair.claims,
                                        std::nullopt});
        }
    }
    return facts;
}

}  // namespace peerlane
