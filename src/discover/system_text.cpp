#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <peerlane/discover.hpp>
#include <peerlane/units.hpp>

namespace peerlane {
namespace {

std::string or_else(const std::string& text, const char* otherwise) {
    return text.empty() ? otherwise : text;
}

const char* kind_of(const PciFunction& function) {
    auto const code = function.class_code.value_or(0);
    switch (code >> 16U) {
        case 0x02:
            return "network";
        case 0x03:
            return "display";
        case 0x12:
            return "accelerator";
        case 0x06:
            return code >> 8U == 0x0604                                 ? "bridge"
                   : code >> 8U == 0x0680 && function.vendor == 0x10deU ? "NVSwitch"
                                                                        : "";
        default:
            return "";
    }
}

std::string rate_text(const PciRate& rate) {
    return rate.generation && rate.width ? fmt::format("PCIe {} x{}", *rate.generation, *rate.width)
           : rate.width                  ? fmt::format("x{}", *rate.width)
           : rate.generation             ? fmt::format("PCIe {}", *rate.generation)
                                         : std::string();
}

std::string function_line(const PciFunction& function) {
    auto line = fmt::format("  {}  {:04x}:{:04x}  {}", function.bus, function.vendor.value_or(0),
                            function.device.value_or(0), kind_of(function));
    for (auto const& name : function.interfaces) {
        line += " " + name;
    }
    if (auto const now = rate_text(function.current); !now.empty()) {
        line += ", " + now;
    }
    if (auto const most = rate_text(function.most); !most.empty() && function.most != function.current) {
        line += " (at best " + most + ")";
    }
    line += function.numa ? fmt::format(", NUMA node {}", *function.numa) : ", NUMA node unknown";
    if (!function.driver.empty()) {
        line += ", driver " + function.driver;
    }
    return line + "\n";
}

std::string pci_text(const HostFacts& host) {
    if (!host.pci_tree) {
        return "PCI: no tree here (/sys/bus/pci is missing)\n";
    }
    std::string lines;
    std::map<std::string, int> bridges;
    std::size_t shown = 0;
    for (auto const& function : host.pci) {
        std::string const kind = kind_of(function);
        if (kind == "bridge") {
            ++bridges[function.root];
            continue;
        }
        if (!kind.empty() && !function.virtual_function) {
            lines += function_line(function);
            ++shown;
        }
    }
    int bridge_count = 0;
    for (auto const& [root, count] : bridges) {
        bridge_count += count;
    }
    auto const others = host.pci.size() - shown - static_cast<std::size_t>(bridge_count);
    return fmt::format("PCI: {} functions, {} of them bridges, {} of other kinds\n{}", host.pci.size(), bridge_count,
                       others, lines);
}

std::string memory_text(const HostFacts& host) {
    if (host.numa.empty()) {
        return "NUMA nodes: not shown here\n";
    }
    auto text = fmt::format("NUMA nodes: {}\n", host.numa.size());
    for (auto const& node : host.numa) {
        text += fmt::format("  {}: {}, {}{}{}\n", node.node, node.cpus.empty() ? "no CPUs" : "CPUs " + node.cpus,
                            node.memory_bytes ? fmt::format("{:.1f} GiB", static_cast<double>(*node.memory_bytes) / GiB)
                                              : "memory unknown",
                            node.socket ? fmt::format(", socket {}", *node.socket) : "",
                            node.device.empty() ? "" : ", memory of " + node.device);
    }
    return text;
}

std::string management_text(const NvmlFacts& nvml) {
    switch (nvml.state) {
        case NvmlFacts::State::ok:
            return fmt::format("driver {}, {} devices", nvml.driver_version, nvml.devices.size());
        case NvmlFacts::State::hung:
            return "hangs: " + nvml.reason;
        case NvmlFacts::State::absent:
        case NvmlFacts::State::failed:
            break;
    }
    return "not available: " + nvml.reason;
}

}  // namespace

std::string system_text(const Discovery& discovery) {
    auto const& host = discovery.host;
    auto const& guest = discovery.machine.origin.virtualized;
    auto text = fmt::format("System: Linux {}, {}{}{}\n", or_else(host.kernel_release, "of unknown release"),
                            guest ? *guest ? "a virtual machine" : "not virtual" : "virtual or not is not told",
                            host.sys_vendor.empty() ? "" : ", " + host.sys_vendor,
                            host.product_name.empty() ? "" : " " + host.product_name);
    text += fmt::format("CPU: {}{}{}\n", or_else(host.cpu_model, "model not told"),
                        host.sockets ? fmt::format(", {} socket{}", *host.sockets, *host.sockets == 1 ? "" : "s") : "",
                        host.cpus ? fmt::format(", {} CPUs", *host.cpus) : "");
    text += memory_text(host);
    text += pci_text(host);
    text += host.iommus.empty() ? "IOMMU: none in use\n" : fmt::format("IOMMU: {} units in use\n", host.iommus.size());
    text += "NVIDIA kernel module: " +
            or_else(host.module_version, host.driver_text.empty() ? "not loaded" : host.driver_text.c_str()) + "\n";
    text += "NVIDIA management library: " + management_text(discovery.nvml) + "\n";
    for (auto const& notice : discovery.machine.notices) {
        text += fmt::format("note {}: {}\n", notice.code, notice.text);
    }
    return text;
}

}  // namespace peerlane
