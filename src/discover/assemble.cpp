/// Facts in, machine out: devices in bus order, what each source says of them, and the notices. Pure.

#include <algorithm>

#include <fmt/format.h>

#include <peerlane/discover.hpp>

#include "discover/assemble.hpp"
#include "discover/read_host.hpp"
#include "machine/nominal.hpp"
#include "machine/paths.hpp"

namespace peerlane {
namespace {

constexpr unsigned nvidia = 0x10de;
constexpr unsigned amd = 0x1002;

bool is_gpu(const PciFunction& function) {
    auto const base = function.class_code.value_or(0) >> 16U;
    auto const vendor = function.vendor.value_or(0);
    // Displays and 3D controllers; 0x12 is how newer accelerators call themselves. A virtual function that this kernel
    // made is somebody else's device.
    return (vendor == nvidia || vendor == amd) && (base == 0x03 || base == 0x12) && !function.virtual_function;
}

void notice(Machine& machine, const char* code, std::string file, std::string text) {
    machine.notices.push_back({code, std::move(file), 0, std::move(text)});
}

std::string attribute(const std::string& bus, const char* name) {
    return fmt::format("/sys/bus/pci/devices/{}/{}", bus, name);
}

std::string listed(const std::vector<std::string>& words) {
    std::string text;
    for (auto const& word : words) {
        text += (text.empty() ? "" : ", ") + word;
    }
    return text;
}

/// The devices of this machine, in bus order. Where the management library answered in full, it knows which devices of
/// its vendor this process may use.
std::vector<Found> find_devices(const HostFacts& host, const NvmlFacts& nvml, Machine& machine) {
    std::vector<Found> found;
    std::vector<std::string> hidden;
    for (auto const& function : host.pci) {
        if (!is_gpu(function)) {
            continue;
        }
        auto const* const managed = nvml.device(function.bus);
        if (function.vendor == nvidia && managed == nullptr && nvml.state == NvmlFacts::State::ok) {
            hidden.push_back(function.bus);
            continue;
        }
        found.push_back({function.bus, &function, managed});
    }
    for (auto const& device : nvml.devices) {
        auto const known = [&](const Found& one) { return one.bus == device.bus; };
        if (std::none_of(found.begin(), found.end(), known)) {
            found.push_back({device.bus, host.function(device.bus), &device});
        }
    }
    std::sort(found.begin(), found.end(), [](auto const& a, auto const& b) { return bus_less(a.bus, b.bus); });
    if (!hidden.empty()) {
        notice(machine, "device-hidden", "/sys/bus/pci/devices",
               fmt::format("{}: on the bus, but the driver does not offer it to this process", listed(hidden)));
    }
    if (found.size() > static_cast<std::size_t>(most_devices)) {
        found.resize(static_cast<std::size_t>(most_devices));
    }
    return found;
}

std::optional<std::string> unless_empty(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

template <class T>
std::optional<T> first_of(std::optional<T> a, std::optional<T> b) {
    return a ? a : b;
}

void describe_links(const NvmlDevice& managed, Device& device) {
    if (managed.links.empty()) {
        if (managed.links_code) {
            device.nvlink_state = device.mig.value_or(false) ? "refused-mig" : "unsupported";
        }
        return;
    }
    int active = 0;
    for (auto const& link : managed.links) {
        active += link.active ? 1 : 0;
        if (!link.active) {
            device.inactive_nvlinks.push_back(link.number);
        } else if (!device.nvlink_gbs) {
            device.nvlink_gbs = link.gbs;
        }
    }
    device.nvlinks = active;
    device.nvlink_state = active > 0 ? "active" : "inactive";
}

Device describe(int id, const Found& found, const HostFacts& host) {
    Device device;
    device.id = id;
    device.bus = found.bus;
    if (found.function != nullptr) {
        device.numa = found.function->numa;
        device.cpu_affinity = unless_empty(found.function->local_cpus);
    }
    auto const rate = link_rate(found, host);
    device.pcie_generation = rate.generation;
    device.pcie_width = rate.width;
    for (auto const& node : host.numa) {
        if (node.device == found.bus) {
            device.memory_numa = node.node;
        }
    }
    if (found.managed != nullptr) {
        device.uuid = unless_empty(found.managed->uuid);
        device.model = unless_empty(found.managed->name);
        device.memory_bytes = found.managed->memory_bytes;
        device.compute_capability = found.managed->compute_capability;
        device.mig = found.managed->mig;
        device.mig_instances = found.managed->mig_instances;
        describe_links(*found.managed, device);
    }
    return device;
}

void add_claims(const std::vector<Found>& devices, const NvmlFacts& nvml, Machine& machine) {
    for (auto& pair : machine.pairs) {
        auto const* const answer = nvml.pair(devices[static_cast<std::size_t>(pair.accessor)].bus,
                                             devices[static_cast<std::size_t>(pair.owner)].bus);
        if (answer == nullptr) {
            continue;
        }
        pair.claims = answer->claims;
        if (pair.claims.read && pair.claims.write) {
            pair.claim = *pair.claims.read == "OK" && *pair.claims.write == "OK";
        }
    }
}

/// Where the tree does not tell a path, the management library may.
void add_paths_by_management(const std::vector<Found>& devices, const NvmlFacts& nvml, Machine& machine) {
    for (auto& pair : machine.pairs) {
        auto const* const answer = nvml.pair(devices[static_cast<std::size_t>(pair.accessor)].bus,
                                             devices[static_cast<std::size_t>(pair.owner)].bus);
        if (pair.path != PathClass::unknown || answer == nullptr || !answer->ancestor) {
            continue;
        }
        auto const level = *answer->ancestor;
        pair.path = level <= 10   ? PathClass::pix
                    : level <= 20 ? PathClass::pxb
                    : level <= 30 ? PathClass::phb
                    : level <= 40 ? PathClass::node
                                  : PathClass::sys;
    }
    fill_nominal(machine);
}

bool contains(const std::string& text, const char* word) {
    return text.find(word) != std::string::npos;
}

/// Signs of a guest; empty when there is none.
std::vector<std::string> signs_of_a_guest(const HostFacts& host, const std::vector<Found>& devices) {
    std::vector<std::string> signs;
    if (host.hypervisor_flag.value_or(false)) {
        signs.emplace_back("the CPU's flags name a hypervisor");
    }
    if (!host.hypervisor_type.empty()) {
        signs.push_back("hypervisor type " + host.hypervisor_type);
    }
    for (auto const* vendor : {"QEMU", "VMware", "innotek", "Xen", "Bochs", "Parallels"}) {
        if (contains(host.sys_vendor, vendor)) {
            signs.push_back("system vendor " + host.sys_vendor);
        }
    }
    for (auto const* product :
         {"Virtual Machine", "VirtualBox", "KVM", "HVM domU", "BHYVE", "OpenStack", "Standard PC ("}) {
        if (contains(host.product_name, product)) {
            signs.push_back("product " + host.product_name);
        }
    }
    // The cloud's own name stands on its bare machines too, which say so.
    if (contains(host.sys_vendor, "Amazon EC2") && !contains(host.product_name, ".metal") &&
        host.hypervisor_flag.value_or(true)) {
        signs.push_back(fmt::format("system {} {}", host.sys_vendor, host.product_name));
    }
    if (contains(host.kernel_release, "microsoft") || contains(host.kernel_release, "Microsoft")) {
        signs.push_back("kernel " + host.kernel_release);
    }
    for (auto const& device : devices) {
        auto const mode = device.managed == nullptr ? 0 : device.managed->virtualization.value_or(0);
        if (mode == 1 || mode == 2) {
            signs.push_back(fmt::format("{} is {}", device.bus, mode == 1 ? "passed through" : "a virtual GPU"));
            break;
        }
    }
    return signs;
}

/// No device has a bridge above it. A card needs a port to plug into, so no real machine looks like this.
bool no_bridges(const std::vector<Found>& devices) {
    return !devices.empty() && std::all_of(devices.begin(), devices.end(), [](const Found& one) {
        return one.function != nullptr && !one.function->root.empty() && one.function->above.empty();
    });
}

void note_guest(const HostFacts& host, const std::vector<Found>& devices, Machine& machine) {
    auto signs = signs_of_a_guest(host, devices);
    bool const portless = no_bridges(devices);
    if (portless && !host.hypervisor_flag) {
        signs.emplace_back("no port above any device");
    }
    if (!signs.empty()) {
        machine.origin.virtualized = true;
        notice(machine, "virtual", "", "a guest's view: " + listed(signs));
    } else if (host.hypervisor_flag) {
        machine.origin.virtualized = false;
    }
    bool const switched = std::any_of(machine.graph.nodes.begin(), machine.graph.nodes.end(),
                                      [](const Node& node) { return node.kind == NodeKind::pci_bridge; });
    if (devices.size() > 1 && !switched && (portless || machine.origin.virtualized.value_or(false)) && host.pci_tree) {
        notice(machine, "flat-tree", "/sys/bus/pci/devices",
               "no switch above any device: give a topology file or a measured matrix to tell what lies between them");
    }
}

void note_unknown(const HostFacts& host, const std::vector<Found>& devices, Machine& machine) {
    if (!host.pci_tree) {
        notice(machine, "tree-unknown", "/sys/bus/pci/devices", "no PCI tree here: paths stay unknown");
        return;
    }
    std::vector<std::string> numa, speed, tree;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        auto const& one = devices[i];
        if (one.function == nullptr || one.function->root.empty()) {
            tree.push_back(one.bus);
            continue;
        }
        if (!one.function->numa) {
            numa.push_back(one.bus);
        }
        if (!machine.devices[i].pcie_generation || !machine.devices[i].pcie_width) {
            speed.push_back(one.bus);
        }
    }
    if (!tree.empty()) {
        notice(machine, "tree-unknown", "/sys/bus/pci/devices",
               "not in the PCI tree: " + listed(tree) + "; their paths stay unknown");
    }
    if (!numa.empty()) {
        notice(machine, "numa-unknown", attribute(numa.front(), "numa_node"), "no NUMA node told for " + listed(numa));
    }
    if (!speed.empty()) {
        notice(machine, "speed-unknown", attribute(speed.front(), "current_link_speed"),
               "no usable link speed or width for " + listed(speed));
    }
}

void note_management(const NvmlFacts& nvml, const std::vector<Found>& devices, Machine& machine) {
    if (nvml.hung) {
        notice(machine, "management-hang", "", nvml.reason + "; what it had answered before is used");
    }
    for (auto const& call : nvml.slow) {
        auto const where = call.device < 0 ? std::string() : fmt::format(" of device {}", call.device);
        notice(machine, "query-slow", "", fmt::format("{}{} took {:.3g} s", call.name, where, call.seconds));
    }
    bool const other_vendor = std::any_of(devices.begin(), devices.end(), [](const Found& one) {
        return one.function != nullptr && one.function->vendor != nvidia;
    });
    bool const silent = nvml.state == NvmlFacts::State::absent || nvml.state == NvmlFacts::State::failed;
    if (silent && !other_vendor) {
        notice(machine, "management-missing", "", "no answers of NVIDIA's management library: " + nvml.reason);
    }
    if (devices.empty()) {
        notice(machine, "no-gpu", "", "nothing here tells a GPU");
    }
}

}  // namespace

PciRate link_rate(const PciFunction& lower, const HostFacts& host) {
    auto const* const port = lower.above.empty() ? nullptr : host.function(lower.above.front());
    auto const least = [](std::optional<int> a, std::optional<int> b) {
        return a && b ? std::optional(std::min(*a, *b)) : first_of(a, b);
    };
    PciRate rate;
    // An idle link clocks down, so its present speed tells nothing; what both ends can, it reaches. Lanes are not given
    // up while idle: fewer than possible stay fewer.
    auto const most = least(lower.most.generation, port == nullptr ? std::nullopt : port->most.generation);
    rate.generation = first_of(most, lower.current.generation);
    auto const widest = least(lower.most.width, port == nullptr ? std::nullopt : port->most.width);
    rate.width = first_of(lower.current.width, widest);
    return rate;
}

PciRate link_rate(const Found& device, const HostFacts& host) {
    PciRate rate;
    if (device.function != nullptr) {
        rate = link_rate(*device.function, host);
    }
    if (device.managed != nullptr) {
        auto const& managed = *device.managed;
        rate.generation = first_of(rate.generation, first_of(managed.most.generation, managed.current.generation));
        rate.width = first_of(rate.width, first_of(managed.current.width, managed.most.width));
    }
    return rate;
}

Machine machine_from(const HostFacts& host, const NvmlFacts& nvml) {
    Machine machine;
    machine.origin.kind = "live";
    machine.origin.source =
        nvml.driver_version.empty() ? "the system's files" : "the system's files, NVIDIA driver " + nvml.driver_version;
    auto const devices = find_devices(host, nvml, machine);
    for (auto const& found : devices) {
        machine.devices.push_back(describe(static_cast<int>(machine.devices.size()), found, host));
    }
    complete_pairs(machine);
    add_claims(devices, nvml, machine);
    add_nodes(host, devices, machine);
    add_fabric(host, devices, machine);
    classify_from_graph(machine);
    add_paths_by_management(devices, nvml, machine);
    note_guest(host, devices, machine);
    note_unknown(host, devices, machine);
    note_management(nvml, devices, machine);
    return machine;
}

}  // namespace peerlane
