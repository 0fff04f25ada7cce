/// What verdicts depend on.

#include <algorithm>

#include <fmt/format.h>

#include <peerlane/verdict_cache.hpp>

namespace peerlane {
namespace {

constexpr std::string_view link_prefix = "link of ";
constexpr const char* visible_name = "visible devices";

std::string rate_text(const PciRate& rate) {
    return rate.generation || rate.width
               ? fmt::format("gen {} x{}", rate.generation.value_or(0), rate.width.value_or(0))
               : std::string();
}

/// Idle links slow down to save power, so that their speed says nothing; their width stays.
std::string link_text(const HostFacts& host, const NvmlFacts& nvml, const std::string& bus) {
    std::string text;
    auto const function =
        std::find_if(host.pci.begin(), host.pci.end(), [&](const PciFunction& other) { return other.bus == bus; });
    if (function != host.pci.end() && function->current.width) {
        text += fmt::format("x{} of {}", *function->current.width, rate_text(function->most));
    }
    auto const device = std::find_if(nvml.devices.begin(), nvml.devices.end(),
                                     [&](const NvmlDevice& other) { return other.bus == bus; });
    if (device != nvml.devices.end()) {
        int active = 0;
        std::string inactive;
        for (auto const& link : device->links) {
            active += link.active ? 1 : 0;
            inactive += link.active ? "" : fmt::format(" {}", link.number);
        }
        text += fmt::format(", {} NVLinks active{}{}", active, inactive.empty() ? "" : ", inactive:", inactive);
        if (device->fabric_state) {
            text += fmt::format(", fabric state {}", *device->fabric_state);
        }
        if (device->mig) {
            text += *device->mig ? ", MIG on" : ", MIG off";
        }
    }
    return text;
}

const std::string* value_of(const VerdictKey& key, const std::string& name) {
    auto const found =
        std::find_if(key.parts.begin(), key.parts.end(), [&](auto const& part) { return part.first == name; });
    return found == key.parts.end() ? nullptr : &found->second;
}

}  // namespace

VerdictKey verdict_key(const Machine& machine, const HostFacts& host, const NvmlFacts& nvml,
                       const std::string& visible) {
    VerdictKey key;
    auto const add = [&key](std::string name, std::string value) {
        key.parts.emplace_back(std::move(name), std::move(value));
    };
    add("driver", nvml.driver_version.empty() ? host.module_version : nvml.driver_version);
    add("driver text", host.driver_text);
    add("firmware", fmt::format("{} {}", host.sys_vendor, host.product_name));
    add("kernel", host.kernel_release);
    add("kernel command line", host.kernel_command_line);
    add("boot", host.boot_id);
    add(visible_name, visible);
    for (auto const& device : machine.devices) {
        add(fmt::format("device {}", device.id),
            fmt::format("{} {} {}", device.uuid.value_or("no UUID"), device.bus.value_or("no address"),
                        device.model.value_or("no model")));
        add(fmt::format("{}{}", link_prefix, device.id), link_text(host, nvml, device.bus.value_or("")));
    }
    return key;
}

VerdictKey verdict_key(const Machine& machine, const std::string& faults) {
    VerdictKey key;
    key.parts.emplace_back("faults", faults);
    for (auto const& device : machine.devices) {
        key.parts.emplace_back(fmt::format("device {}", device.id),
                               fmt::format("{} {} {}", device.uuid.value_or("no UUID"),
                                           device.bus.value_or("no address"), device.model.value_or("no model")));
    }
    for (auto const& pair : machine.pairs) {
        key.parts.emplace_back(
            fmt::format("{}{}:{}", link_prefix, pair.accessor, pair.owner),
            fmt::format("{} {} {}", to_string(pair.path), pair.nvlinks.value_or(0), pair.nominal_gbs.value_or(0)));
    }
    return key;
}

std::vector<KeyDifference> differences(const VerdictKey& stored, const VerdictKey& now) {
    std::vector<KeyDifference> all;
    for (auto const& [name, value] : stored.parts) {
        auto const* const other = value_of(now, name);
        if (other == nullptr || *other != value) {
            all.push_back({name, value, other == nullptr ? "" : *other});
        }
    }
    for (auto const& [name, value] : now.parts) {
        if (value_of(stored, name) == nullptr) {
            all.push_back({name, "", value});
        }
    }
    return all;
}

bool is_of_path(const KeyDifference& difference) {
    return difference.name == visible_name || difference.name.rfind(link_prefix, 0) == 0;
}

}  // namespace peerlane
