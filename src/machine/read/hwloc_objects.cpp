#include "machine/read/hwloc_objects.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "machine/nominal.hpp"
#include "machine/parts.hpp"
#include "machine/paths.hpp"
#include "machine/read/text.hpp"

namespace peerlane::read {
namespace {

/// The number that the file itself gives the device: "nvml3", "cuda3".
std::optional<int> own_number(const HwlocPci& pci, std::string_view prefix) {
    for (auto const& f : pci.functions) {
        if (f.name.rfind(prefix, 0) == 0) {
            if (auto const number = small_number(std::string_view(f.name).substr(prefix.size()))) {
                return number;
            }
        }
    }
    return std::nullopt;
}

class Builder {
  public:
    Builder(const Source& source, const HwlocTopology& topology) : source_(source), topology_(topology) {}
    Machine build();

  private:
    void number_devices();
    void add_devices();
    void add_numas();
    void add_tree();
    void add_memories();
    void add_notices();

    int pci_node(int pci);
    int node(Node node);
    void link(int a, int b, LinkKind kind, std::optional<double> gbs, std::optional<int> width = {});
    [[nodiscard]] int numa_node(int number) const {
        auto const found = numa_nodes_.find(number);
        return found == numa_nodes_.end() ? -1 : found->second;
    }
    [[nodiscard]] double device_link_gbs(const HwlocPci& pci) const;
    [[nodiscard]] std::optional<int> near_numa(const HwlocPci& pci) const;
    [[nodiscard]] const HwlocPci* host_of(const HwlocPci& pci) const;
    [[nodiscard]] bool is_root_port(int pci) const;
    [[nodiscard]] const HwlocPci& at(int pci) const { return topology_.pci[static_cast<std::size_t>(pci)]; }

    const Source& source_;
    const HwlocTopology& topology_;
    Machine machine_;
    std::vector<int> gpus_;         ///< index into topology_.pci, by device id
    std::map<int, int> device_of_;  ///< the reverse
    std::map<int, int> node_of_;    ///< pci index to graph node
    std::map<int, int>
        switch_of_port_;  ///< a switch's port to the bridge that stands for the switch; itself for others
    std::map<int, int> numa_nodes_;
    int hosts_ = 0, bridges_ = 0;
    std::set<std::string> names_;
    std::map<std::uint64_t, int> by_gp_index_;  ///< objects of matrices to graph nodes
};

void Builder::number_devices() {
    for (std::size_t i = 0; i < topology_.pci.size(); ++i) {
        if (is_gpu(topology_.pci[i])) {
            gpus_.push_back(static_cast<int>(i));
        }
    }
    if (gpus_.size() > static_cast<std::size_t>(most_devices)) {
        refuse(source_, at(gpus_.back()).line, fmt::format("{} GPUs in one machine", gpus_.size()));
    }
    for (std::string_view const prefix : {"nvml", "cuda", "rsmi"}) {
        std::map<int, int> numbered;
        for (auto const pci : gpus_) {
            if (auto const number = own_number(at(pci), prefix)) {
                numbered.emplace(*number, pci);
            }
        }
        if (numbered.size() == gpus_.size() && !numbered.empty() &&
            numbered.rbegin()->first == static_cast<int>(gpus_.size()) - 1) {
            gpus_.clear();
            for (auto const& [number, pci] : numbered) {
                gpus_.push_back(pci);
            }
            break;
        }
    }
    for (std::size_t id = 0; id < gpus_.size(); ++id) {
        device_of_[gpus_[id]] = static_cast<int>(id);
    }
}

const HwlocPci* Builder::host_of(const HwlocPci& pci) const {
    auto const* here = &pci;
    while (here->parent >= 0) {
        here = &at(here->parent);
    }
    return here->kind == HwlocPci::Kind::host_bridge ? here : nullptr;
}

std::optional<int> Builder::near_numa(const HwlocPci& pci) const {
    auto const* host = host_of(pci);
    return host != nullptr ? host->numa : pci.numa;
}

double Builder::device_link_gbs(const HwlocPci& pci) const {
    // The port above names the same link from its other end.
    return pci.link_gbs > 0 ? pci.link_gbs : pci.parent >= 0 ? at(pci.parent).link_gbs : 0;
}

void Builder::add_devices() {
    for (std::size_t id = 0; id < gpus_.size(); ++id) {
        auto const& pci = at(gpus_[id]);
        Device device;
        device.id = static_cast<int>(id);
        device.bus = pci.bus;
        device.numa = near_numa(pci);
        if (auto const* host = host_of(pci); host != nullptr && !host->cpus.empty()) {
            device.cpu_affinity = host->cpus;
        }
        if (auto const listed = model_of_pci_id(pci.vendor, pci.product)) {
            device.model = listed;
        } else if (!pci.product_name.empty()) {
            device.model = part_name(pci.product_name);
        }
        for (auto const& f : pci.functions) {
            if (!f.model.empty()) {
                device.model = f.model;
            }
            if (!f.uuid.empty()) {
                device.uuid = f.uuid;
            }
            if (f.memory_bytes) {
                device.memory_bytes = f.memory_bytes;
            }
        }
        machine_.devices.push_back(std::move(device));
    }
}

int Builder::node(Node node) {
    auto const name = node.name;
    for (int twin = 2; !names_.insert(node.name).second; ++twin) {
        node.name = fmt::format("{}#{}", name, twin);
    }
    machine_.graph.nodes.push_back(std::move(node));
    return static_cast<int>(machine_.graph.nodes.size()) - 1;
}

void Builder::link(int a, int b, LinkKind kind, std::optional<double> gbs, std::optional<int> width) {
    machine_.graph.links.push_back(
        {.from = a, .to = b, .kind = kind, .generation = {}, .width = width, .capacity_gbs = gbs, .latency_s = {}});
    machine_.graph.links.push_back(
        {.from = b, .to = a, .kind = kind, .generation = {}, .width = width, .capacity_gbs = gbs, .latency_s = {}});
}

void Builder::add_numas() {
    constexpr std::size_t most_joined = 64;  // each with each; no host has more
    std::vector<int> nodes;
    for (auto const& numa : topology_.numas) {
        if (!numa.gpu_memory && numa_node(numa.number) < 0 && nodes.size() < most_joined) {
            numa_nodes_[numa.number] = static_cast<int>(machine_.graph.nodes.size());
            nodes.push_back(node({.kind = NodeKind::numa,
                                  .index = numa.number,
                                  .name = fmt::format("numa:{}", numa.number),
                                  .bus = {},
                                  .socket = numa.socket}));
        }
    }
    for (std::size_t a = 0; a < nodes.size(); ++a) {
        for (std::size_t b = a + 1; b < nodes.size(); ++b) {
            link(nodes[a], nodes[b], LinkKind::interconnect, std::nullopt);
        }
    }
}

bool Builder::is_root_port(int pci) const {
    return at(pci).parent < 0 || at(at(pci).parent).kind == HwlocPci::Kind::host_bridge;
}

/// The graph node of a bridge or host bridge, made with everything above it when first asked for. Bridges below a root
/// port come in pairs: the port up of a switch, then its ports down; those stand for one node.
int Builder::pci_node(int pci) {
    std::vector<int> missing;
    for (auto here = pci; here >= 0 && node_of_.count(here) == 0; here = at(here).parent) {
        missing.push_back(here);
    }
    for (auto next = missing.rbegin(); next != missing.rend(); ++next) {
        auto const& object = at(*next);
        if (object.kind == HwlocPci::Kind::host_bridge) {
            auto const hosts = hosts_++;
            auto const numa = object.numa ? numa_node(*object.numa) : -1;
            auto const socket = numa >= 0 ? machine_.graph.nodes[static_cast<std::size_t>(numa)].socket : -1;
            node_of_[*next] = node({.kind = NodeKind::host_bridge,
                                    .index = hosts,
                                    .name = fmt::format("host:{}", hosts),
                                    .bus = {},
                                    .socket = socket});
            if (numa >= 0) {
                link(node_of_[*next], numa, LinkKind::memory, std::nullopt);
            }
            continue;
        }
        auto const parent = object.parent;
        bool const port_down = !is_root_port(*next) && !is_root_port(parent) &&
                               at(parent).kind == HwlocPci::Kind::bridge && switch_of_port_[parent] == parent;
        if (port_down) {
            switch_of_port_[*next] = parent;
            node_of_[*next] = node_of_[parent];
            continue;
        }
        switch_of_port_[*next] = *next;
        node_of_[*next] =
            node({.kind = NodeKind::pci_bridge,
                  .index = bridges_,
                  .name = object.bus.empty() ? fmt::format("bridge:{}", bridges_) : "bridge:" + object.bus,
                  .bus = object.bus});
        ++bridges_;
        if (parent >= 0) {
            // A root port's speed is that of the link below it; inside the root complex no speed is told. A guest's
            // bridges are invented, and so are their speeds.
            bool const root = is_root_port(*next);
            auto const gbs = root || guest_only(object) ? 0 : device_link_gbs(object);
            link(node_of_[*next], node_of_[parent], LinkKind::pcie, gbs > 0 ? std::optional(gbs) : std::nullopt);
        }
    }
    return node_of_[pci];
}

void Builder::add_tree() {
    int switches = 0;
    for (std::size_t id = 0; id < gpus_.size(); ++id) {
        auto const& pci = at(gpus_[id]);
        node_of_[gpus_[id]] = node({.kind = NodeKind::device,
                                    .index = static_cast<int>(id),
                                    .name = fmt::format("gpu{}", id),
                                    .bus = pci.bus});
    }
    for (int i = 0; i < static_cast<int>(topology_.pci.size()); ++i) {
        auto const& pci = at(i);
        if (is_nvswitch(pci)) {
            node_of_[i] = node({.kind = NodeKind::nvswitch,
                                .index = switches,
                                .name = fmt::format("nvswitch:{}", switches),
                                .bus = pci.bus});
            ++switches;
        } else if (device_of_.count(i) != 0 || is_nic(pci)) {
            if (device_of_.count(i) == 0) {
                node_of_[i] = node({.kind = NodeKind::nic, .index = i, .name = nic_name(pci), .bus = pci.bus});
            }
            if (pci.parent >= 0) {
                auto const gbs = device_link_gbs(pci);
                auto const above = pci_node(pci.parent);
                link(node_of_[i], above, LinkKind::pcie, gbs > 0 ? std::optional(gbs) : std::nullopt);
            } else if (pci.numa && numa_node(*pci.numa) >= 0) {
                link(node_of_[i], numa_node(*pci.numa), LinkKind::memory, std::nullopt);
            }
        } else {
            continue;
        }
        by_gp_index_[pci.gp_index] = node_of_[i];
        for (auto const& f : pci.functions) {
            by_gp_index_[f.gp_index] = node_of_[i];
        }
    }
    int nics = 0;
    for (auto& n : machine_.graph.nodes) {
        if (n.kind == NodeKind::nic) {
            n.index = nics++;
        }
    }
}

void Builder::add_memories() {
    for (auto const& numa : topology_.numas) {
        for (auto& device : machine_.devices) {
            if (numa.gpu_memory && !numa.gpu_bus.empty() && device.bus == numa.gpu_bus) {
                device.memory_numa = numa.number;
                device.memory_bytes = numa.bytes ? numa.bytes : device.memory_bytes;
            }
        }
    }
}

void Builder::add_notices() {
    if (machine_.devices.empty()) {
        add_notice(machine_, source_, "no-gpu", 0, "no PCI device of this file is a GPU");
    }
    bool guest = topology_.virtual_machine;
    int guest_line = 0;
    for (auto const& pci : topology_.pci) {
        if (!guest && guest_only(pci)) {
            guest = true;
            guest_line = pci.line;
        }
    }
    if (guest) {
        machine_.origin.virtualized = true;
        add_notice(machine_, source_, "virtual", guest_line, "the PCI tree of a guest: it need not be the hardware's");
    }
    std::size_t flat = 0, without_numa = 0, without_speed = 0, with_fabric = 0, parts_with_nvlink = 0;
    for (std::size_t id = 0; id < gpus_.size(); ++id) {
        auto const& pci = at(gpus_[id]);
        flat += pci.parent >= 0 && at(pci.parent).kind == HwlocPci::Kind::host_bridge ? 1U : 0U;
        without_numa += machine_.devices[id].numa ? 0U : 1U;
        without_speed += device_link_gbs(pci) > 0 ? 0U : 1U;
        auto const part = nvlink_part(machine_.devices[id]);
        parts_with_nvlink += part && part->links > 0 ? 1U : 0U;
    }
    for (auto const& l : machine_.graph.links) {
        with_fabric += l.kind == LinkKind::nvlink || l.kind == LinkKind::xgmi ? 1U : 0U;
    }
    auto const first_line = gpus_.empty() ? 0 : at(gpus_[0]).line;
    if (gpus_.size() > 1 && flat == gpus_.size()) {
        add_notice(machine_, source_, "flat-tree", first_line,
                   "every GPU hangs directly on a host bridge, so the classes say little: give a topology file or a "
                   "measured matrix");
    }
    if (without_numa > 0) {
        add_notice(machine_, source_, "numa-unknown", first_line,
                   fmt::format("no single near NUMA node for {} of {} GPUs", without_numa, gpus_.size()));
    }
    if (without_speed > 0) {
        add_notice(machine_, source_, "speed-unknown", first_line,
                   fmt::format("no link speed for {} of {} GPUs", without_speed, gpus_.size()));
    }
    if (parts_with_nvlink > 1 && with_fabric == 0) {
        add_notice(machine_, source_, "nvlink-hidden", first_line,
                   "these parts have NVLink, and this file has no NVLinkBandwidth matrix: give it with --fabric or a "
                   "topology table");
    }
}

Machine Builder::build() {
    number_devices();
    add_devices();
    add_numas();
    add_tree();
    add_memories();
    add_hwloc_fabric(source_, topology_.matrices, by_gp_index_, machine_);
    add_notices();
    complete_pairs(machine_);
    classify_from_graph(machine_);
    return std::move(machine_);
}

}  // namespace

Machine machine_from_hwloc(const Source& source, const HwlocTopology& topology) {
    return Builder(source, topology).build();
}

}  // namespace peerlane::read
