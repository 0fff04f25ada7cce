#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pugixml.hpp>

#include "machine/cpu_list.hpp"
#include "machine/nominal.hpp"
#include "machine/parts.hpp"
#include "machine/synthesize.hpp"
#include "machine/write/shape.hpp"
#include "machine/write/writers.hpp"

namespace peerlane::write {
namespace {

constexpr int most_nccl_nodes = 256;

struct Text : pugi::xml_writer {
    std::string text;
    void write(const void* data, std::size_t size) override { text.append(static_cast<const char*>(data), size); }
};

class NcclWriter {
  public:
    NcclWriter(const Machine& machine, std::vector<Notice>& notices)
        : machine_(machine), graph_(synthesize_graph(machine)), notices_(notices) {}

    std::string write() {
        auto system = append(document_, "system");
        system.append_attribute("version") = "1";
        for (auto const& branch : branches(graph_)) {
            add(branch, system);
        }
        if (machine_.graph.empty() && !machine_.devices.empty()) {
            note("derived-graph", "the input has no tree: the one written is derived from the path classes");
        }
        if (!invented_.empty()) {
            note("not-expressible",
                 fmt::format("no bus address is known for {}: invented ones are written", fmt::join(invented_, ", ")));
        }
        if (elements_ + added_by_nccl_ > most_nccl_nodes) {
            note("xml-too-large-for-nccl",
                 added_by_nccl_ == 0
                     ? fmt::format("{} nodes, NCCL's own reader takes {}", elements_, most_nccl_nodes)
                     : fmt::format(
                           "{} nodes with the {} that NCCL adds for NVLinks not listed here, its own reader takes {}",
                           elements_ + added_by_nccl_, added_by_nccl_, most_nccl_nodes));
        }
        Text out;
        document_.save(out, "  ", pugi::format_indent | pugi::format_no_declaration);
        return out.text;
    }

  private:
    void note(const char* code, std::string text) { notices_.push_back({code, "", 0, std::move(text)}); }

    pugi::xml_node append(pugi::xml_node parent, const char* name) {
        ++elements_;
        return parent.append_child(name);
    }

    const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }

    /// Addresses nobody told are made up in a range that no machine uses, as the library's own hand-written files do.
    std::string bus_of(int index) {
        auto const& here = node(index);
        if (!here.bus.empty()) {
            return here.bus;
        }
        auto const found = made_.find(index);
        if (found != made_.end()) {
            return found->second;
        }
        auto const number = static_cast<int>(made_.size()) + 1;
        auto const bus = fmt::format("ffff:{:02x}:{:02x}.0", 0xff - number / 32, number % 32);
        if (here.kind == NodeKind::device || here.kind == NodeKind::nic) {
            invented_.push_back(here.name);
        }
        return made_[index] = bus;
    }

    void add(const Branch& branch, pugi::xml_node& system) {
        auto const& here = node(branch.node);
        path_.resize(static_cast<std::size_t>(branch.depth));
        pugi::xml_node parent = path_.empty() ? pugi::xml_node() : path_.back();
        pugi::xml_node made = parent;
        switch (here.kind) {
            case NodeKind::numa:
                numa_ = here.index;
                break;
            case NodeKind::host_bridge:
                made = add_cpu(branch, system);
                break;
            case NodeKind::pci_bridge:
                made = add_pci(branch, or_cpu(parent, system), "0x060400");
                break;
            case NodeKind::device:
                add_gpu(add_pci(branch, or_cpu(parent, system), "0x030200"), branch.node);
                break;
            case NodeKind::nic:
                add_nic(branch, or_cpu(parent, system));
                break;
            default:
                break;
        }
        path_.push_back(made);
        if (branch.depth == 0 && here.kind != NodeKind::numa) {
            numa_ = -1;
        }
    }

    /// What hangs below no host is put under one of its own without a NUMA node.
    pugi::xml_node or_cpu(pugi::xml_node parent, pugi::xml_node& system) {
        if (parent) {
            return parent;
        }
        auto cpu = append(system, "cpu");
        cpu.append_attribute("numaid") = "-1";
        return cpu;
    }

    pugi::xml_node add_cpu(const Branch& branch, pugi::xml_node& system) {
        auto cpu = append(system, "cpu");
        std::optional<std::string> cpus;
        bool told = true;
        for (auto const device : below(branch.node)) {
            cpus = cpus ? cpus : machine_.devices[static_cast<std::size_t>(device)].cpu_affinity;
            told = told && machine_.devices[static_cast<std::size_t>(device)].numa.has_value();
        }
        cpu.append_attribute("numaid") = branch.depth > 0 && told ? numa_ : -1;
        if (auto const mask = cpus ? cpu_mask_of_list(*cpus) : std::nullopt) {
            cpu.append_attribute("affinity") = mask->c_str();
        }
        return cpu;
    }

    std::vector<int> below(int host) const {
        std::vector<int> devices;
        bool inside = false;
        int depth = 0;
        for (auto const& branch : branches(graph_)) {
            if (branch.node == host) {
                inside = true;
                depth = branch.depth;
            } else if (inside && branch.depth <= depth) {
                break;
            } else if (inside && node(branch.node).kind == NodeKind::device) {
                devices.push_back(node(branch.node).index);
            }
        }
        return devices;
    }

    pugi::xml_node add_pci(const Branch& branch, pugi::xml_node parent, const char* pci_class) {
        auto pci = append(parent, "pci");
        pci.append_attribute("busid") = bus_of(branch.node).c_str();
        pci.append_attribute("class") = pci_class;
        if (auto const* device =
                node(branch.node).kind == NodeKind::device ? machine_.device(node(branch.node).index) : nullptr) {
            auto const id = device->model ? pci_id_of_model(*device->model) : PciId{};
            if (id.vendor != 0) {
                pci.append_attribute("vendor") = fmt::format("0x{:04x}", id.vendor).c_str();
                pci.append_attribute("device") = fmt::format("0x{:04x}", id.device).c_str();
            }
        }
        bool const cabled = branch.up != nullptr && branch.up->kind == LinkKind::pcie;
        auto const generation = cabled ? branch.up->generation.value_or(0) : 0;
        pci.append_attribute("link_speed") =
            generation >= 1 && generation <= 7 ? pcie_speed_text(generation).c_str() : "";
        pci.append_attribute("link_width") = cabled ? branch.up->width.value_or(0) : 0;
        return pci;
    }

    void add_gpu(pugi::xml_node pci, int index) {
        auto const& device = machine_.devices[static_cast<std::size_t>(node(index).index)];
        auto gpu = append(pci, "gpu");
        gpu.append_attribute("dev") = device.id;
        if (device.compute_capability) {
            gpu.append_attribute("sm") = *device.compute_capability;
        }
        if (device.architecture) {
            gpu.append_attribute("gcn") = device.architecture->c_str();
        }
        gpu.append_attribute("rank") = device.id;
        gpu.append_attribute("gdr") = 1;
        int listed = 0;
        std::map<std::string, pugi::xml_node> joint;
        for (auto const& link : graph_.links) {
            bool const fabric = link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
            if (link.from != index || !fabric) {
                continue;
            }
            ++listed;
            auto const kind = node(link.to).kind;
            auto const bus = bus_of(kind == NodeKind::nvswitch ? first_of_island(link.to) : link.to);
            auto& element = joint[bus];
            if (!element) {
                element = append(gpu, link.kind == LinkKind::xgmi ? "xgmi" : "nvlink");
                element.append_attribute("target") = bus.c_str();
                element.append_attribute("count") = link.width.value_or(0);
                element.append_attribute("tclass") = kind == NodeKind::nvswitch ? "0x068000"
                                                     : kind == NodeKind::device ? "0x030200"
                                                                                : "0x068001";
            } else {
                element.attribute("count") = element.attribute("count").as_int() + link.width.value_or(0);
            }
            if (!link.width) {
                element.remove_attribute("count");
            }
        }
        if (auto const part = listed == 0 ? nvlink_part(device) : std::nullopt; part && part->links > 0) {
            // It asks the driver and adds a node for each switch: four in boards of the fourth generation on, six
            // before.
            added_by_nccl_ += part->generation >= 4 ? 4 : 6;
        }
    }

    /// That format has no links between switches: switches that are joined are written as one.
    int first_of_island(int node_index) {
        std::set<int> seen{node_index};
        std::vector<int> queue{node_index};
        for (std::size_t head = 0; head < queue.size(); ++head) {
            for (auto const& link : graph_.links) {
                bool const fabric = link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
                if (fabric && link.from == queue[head] && node(link.to).kind == NodeKind::nvswitch &&
                    seen.insert(link.to).second) {
                    queue.push_back(link.to);
                }
            }
        }
        return *seen.begin();
    }

    void add_nic(const Branch& branch, pugi::xml_node parent) {
        auto const& here = node(branch.node);
        bool const cabled = branch.up != nullptr && branch.up->kind == LinkKind::pcie;
        auto holder = parent;
        if (cabled) {
            // Ports of one device share its address.
            auto& pci = nics_[here.bus.empty() ? here.name : here.bus];
            if (!pci) {
                pci = add_pci(branch, parent, "0x020000");
            }
            holder = pci;
        }
        if (here.name.rfind("nic:", 0) == 0) {
            return;
        }
        auto nic = holder.child("nic");
        if (!nic || !cabled) {
            nic = append(holder, "nic");
        }
        auto net = append(nic, "net");
        net.append_attribute("name") = here.name.c_str();
        net.append_attribute("dev") = nets_++;
    }

    const Machine& machine_;
    Graph graph_;
    std::vector<Notice>& notices_;
    pugi::xml_document document_;
    std::vector<pugi::xml_node> path_;
    std::map<int, std::string> made_;
    std::map<std::string, pugi::xml_node> nics_;
    std::vector<std::string> invented_;
    int numa_ = -1, elements_ = 0, nets_ = 0, added_by_nccl_ = 0;
};

}  // namespace

std::string nccl_xml(const Machine& machine, std::vector<Notice>& notices) {
    return NcclWriter(machine, notices).write();
}

}  // namespace peerlane::write
