#include "machine/read/hwloc_xml.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>

#include <fmt/format.h>

#include <peerlane/units.hpp>

#include "machine/read/hwloc_objects.hpp"
#include "machine/read/text.hpp"
#include "machine/read/xml.hpp"

namespace peerlane::read {
namespace {

constexpr std::size_t most_pci = 20000;  // with virtual functions a host has some thousands
constexpr int deepest_bridge = 64;
constexpr std::size_t most_matrix_objects = 2048;

/// What an object inherits from those above it.
struct Context {
    int socket = -1;
    std::optional<int> numa;  ///< the only host NUMA node of the nearest object that says
    std::string cpus;
    int pci_parent = -1;
    int pci_depth = 0;
};

std::string_view attribute(const pugi::xml_node& node, const char* name) {
    return node.attribute(name).value();
}

std::string_view info(const pugi::xml_node& node, const char* name) {
    for (auto const& child : node.children("info")) {
        if (attribute(child, "name") == name) {
            return attribute(child, "value");
        }
    }
    return {};
}

std::optional<int> number(std::string_view text) {
    return small_number(trimmed(text));
}

std::uint64_t big_number(std::string_view text) {
    std::uint64_t value = 0;
    auto const [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && rest == text.data() + text.size() ? value : 0;
}

/// "11796032" or "11796032KiB" as bytes.
std::optional<std::uint64_t> kib(std::string_view text) {
    if (text.size() > 3 && text.substr(text.size() - 3) == "KiB") {
        text.remove_suffix(3);
    }
    auto const value = big_number(text);
    return value == 0 || value > (std::uint64_t{1} << 50) ? std::nullopt : std::optional(value * 1024);
}

class HwlocReader {
  public:
    explicit HwlocReader(const Source& source) : source_(source) { parse_xml(source, document_); }
    Machine read();

  private:
    void find_numas(const pugi::xml_node& root);
    void walk(const pugi::xml_node& root);
    Context enter(const pugi::xml_node& object, Context context);
    void locality(const pugi::xml_node& object, Context& context) const;
    int add_pci(const pugi::xml_node& object, const Context& context, std::string_view type);
    void add_function(const pugi::xml_node& object, const Context& context);
    void matrix(const pugi::xml_node& node);

    const Source& source_;
    pugi::xml_document document_;
    HwlocTopology topology_;
    std::set<int> host_numas_;
    std::uint64_t next_gp_ = std::uint64_t{1} << 60;  ///< for objects without a number of their own
    bool version3_ = false;
};

/// All NUMA nodes come first: whether one is a GPU's memory must be known before sets of nodes are read.
void HwlocReader::find_numas(const pugi::xml_node& root) {
    std::vector<std::pair<pugi::xml_node, int>> stack{{root, -1}};
    while (!stack.empty()) {
        auto const [node, socket] = stack.back();
        stack.pop_back();
        auto const type = attribute(node, "type");
        auto below = socket;
        if (type == "Package" || type == "Socket") {
            below = number(attribute(node, "os_index")).value_or(-1);
        } else if (type == "NUMANode") {
            if (auto const index = number(attribute(node, "os_index"))) {
                HwlocNuma numa;
                numa.number = *index;
                numa.socket = socket;
                numa.gpu_memory = attribute(node, "subtype") == "GPUMemory" || !info(node, "PCIBusID").empty();
                numa.gpu_bus = bus_address(info(node, "PCIBusID")).value_or("");
                auto const bytes = big_number(attribute(node, "local_memory"));
                numa.bytes = bytes > 0 ? std::optional(bytes) : std::nullopt;
                if (!numa.gpu_memory) {
                    host_numas_.insert(*index);
                }
                topology_.numas.push_back(std::move(numa));
            }
        }
        for (auto child = node.last_child(); child; child = child.previous_sibling()) {
            if (std::string_view(child.name()) == "object") {
                stack.emplace_back(child, below);
            }
        }
    }
}

void HwlocReader::locality(const pugi::xml_node& object, Context& context) const {
    auto const set = attribute(object, "nodeset");
    if (set.empty()) {
        return;
    }
    std::vector<int> host;
    for (auto const node : bitmap_numbers(set, 1024)) {
        if (host_numas_.count(node) != 0) {
            host.push_back(node);
        }
    }
    context.numa = host.size() == 1 ? std::optional(host[0]) : std::nullopt;
    context.cpus = host.size() == 1 ? number_list(bitmap_numbers(attribute(object, "cpuset"), 0)) : std::string();
}

int HwlocReader::add_pci(const pugi::xml_node& object, const Context& context, std::string_view type) {
    HwlocPci pci;
    pci.parent = context.pci_parent;
    pci.line = 0;
    auto const gp = big_number(attribute(object, "gp_index"));
    pci.gp_index = gp != 0 ? gp : next_gp_++;
    pci.numa = context.numa;
    pci.cpus = context.cpus;
    bool const bridge = type == "Bridge";
    bool const host = bridge && attribute(object, "bridge_type").substr(0, 2) == "0-";
    pci.kind = host ? HwlocPci::Kind::host_bridge : bridge ? HwlocPci::Kind::bridge : HwlocPci::Kind::device;
    if (!host) {
        auto const bus = bus_address(attribute(object, "pci_busid"));
        if (!bus) {
            refuse(source_, line_of(source_, object),
                   fmt::format("pci_busid \"{}\" is no PCI address", attribute(object, "pci_busid").substr(0, 40)));
        }
        pci.bus = *bus;
        parse_pci_type(attribute(object, "pci_type"), pci);
        pci.link_gbs = std::max(0.0, parse_number(attribute(object, "pci_link_speed")).value_or(0));
        pci.subtype = std::string(attribute(object, "subtype"));
        pci.product_name = std::string(info(object, "PCIDevice"));
    }
    if (topology_.pci.size() >= most_pci || context.pci_depth > deepest_bridge) {
        refuse(source_, line_of(source_, object), "more PCI devices, or bridges behind bridges, than any host has");
    }
    if (pci.vendor == 0x10de || pci.vendor == 0x1002 || guest_only(pci)) {
        pci.line = line_of(source_, object);
    }
    topology_.pci.push_back(std::move(pci));
    return static_cast<int>(topology_.pci.size()) - 1;
}

void HwlocReader::add_function(const pugi::xml_node& object, const Context& context) {
    if (context.pci_parent < 0 ||
        topology_.pci[static_cast<std::size_t>(context.pci_parent)].kind != HwlocPci::Kind::device) {
        return;  // a disk or a port of no PCI device
    }
    HwlocPci::Function f;
    f.name = std::string(attribute(object, "name"));
    auto const gp = big_number(attribute(object, "gp_index"));
    f.gp_index = gp != 0 ? gp : next_gp_++;
    auto const type = number(attribute(object, "osdev_type")).value_or(-1);
    // Version 2 counts the kinds (2 network, 3 fabric), version 3 has a bit for each (16, 32).
    f.fabric_nic = version3_ ? (type & 32) != 0 : type == 3;
    f.network = f.fabric_nic || (version3_ ? (type & 16) != 0 : type == 2);
    f.model = std::string(info(object, "GPUModel"));
    for (auto const* key : {"NVIDIAUUID", "AMDUUID", "UUID"}) {
        if (f.uuid.empty()) {
            f.uuid = std::string(info(object, key));
        }
    }
    for (auto const* key : {"CUDAGlobalMemorySize", "OpenCLGlobalMemorySize", "LevelZeroHBMSize"}) {
        if (!f.memory_bytes) {
            f.memory_bytes = kib(info(object, key));
        }
    }
    auto const subtype = attribute(object, "subtype");
    f.gpu = info(object, "OpenCLDeviceType") == "GPU" || subtype == "CUDA" || subtype == "RSMI" || subtype == "NVML" ||
            f.name.rfind("rsmi", 0) == 0 || f.name.rfind("cuda", 0) == 0 || f.name.rfind("nvml", 0) == 0;
    topology_.pci[static_cast<std::size_t>(context.pci_parent)].functions.push_back(std::move(f));
}

Context HwlocReader::enter(const pugi::xml_node& object, Context context) {
    auto const type = attribute(object, "type");
    if (type == "Bridge" || type == "PCIDev") {
        auto const index = add_pci(object, context, type);
        context.pci_parent = index;
        ++context.pci_depth;
    } else if (type == "OSDev") {
        add_function(object, context);
    } else if (context.pci_parent < 0) {
        locality(object, context);
    }
    return context;
}

void HwlocReader::walk(const pugi::xml_node& root) {
    std::vector<std::pair<pugi::xml_node, Context>> stack{{root, Context{}}};
    while (!stack.empty()) {
        auto [node, above] = std::move(stack.back());
        stack.pop_back();
        auto const context = enter(node, std::move(above));
        // Objects that hold only processors are not worth a visit of their own.
        for (auto child = node.last_child(); child; child = child.previous_sibling()) {
            refuse_text(source_, child);
            if (std::string_view(child.name()) == "object" && attribute(child, "type") != "PU") {
                stack.emplace_back(child, context);
            }
        }
    }
}

/// <distances2hetero name="NVLinkBandwidth"> names objects "OSDev:802"; <distances2 type="OSDev" indexing="gp"> by
/// number. Both split their values over any number of elements.
void HwlocReader::matrix(const pugi::xml_node& node) {
    auto const name = attribute(node, "name");
    if (name != "NVLinkBandwidth" && name != "XGMIBandwidth") {
        return;
    }
    HwlocMatrix m;
    m.xgmi = name == "XGMIBandwidth";
    m.line = line_of(source_, node);
    auto const count = number(attribute(node, "nbobjs")).value_or(0);
    if (count < 1 || static_cast<std::size_t>(count) > most_matrix_objects) {
        refuse(source_, m.line, fmt::format("{} of {} objects", name, count));
    }
    for (auto const& child : node.children("indexes")) {
        for (auto word : words(child.child_value())) {
            if (auto const colon = word.rfind(':'); colon != std::string_view::npos) {
                word.remove_prefix(colon + 1);
            }
            m.objects.push_back(big_number(word));
        }
    }
    for (auto const& child : node.children("u64values")) {
        for (auto const word : words(child.child_value())) {
            if (!all_digits(word)) {
                refuse(source_, m.line, fmt::format("{}: \"{}\" is no number", name, word.substr(0, 40)));
            }
            m.values.push_back(big_number(word));
        }
    }
    auto const n = static_cast<std::size_t>(count);
    if (m.objects.size() != n || m.values.size() != n * n) {
        refuse(source_, m.line,
               fmt::format("{}: {} objects and {} values where {} and {} are promised", name, m.objects.size(),
                           m.values.size(), n, n * n));
    }
    topology_.matrices.push_back(std::move(m));
}

/// Objects of type Machine: hwloc 1 could join several hosts under a System. The root itself where none is called so.
std::vector<pugi::xml_node> hosts_below(const pugi::xml_node& root) {
    std::vector<pugi::xml_node> hosts, stack{root};
    while (!stack.empty()) {
        auto const node = stack.back();
        stack.pop_back();
        if (attribute(node, "type") == "Machine") {
            hosts.push_back(node);
            continue;
        }
        for (auto child = node.last_child(); child; child = child.previous_sibling()) {
            if (std::string_view(child.name()) == "object") {
                stack.push_back(child);
            }
        }
    }
    return hosts.empty() ? std::vector{root} : hosts;
}

Machine HwlocReader::read() {
    auto const topology = document_.child("topology");
    auto const root = topology.child("object");
    auto const hosts = hosts_below(root);
    auto const& machine = hosts.front();
    if (!machine) {
        refuse(source_, line_of(source_, topology), "a topology without an object: this file describes nothing");
    }
    auto const version = attribute(topology, "version");
    version3_ = version.substr(0, 1) == "3";
    if (!version.empty() && version.substr(0, 1) != "1" && version.substr(0, 1) != "2" && !version3_) {
        refuse(source_, line_of(source_, topology),
               fmt::format("hwloc XML of version {}; 1 to 3 are known", version.substr(0, 20)));
    }
    // Version 3 tells about the host beside its objects, versions 1 and 2 in the first.
    auto const told = [&](const char* key) {
        auto const value = info(machine, key);
        return value.empty() ? info(topology, key) : value;
    };
    for (auto const* key : {"DMISysVendor", "DMIProductName", "DMIBoardVendor"}) {
        auto const value = told(key);
        for (auto const* word :
             {"qemu", "kvm", "amazon ec2", "virtual", "vmware", "xen", "google compute", "openstack"}) {
            topology_.virtual_machine = topology_.virtual_machine || contains_word(value, word);
        }
    }
    find_numas(machine);
    walk(machine);
    for (auto const& child : topology.children()) {
        refuse_text(source_, child);
        if (std::string_view(child.name()) == "distances2hetero" || std::string_view(child.name()) == "distances2") {
            matrix(child);
        }
    }
    auto result = machine_from_hwloc(source_, topology_);
    if (auto const name = trimmed(told("HostName")); !name.empty()) {
        result.origin.hosts.emplace_back(name);
    }
    if (hosts.size() > 1) {
        add_notice(result, source_, "several-hosts", line_of(source_, hosts[1]),
                   fmt::format("{} machines are in this file: only the first is read", hosts.size()));
    }
    note_later_documents(source_, document_, result);
    return result;
}

}  // namespace

bool recognizes_hwloc_xml(std::string_view text) {
    return root_element(text) == "topology";
}

Machine read_hwloc_xml(const Source& source) {
    return HwlocReader(source).read();
}

}  // namespace peerlane::read
