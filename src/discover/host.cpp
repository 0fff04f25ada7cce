/// CPUs, memory nodes, firmware, kernel: what the system's files say beside the PCI tree.

#include <algorithm>
#include <map>
#include <set>

#include "discover/files.hpp"
#include "discover/read_host.hpp"
#include "machine/read/text.hpp"

namespace peerlane {
namespace {

/// The word itself among the words of a list.
bool has_word(const std::string& list, std::string_view word) {
    auto const words = read::words(list);
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// "node12" with the prefix "node" -> 12.
std::optional<int> numbered(const std::string& name, std::string_view prefix) {
    return name.compare(0, prefix.size(), prefix) == 0
               ? read::small_number(std::string_view(name).substr(prefix.size()))
               : std::nullopt;
}

std::optional<int> socket_of_cpu(const DiscoverRoots& roots, int cpu) {
    auto const file = "/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/physical_package_id";
    auto const package = files::number(roots.sysfs + file);
    return package && *package >= 0 ? std::optional(static_cast<int>(*package)) : std::nullopt;
}

void read_cpus(HostFacts& host, const DiscoverRoots& roots) {
    auto const info = files::text(roots.proc + "/cpuinfo");
    host.cpu_model = files::value_of(info, "model name");
    // Only x86 has this line; elsewhere a missing flag tells nothing.
    if (auto const flags = files::value_of(info, "flags"); !flags.empty()) {
        host.hypervisor_flag = has_word(flags, "hypervisor");
    }
    std::set<int> packages;
    int cpus = 0;
    for (auto const line : read::cells(info, '\n')) {
        cpus += line.substr(0, 9) == "processor" ? 1 : 0;
        if (line.substr(0, 11) == "physical id") {
            if (auto const id = read::small_number(read::trimmed(line.substr(line.find(':') + 1)))) {
                packages.insert(*id);
            }
        }
    }
    for (auto const& name : files::names(roots.sysfs + "/devices/system/cpu")) {
        if (auto const cpu = numbered(name, "cpu")) {
            if (auto const socket = socket_of_cpu(roots, *cpu)) {
                packages.insert(*socket);
            }
        }
    }
    if (cpus > 0) {
        host.cpus = cpus;
    }
    if (!packages.empty()) {
        host.sockets = static_cast<int>(packages.size());
    }
}

/// Nodes that the driver says are memory of a GPU, with its bus address.
std::map<int, std::string> device_nodes(const DiscoverRoots& roots) {
    std::map<int, std::string> nodes;
    auto const folder = roots.proc + "/driver/nvidia/gpus";
    for (auto const& gpu : files::names(folder)) {
        auto const node = read::small_number(files::value_of(files::text(folder + "/" + gpu + "/numa_status"), "Node"));
        if (auto bus = read::bus_address(gpu); bus && node) {
            nodes[*node] = std::move(*bus);
        }
    }
    return nodes;
}

/// Lines 'Name: value' and 'Name: "text"'; those without a value are left out.
std::vector<std::pair<std::string, std::string>> module_parameters(const DiscoverRoots& roots) {
    std::vector<std::pair<std::string, std::string>> parameters;
    auto const text = files::text(roots.proc + "/driver/nvidia/params");
    for (auto const line : read::cells(text, '\n')) {
        auto const colon = line.find(':');
        if (colon == std::string_view::npos) {
            continue;
        }
        auto value = read::trimmed(line.substr(colon + 1));
        if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
            value = value.substr(1, value.size() - 2);
        }
        if (!value.empty()) {
            parameters.emplace_back(read::trimmed(line.substr(0, colon)), value);
        }
    }
    return parameters;
}

}  // namespace

std::vector<NumaFacts> read_numa(const DiscoverRoots& roots) {
    auto const folder = roots.sysfs + "/devices/system/node";
    auto const of_devices = device_nodes(roots);
    std::vector<NumaFacts> nodes;
    for (auto const& name : files::names(folder)) {
        auto const number = numbered(name, "node");
        if (!number) {
            continue;
        }
        NumaFacts node;
        node.node = *number;
        auto const own = folder + "/" + name;
        node.cpus = files::text(own + "/cpulist");
        auto const total =
            files::value_of(files::text(own + "/meminfo"), "Node " + std::to_string(*number) + " MemTotal");
        if (auto const words = read::words(total); words.size() == 2 && words[1] == "kB") {
            node.memory_bytes = std::strtoull(std::string(words[0]).c_str(), nullptr, 10) * 1024;
        }
        if (auto const cpu = files::first_of_list(node.cpus)) {
            node.socket = socket_of_cpu(roots, *cpu);
        }
        auto const distance = files::text(own + "/distance");
        for (auto const word : read::words(distance)) {
            if (auto const value = read::small_number(word)) {
                node.distances.push_back(*value);
            }
        }
        if (auto const device = of_devices.find(*number); device != of_devices.end()) {
            node.device = device->second;
        }
        nodes.push_back(std::move(node));
    }
    std::sort(nodes.begin(), nodes.end(), [](auto const& a, auto const& b) { return a.node < b.node; });
    return nodes;
}

const PciFunction* HostFacts::function(const std::string& bus) const {
    auto const found = std::find_if(pci.begin(), pci.end(), [&](auto const& one) { return one.bus == bus; });
    return found == pci.end() ? nullptr : &*found;
}

HostFacts read_host(const DiscoverRoots& roots) {
    HostFacts host;
    read_cpus(host, roots);
    auto const dmi = roots.sysfs + "/class/dmi/id/";
    host.sys_vendor = files::text(dmi + "sys_vendor");
    host.product_name = files::text(dmi + "product_name");
    host.hypervisor_type = files::text(roots.sysfs + "/hypervisor/type");
    host.boot_id = files::text(roots.proc + "/sys/kernel/random/boot_id");
    host.kernel_release = files::text(roots.proc + "/sys/kernel/osrelease");
    host.kernel_command_line = files::text(roots.proc + "/cmdline");
    host.module_version = files::text(roots.sysfs + "/module/nvidia/version");
    host.driver_text = files::first_line(roots.proc + "/driver/nvidia/version");
    host.module_taint = files::text(roots.sysfs + "/module/nvidia/taint");
    host.module_parameters = module_parameters(roots);
    if (files::exists(roots.dev)) {
        host.wsl = files::exists(roots.dev + "/dxg");
    }
    host.iommus = files::names(roots.sysfs + "/class/iommu");
    host.pci = read_pci(roots, host.pci_tree);
    host.numa = read_numa(roots);
    host.xgmi = read_xgmi(roots);
    return host;
}

}  // namespace peerlane
