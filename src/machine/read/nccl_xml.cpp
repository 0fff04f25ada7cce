#include "machine/read/nccl_xml.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "machine/cpu_list.hpp"
#include "machine/nominal.hpp"
#include "machine/parts.hpp"
#include "machine/paths.hpp"
#include "machine/read/nccl_links.hpp"
#include "machine/read/text.hpp"
#include "machine/read/xml.hpp"

namespace peerlane::read {
namespace {

constexpr std::size_t most_hosts = 1024, most_nodes = 100'000;

std::optional<int> hex_number(std::string_view text) {
    if (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X") {
        text.remove_prefix(2);
    }
    if (text.empty() || text.size() > 7) {
        return std::nullopt;
    }
    int value = 0;
    for (auto const c : lower(text)) {
        auto const digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) {
            return std::nullopt;
        }
        value = value * 16 + digit;
    }
    return value;
}

std::string_view attribute(const pugi::xml_node& node, const char* name) {
    return trimmed(node.attribute(name).value());
}

bool is(const pugi::xml_node& node, std::string_view name) {
    return name == node.name();
}

/// Where a `cpu` element went in the graph.
struct Host {
    int bridge = -1, numa_node = -1;
    std::optional<int> numa;
    std::optional<std::string> cpus;
};

class NcclXml {
  public:
    explicit NcclXml(const Source& source) : source_(source), lines_(source.text) {}

    Machine read(const pugi::xml_node& system) {
        walk(system);
        number_hosts();
        name_gpus();
        join_hosts();
        FabricLinks(source_, machine_).add(gpus_);
        if (gpus_.empty()) {
            add_notice(machine_, source_, "no-gpu", line(system),
                       "nothing in this file tells a GPU: no gpu element, no device class");
        }
        complete_pairs(machine_);
        classify_from_graph(machine_);
        note_unknowns();
        note_other_hosts();
        return std::move(machine_);
    }

  private:
    /// Where the children of an element belong: a node of the graph and a host, -1 outside of any.
    struct Open {
        int parent, host;
    };

    /// Depth first in document order, without recursion.
    void walk(const pugi::xml_node& system) {
        std::vector<Open> open{{-1, -1}};
        auto node = system.first_child();
        while (node) {
            refuse_text(source_, node);
            auto here = open.back();
            bool const element = node.type() == pugi::node_element;
            bool const elsewhere = element && is(node, "cpu") && of_another_host(node);
            if (element && !elsewhere) {
                here = enter(node, here.parent, here.host);
            }
            if (node.first_child() && !elsewhere) {
                open.push_back(here);
                node = node.first_child();
                continue;
            }
            while (node && !node.next_sibling()) {
                node = node.parent();
                if (node == system || !node) {
                    return;
                }
                open.pop_back();
            }
            node = node.next_sibling();
        }
    }

    /// A system of several hosts, as runs over more than one write it, tells them apart by the hash of each cpu. A
    /// machine is one host: the first. No hash, and 0, tell nothing.
    bool of_another_host(const pugi::xml_node& cpu) {
        auto hash = lower(attribute(cpu, "host_hash"));
        if (hash.substr(0, 2) != "0x") {
            hash = "0x" + hash;
        }
        if (hash.find_first_not_of('0', 2) == std::string::npos) {
            return false;
        }
        if (machine_.origin.hosts.empty()) {
            machine_.origin.hosts.push_back(hash);
        }
        if (hash == machine_.origin.hosts.front()) {
            return false;
        }
        if (other_hosts_.empty()) {
            other_host_line_ = line(cpu);
        }
        other_hosts_.insert(hash);
        return true;
    }

    void note_other_hosts() {
        if (!other_hosts_.empty()) {
            add_notice(machine_, source_, "several-hosts", other_host_line_,
                       fmt::format("{} more {} in this file, told apart by host_hash: only the first host is read",
                                   other_hosts_.size(), other_hosts_.size() == 1 ? "host is" : "hosts are"));
        }
    }

    Open enter(const pugi::xml_node& node, int parent, int host) {
        if (is(node, "cpu")) {
            if (hosts_.size() >= most_hosts) {
                refuse(source_, line(node), fmt::format("more than {} cpu elements", most_hosts));
            }
            hosts_.push_back({});
            auto& made = hosts_.back();
            made.numa = small_number(attribute(node, "numaid"));
            made.cpus = cpu_list_of_mask(attribute(node, "affinity"));
            host = static_cast<int>(hosts_.size()) - 1;
            made.bridge = add_node({NodeKind::host_bridge, host, fmt::format("host:{}", host), "", -1});
            return {made.bridge, host};
        }
        if (is(node, "pci")) {
            if (host < 0) {  // a device outside of every cpu: its host is not told
                hosts_.push_back({});
                host = static_cast<int>(hosts_.size()) - 1;
                hosts_.back().bridge = add_node({NodeKind::host_bridge, host, fmt::format("host:{}", host), "", -1});
                parent = hosts_.back().bridge;
            }
            return {add_pci(node, parent, host), host};
        }
        if (is(node, "net")) {
            add_net(node, parent);
        }
        return {parent, host};
    }

    bool is_gpu(const pugi::xml_node& node) const {
        if (node.child("gpu")) {
            return true;
        }
        auto const kind = hex_number(attribute(node, "class")).value_or(0) >> 8;
        auto const vendor = hex_number(attribute(node, "vendor"));
        bool const known = !vendor || *vendor == 0x10de || *vendor == 0x1002 || *vendor == 0 || *vendor == 0xffff;
        // A plain display (0x0300) may be anybody's: only with the vendor's word. 3D controllers and accelerators are
        // GPUs.
        return (kind == 0x0302 && known) || ((kind == 0x0300 || kind == 0x1200) && vendor == 0x10de) ||
               (kind == 0x0380 && known);
    }

    int add_pci(const pugi::xml_node& node, int parent, int host) {
        auto const text = attribute(node, "busid");
        auto const bus = bus_address(text);
        auto const name = bus ? *bus : text.empty() ? fmt::format("unnamed:{}", ++unnamed_) : std::string(text);
        auto const generation = pcie_generation(std::string(attribute(node, "link_speed")));
        auto width = small_number(attribute(node, "link_width"));
        if (width && *width == 0) {
            width = std::nullopt;
        }
        auto const kind = hex_number(attribute(node, "class")).value_or(0) >> 8;
        int made = -1;
        if (is_gpu(node)) {
            auto const at = line(node);
            if (static_cast<int>(gpus_.size()) >= most_devices) {
                refuse(source_, at, fmt::format("more than {} GPUs", most_devices));
            }
            if (bus && !gpu_buses_.insert(*bus).second) {
                refuse(source_, at, fmt::format("a second GPU has the address {}", *bus));
            }
            made = add_node({NodeKind::device, -1, fmt::format("gpu at {}", name), bus.value_or(""), -1});
            auto gpu = gpu_of(node, made, bus, at);
            gpu.device.pcie_generation = generation;
            gpu.device.pcie_width = width;
            gpu.device.numa = hosts_[static_cast<std::size_t>(host)].numa;
            gpu.device.cpu_affinity = hosts_[static_cast<std::size_t>(host)].cpus;
            gpus_.push_back(std::move(gpu));
            under_host_ =
                under_host_ && machine_.graph.nodes[static_cast<std::size_t>(parent)].kind == NodeKind::host_bridge;
        } else if (kind == 0x0604 || node.child("pci")) {
            made = add_node({NodeKind::pci_bridge, bridges_++, fmt::format("bridge:{}", name), bus.value_or(""), -1});
            invented_ = invented_ || (bus && bus->substr(0, 7) == "ffff:ff");
        } else if (node.child("nic") || kind >> 8 == 0x02) {
            // Each port is a NIC of its own name; a device without a name is called by its address.
            std::vector<std::string> names;
            for (auto const& nic : node.children("nic")) {
                for (auto const& net : nic.children("net")) {
                    names.emplace_back(attribute(net, "name"));
                }
            }
            if (names.empty()) {
                names.push_back(fmt::format("nic:{}", name));
            }
            for (auto const& nic : names) {
                made = add_node({NodeKind::nic, nics_++, nic, bus.value_or(""), -1});
                add_cable(parent, made, generation, width);
            }
            return made;
        } else {
            made = add_node({NodeKind::other, others_++, fmt::format("pci:{}", name), bus.value_or(""), -1});
            if (attribute(node, "class").empty()) {
                ++classless_;
                classless_line_ = classless_line_ == 0 ? line(node) : classless_line_;
            }
        }
        add_cable(parent, made, generation, width);
        // What hangs below a device hangs beside it for us: nothing is routed through a GPU.
        return machine_.graph.nodes[static_cast<std::size_t>(made)].kind == NodeKind::device ? parent : made;
    }

    NcclGpu gpu_of(const pugi::xml_node& node, int graph_node, const std::optional<std::string>& bus, int at) {
        NcclGpu gpu;
        gpu.graph_node = graph_node;
        gpu.line = at;
        gpu.element = node.child("gpu");
        gpu.device.bus = bus;
        gpu.device.model = model_of_pci_id(hex_number(attribute(node, "vendor")).value_or(0),
                                           hex_number(attribute(node, "device")).value_or(0));
        gpu.number = small_number(attribute(gpu.element, "dev"));
        // RCCL writes the number of compute units as `sm`; there the architecture is in `gcn`.
        if (auto const gcn = attribute(gpu.element, "gcn"); !gcn.empty()) {
            gpu.device.architecture = std::string(gcn);
        } else {
            gpu.device.compute_capability = small_number(attribute(gpu.element, "sm"));
        }
        return gpu;
    }

    /// An interface that belongs to no PCI device: a bridge, a virtual Ethernet.
    void add_net(const pugi::xml_node& node, int parent) {
        if (parent < 0 || machine_.graph.nodes[static_cast<std::size_t>(parent)].kind == NodeKind::nic ||
            is(node.parent().parent(), "pci")) {
            return;
        }
        auto const name = attribute(node, "name");
        auto const made = add_node({NodeKind::nic, nics_++, name.empty() ? "net" : std::string(name), "", -1});
        machine_.graph.links.push_back({parent, made, LinkKind::network, {}, {}, {}, {}});
        machine_.graph.links.push_back({made, parent, LinkKind::network, {}, {}, {}, {}});
    }

    int line(const pugi::xml_node& node) {
        return lines_.line(static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0)));
    }

    int add_node(Node node) {
        if (machine_.graph.nodes.size() >= most_nodes) {
            refuse(source_, 0, fmt::format("more than {} PCI devices", most_nodes));
        }
        auto const wanted = node.name;
        for (int again = 2; !names_.insert(node.name).second; ++again) {
            node.name = fmt::format("{}#{}", wanted, again);
        }
        machine_.graph.nodes.push_back(std::move(node));
        return static_cast<int>(machine_.graph.nodes.size()) - 1;
    }

    void add_cable(int a, int b, std::optional<int> generation, std::optional<int> width) {
        auto const gbs = pcie_gbs(generation, width);
        machine_.graph.links.push_back({a, b, LinkKind::pcie, generation, width, gbs, {}});
        machine_.graph.links.push_back({b, a, LinkKind::pcie, generation, width, gbs, {}});
    }

    void add_both(int a, int b, LinkKind kind) {
        machine_.graph.links.push_back({a, b, kind, {}, {}, {}, {}});
        machine_.graph.links.push_back({b, a, kind, {}, {}, {}, {}});
    }

    /// Host bridges of one NUMA node share its node; a host that tells none gets the next free number (its devices
    /// still say null).
    void number_hosts() {
        int next = 0;
        for (auto const& host : hosts_) {
            next = std::max(next, host.numa.value_or(-1) + 1);
        }
        for (auto& host : hosts_) {
            auto const number = host.numa ? *host.numa : next++;
            host.numa_node = machine_.graph.numa_node(number);
            if (host.numa_node < 0) {
                host.numa_node = add_node({NodeKind::numa, number, fmt::format("numa:{}", number), "", -1});
            }
        }
    }

    void join_hosts() {
        std::vector<int> numas;
        for (auto const& host : hosts_) {
            add_both(host.bridge, host.numa_node, LinkKind::memory);
            if (std::find(numas.begin(), numas.end(), host.numa_node) != numas.end()) {
                continue;
            }
            for (auto const other : numas) {
                add_both(other, host.numa_node, LinkKind::interconnect);
            }
            numas.push_back(host.numa_node);
        }
    }

    void name_gpus() {
        std::set<int> numbers;
        bool all = !gpus_.empty();
        for (auto const& gpu : gpus_) {
            bool const own = gpu.number && numbers.insert(*gpu.number).second;
            all = all && own;
        }
        if (all) {
            std::stable_sort(gpus_.begin(), gpus_.end(),
                             [](const NcclGpu& a, const NcclGpu& b) { return a.number < b.number; });
            if (*gpus_.back().number != static_cast<int>(gpus_.size()) - 1) {
                add_notice(machine_, source_, "renumbered", gpus_.front().line,
                           fmt::format("device numbers {} of the file are 0 to {} here", fmt::join(numbers, ", "),
                                       gpus_.size() - 1));
            }
        } else if (!numbers.empty()) {
            add_notice(machine_, source_, "renumbered", gpus_.front().line,
                       "not every GPU has a device number of its own: numbered in the order of the file");
        }
        for (std::size_t id = 0; id < gpus_.size(); ++id) {
            auto& node = machine_.graph.nodes[static_cast<std::size_t>(gpus_[id].graph_node)];
            gpus_[id].device.id = node.index = static_cast<int>(id);
            node.name = fmt::format("gpu{}", id);
            machine_.devices.push_back(gpus_[id].device);
        }
    }

    void note_unknowns() {
        if (gpus_.empty()) {
            return;
        }
        std::vector<int> no_numa, no_speed;
        std::set<std::string> domains, buses;
        for (auto const& device : machine_.devices) {
            if (!device.numa) {
                no_numa.push_back(device.id);
            }
            if (!device.pcie_generation || !device.pcie_width) {
                no_speed.push_back(device.id);
            }
            if (device.bus) {
                domains.insert(device.bus->substr(0, device.bus->find(':')));
                buses.insert(device.bus->substr(0, device.bus->rfind(':')));
            }
        }
        auto const first = gpus_.front().line;
        if (classless_ > 0) {
            add_notice(machine_, source_, "class-unknown", classless_line_,
                       fmt::format("{} PCI {} no class and nothing below: GPUs or not, they are left out", classless_,
                                   classless_ == 1 ? "device has" : "devices have"));
        }
        if (!no_numa.empty()) {
            add_notice(machine_, source_, "numa-unknown", first,
                       fmt::format("no NUMA node is told for device {}", fmt::join(no_numa, ", ")));
        }
        if (!no_speed.empty()) {
            add_notice(machine_, source_, "speed-unknown", first,
                       fmt::format("no link speed or width is told for device {}", fmt::join(no_speed, ", ")));
        }
        auto const n = machine_.devices.size();
        bool const domain_each = n > 1 && domains.size() == n;
        bool const one_bus = n > 1 && under_host_ && buses.size() == 1;
        std::vector<const char*> signs;
        if (invented_) {
            signs.push_back("switches with invented addresses");
        }
        if (domain_each) {
            signs.push_back("a PCI domain for each device");
        }
        if (one_bus) {
            signs.push_back("all devices on one bus without a bridge");
        }
        if (!signs.empty()) {
            machine_.origin.virtualized = true;
            add_notice(machine_, source_, "virtual", first,
                       fmt::format("this is the bus of a guest: {}", fmt::join(signs, ", ")));
        }
        if (n > 1 && under_host_ && (domain_each || one_bus)) {
            add_notice(machine_, source_, "flat-tree", first,
                       "all devices are directly under a host node, so path classes say little: give a topology file "
                       "or a measured matrix too");
        }
    }

    const Source& source_;
    LineCounter lines_;
    Machine machine_;
    std::vector<Host> hosts_;
    std::vector<NcclGpu> gpus_;
    std::set<std::string> names_, gpu_buses_, other_hosts_;
    int other_host_line_ = 0;
    int classless_ = 0, classless_line_ = 0;  ///< leaves without a class
    int bridges_ = 0, nics_ = 0, others_ = 0, unnamed_ = 0;
    bool invented_ = false;
    bool under_host_ = true;  ///< every GPU so far
};

}  // namespace

bool is_nccl_xml(std::string_view text) {
    auto const root = root_element(text);
    return root == "system" || root == "graphs" || root == "graph";
}

Machine read_nccl_xml(const Source& source) {
    pugi::xml_document document;
    parse_xml(source, document);
    auto const root = document.document_element();
    if (!is(root, "system")) {
        refuse(source, line_of(source, root), fmt::format("root is {}, not system", root.name()));
    }
    auto machine = NcclXml(source).read(root);
    note_later_documents(source, document, machine);
    return machine;
}

}  // namespace peerlane::read
