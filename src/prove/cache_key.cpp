/// What verdicts depend on.

#include <algorithm>

#include <fmt/format.h>

#include <peerlane/verdict_cache.hpp>

namespace peerlane {
namespace {

std::string rate_text(const PciRate& rate) {
    return rate.generation || rate.width
               ? fmt::format("gen {} x{}", rate.generation.value_or(0), rate.width.value_or(0))
               : std::string();
}

/// Idle links slow down to save power, so that their speed says nothing; their width stays.
std::string link_text(const HostFacts& host, const std::string& bus) {
    auto const function =
        std::find_if(host.pci.begin(), host.pci.end(), [&](const PciFunction& other) { return other.bus == bus; });
    return function == host.pci.end() || !function->current.width
               ? std::string()
               : fmt::format("x{} of {}", *function->current.width, rate_text(function->most));
}

std::string fabric_text(const NvmlFacts& nvml, const std::string& bus) {
    auto const device = std::find_if(nvml.devices.begin(), nvml.devices.end(),
                                     [&](const NvmlDevice& other) { return other.bus == bus; });
    if (device == nvml.devices.end()) {
        return {};
    }
    int active = 0;
    std::string inactive;
    for (auto const& link : device->links) {
        active += link.active ? 1 : 0;
        inactive += link.active ? "" : fmt::format(" {}", link.number);
    }
    auto text = fmt::format("{} active{}{}", active, inactive.empty() ? "" : ", inactive:", inactive);
    if (device->fabric_state) {
        text += fmt::format(", fabric state {}", *device->fabric_state);
    }
    if (device->mig) {
        text += *device->mig ? ", MIG on" : ", MIG off";
    }
    return text;
}

std::string devices_text(const Machine& machine) {
    std::string text;
    for (auto const& device : machine.devices) {
        text += fmt::format("{}{} {} {}", text.empty() ? "" : "; ", device.bus.value_or("no address"),
                            device.uuid.value_or("no UUID"), device.model.value_or("no model"));
    }
    return text;
}

}  // namespace

CacheKey cache_key(const Machine& machine, const HostFacts& host, const NvmlFacts& nvml, const std::string& visible) {
    CacheKey key;
    auto const add = [&key](std::string name, std::string value) {
        key.parts.emplace_back(std::move(name), std::move(value));
    };
    add("machine", devices_text(machine));
    add("visible devices", visible);
    add("driver", nvml.driver_version.empty() ? host.module_version : nvml.driver_version);
    add("driver build", host.driver_text);
    add("firmware", fmt::format("{} {}", host.sys_vendor, host.product_name));
    add("kernel", host.kernel_release);
    add("kernel command line", host.kernel_command_line);
    add("boot", host.boot_id);
    for (auto const& device : machine.devices) {
        auto const bus = device.bus.value_or("");
        add("link:" + bus, link_text(host, bus));
        add("nvlink:" + bus, fabric_text(nvml, bus));
    }
    return key;
}

CacheKey cache_key(const Machine& machine, const std::string& faults) {
    CacheKey key;
    key.parts = {{"machine", devices_text(machine)}, {"faults", faults}};
    for (auto const& pair : machine.pairs) {
        key.parts.emplace_back(
            fmt::format("path {}:{}", pair.accessor, pair.owner),
            fmt::format("{} {} {}", to_string(pair.path), pair.nvlinks.value_or(0), pair.nominal_gbs.value_or(0)));
    }
    return key;
}

}  // namespace peerlane
