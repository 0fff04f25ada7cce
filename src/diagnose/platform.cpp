/// Causes between the slots: address translation, bridges that redirect, a guest's view.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "diagnose/context.hpp"

namespace peerlane::causes {
namespace {

bool translating(const PciFunction* function) {
    return function != nullptr && function->iommu_type.rfind("DMA", 0) == 0;
}

/// What the kernel line sets about the IOMMU; that it sets nothing is evidence too.
std::string kernel_line(const Context& context) {
    auto const& line = context.facts.host.kernel_command_line;
    std::string set;
    for (std::size_t at = 0; at < line.size();) {
        auto const end = std::min(line.find(' ', at), line.size());
        auto const word = line.substr(at, end - at);
        if (word.find("iommu") != std::string::npos) {
            set += " " + word;
        }
        at = end + 1;
    }
    return set.empty()
               ? "/proc/cmdline: no iommu=, intel_iommu= or amd_iommu=; the default of kernel and firmware holds"
               : "/proc/cmdline:" + set;
}

void translation(const Context& context, Findings& findings) {
    Pairs pairs;
    for (auto const& pair : context.over_pcie()) {
        if (translating(context.function(pair.first)) || translating(context.function(pair.second))) {
            pairs.push_back(pair);
        }
    }
    if (pairs.empty()) {
        return;
    }
    std::vector<std::string> evidence;
    for (auto const device : context.ids()) {
        auto const* const own = context.function(device);
        if (translating(own)) {
            evidence.push_back(fmt::format("{}: {}{}", sysfs(own->bus, "iommu_group/type"), own->iommu_type,
                                           own->iommu_group ? fmt::format(" (group {})", *own->iommu_group) : ""));
        }
    }
    if (!context.facts.host.iommus.empty()) {
        std::string names;
        for (auto const& name : context.facts.host.iommus) {
            names += " " + name;
        }
        evidence.push_back("/sys/class/iommu:" + names);
    }
    evidence.push_back(kernel_line(context));
    findings.add("iommu-translating", std::move(pairs), std::move(evidence),
                 context.guest() ? "this is a guest: the host decides whether its devices pass through untranslated"
                                 : "boot with iommu=pt, or switch the IOMMU off in the kernel line or the firmware");
}

void faults(const Context& context, Findings& findings) {
    if (!context.facts.process.kernel_log) {
        return;
    }
    Pairs pairs;
    std::vector<std::string> evidence;
    for (auto const& line : *context.facts.process.kernel_log) {
        auto const amd = line.find("IO_PAGE_FAULT") != std::string::npos;
        auto const intel = line.find("DMAR") != std::string::npos && line.find("fault") != std::string::npos;
        auto const arm = line.find("arm-smmu") != std::string::npos && line.find("event") != std::string::npos;
        if (!amd && !intel && !arm) {
            continue;
        }
        for (auto const& bus : addresses_in(line)) {
            auto const device = context.device_at(bus);
            if (device >= 0) {
                auto const touched = Context::touching(device, context.all());
                pairs.insert(pairs.end(), touched.begin(), touched.end());
                evidence.push_back("kernel log: " + line);
                break;
            }
        }
    }
    if (!evidence.empty()) {
        findings.add("iommu-fault", std::move(pairs), std::move(evidence),
                     "boot with iommu=pt, or switch the IOMMU off in the kernel line or the firmware");
    }
}

constexpr unsigned redirecting = 0x04U | 0x08U | 0x10U;

std::string decoded(unsigned control) {
    constexpr std::array<const char*, 7> names{"SrcValid",    "TransBlk",   "ReqRedir",   "CmpltRedir",
                                               "UpstreamFwd", "EgressCtrl", "DirectTrans"};
    std::string text;
    for (std::size_t bit = 0; bit < names.size(); ++bit) {
        if ((control >> bit & 1U) != 0) {
            text += std::string(" ") + names[bit];
        }
    }
    return text;
}

/// Bridges that peer traffic of the two passes: those above one of them and not above both. What lies above both is
/// reached only when one of these sends the traffic up.
std::vector<std::string> between(const PciFunction& a, const PciFunction& b) {
    std::vector<std::string> found;
    auto const take = [&](const PciFunction& one, const PciFunction& other) {
        for (auto const& bridge : one.above) {
            if (std::find(other.above.begin(), other.above.end(), bridge) == other.above.end()) {
                found.push_back(bridge);
            }
        }
    };
    take(a, b);
    take(b, a);
    return found;
}

bool is_bridge(const PciFunction& function) {
    return function.class_code && *function.class_code >> 8U == 0x0604;
}

/// A bridge whose place in the tree was not read may be above any pair.
bool placed(const Context& context, const std::string& bridge) {
    return std::any_of(context.facts.host.pci.begin(), context.facts.host.pci.end(), [&](const PciFunction& one) {
        return std::find(one.above.begin(), one.above.end(), bridge) != one.above.end();
    });
}

void access_control(const Context& context, Findings& findings) {
    std::set<std::string> redirectors, unreadable;
    Pairs pairs, unread;
    std::vector<std::string> loose;
    for (auto const& function : context.facts.host.pci) {
        if (is_bridge(function) && (function.acs_control.value_or(0) & redirecting) != 0 &&
            !placed(context, function.bus)) {
            loose.push_back(function.bus);
        }
    }
    for (auto const& pair : context.over_pcie()) {
        auto const* const a = context.function(pair.first);
        auto const* const b = context.function(pair.second);
        auto on_the_way = a != nullptr && b != nullptr ? between(*a, *b) : std::vector<std::string>{};
        on_the_way.insert(on_the_way.end(), loose.begin(), loose.end());
        bool redirected = false, hidden = false;
        for (auto const& bus : on_the_way) {
            auto const* const bridge = context.facts.host.function(bus);
            if (bridge == nullptr) {
                continue;
            }
            if ((bridge->acs_control.value_or(0) & redirecting) != 0) {
                redirectors.insert(bus);
                redirected = true;
            } else if (!bridge->acs_control && bridge->config_bytes && *bridge->config_bytes < 256) {
                unreadable.insert(bus);
                hidden = true;
            }
        }
        if (redirected) {
            pairs.push_back(pair);
        }
        if (hidden) {
            unread.push_back(pair);
        }
    }
    if (!redirectors.empty()) {
        std::vector<std::string> evidence;
        std::string addresses;
        for (auto const& bus : redirectors) {
            auto const control = *context.facts.host.function(bus)->acs_control;
            evidence.push_back(
                fmt::format("{}: access control 0x{:02x}:{}", sysfs(bus, "config"), control, decoded(control)));
            addresses += (addresses.empty() ? "" : ";") + bus;
        }
        if (context.facts.host.kernel_command_line.find("disable_acs_redir") == std::string::npos) {
            evidence.emplace_back("/proc/cmdline: no pci=disable_acs_redir=; kernel and firmware set these bits");
        }
        findings.add(
            "acs-redirect", pairs, std::move(evidence),
            fmt::format("boot with pci=disable_acs_redir={}, or clear the bits with setpci as the owner of the "
                        "machine, at every bridge named here; this weakens the isolation of virtual machines",
                        addresses));
    }
    if (!unreadable.empty()) {
        std::vector<std::string> evidence;
        for (auto const& bus : unreadable) {
            evidence.push_back(fmt::format("{}: {} bytes readable, access control lies beyond 256",
                                           sysfs(bus, "config"), *context.facts.host.function(bus)->config_bytes));
        }
        findings.add("acs-unreadable", unread, std::move(evidence), "run once as root to see it");
    }
}

void guest_view(const Context& context, Findings& findings) {
    if (!context.guest()) {
        return;
    }
    auto const& host = context.facts.host;
    std::vector<std::string> evidence;
    if (host.hypervisor_flag.value_or(false)) {
        evidence.emplace_back("/proc/cpuinfo: flag hypervisor");
    }
    if (!host.sys_vendor.empty()) {
        evidence.push_back(fmt::format("/sys/class/dmi/id/sys_vendor: {} ({})", host.sys_vendor, host.product_name));
    }
    if (!host.hypervisor_type.empty()) {
        evidence.push_back("/sys/hypervisor/type: " + host.hypervisor_type);
    }
    for (auto const device : context.ids()) {
        auto const* const managed = context.managed(device);
        if (managed != nullptr && (managed->virtualization == 1 || managed->virtualization == 2)) {
            evidence.push_back(fmt::format("management library: {} is {}", context.label(device),
                                           *managed->virtualization == 1 ? "passed through" : "a virtual device"));
        }
    }
    findings.add("vm-view-of-pcie", {}, std::move(evidence),
                 "trust measured rates over the tree shown here; give a topology file; ask the host for access control "
                 "and windows");
}

void tree(const Context& context, Findings& findings) {
    auto const& host = context.facts.host;
    bool shown = context.devices() == 0;
    for (auto const device : context.ids()) {
        shown = shown || context.bus(device).empty() || context.function(device) != nullptr;
    }
    if ((host.pci_tree && shown) || !context.host_was_read()) {
        return;
    }
    std::vector<std::string> evidence{host.pci_tree ? "/sys/bus/pci/devices: none of the devices is in it"
                                                    : "/sys/bus/pci/devices: absent"};
    if (host.wsl.value_or(false)) {
        evidence.emplace_back("/dev/dxg: present (a guest of Windows)");
    }
    findings.add("tree-unknown", {}, std::move(evidence), "none: paths stay unknown, measured rates decide");
}

}  // namespace

void platform(const Context& context, Findings& findings) {
    translation(context, findings);
    faults(context, findings);
    access_control(context, findings);
    guest_view(context, findings);
    tree(context, findings);
}

}  // namespace peerlane::causes
