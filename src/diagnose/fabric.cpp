/// Causes in NVLink and the fabric that joins it.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <peerlane/error.hpp>

#include "diagnose/context.hpp"
#include "machine/nominal.hpp"

namespace peerlane::causes {
namespace {

constexpr int not_initialised = 802;

bool contains(const std::string& text, std::string_view word) {
    return text.find(word) != std::string::npos;
}

Device with_model(const Context& context, int device) {
    auto one = *context.machine.device(device);
    if (auto const model = context.model(device); !model.empty()) {
        one.model = model;
    }
    return one;
}

/// A module on a board that joins its links, not a card whose bridge may be missing.
bool always_linked(const std::string& model) {
    constexpr std::array cards{"PCIe", "PCIE", "NVL"};
    constexpr std::array modules{"SXM", "HBM3", "H200", "H800", "H20", "B200", "B300", "GB200", "GB300"};
    auto const any = [&](auto const& words) {
        return std::any_of(words.begin(), words.end(), [&](const char* word) { return contains(model, word); });
    };
    return !any(cards) && any(modules);
}

struct Links {
    int up = 0;
    std::vector<int> down;  ///< numbers
    bool all_down = false;  ///< told, perhaps without numbers
    std::string source;
    [[nodiscard]] int fitted() const { return up + static_cast<int>(down.size()); }
    [[nodiscard]] bool known() const { return fitted() > 0 || all_down; }
};

Links links_of(const Context& context, int device) {
    Links links;
    auto const* const managed = context.managed(device);
    if (managed != nullptr && !managed->links.empty()) {
        links.source = context.facts.simulated ? "link states" : "management library";
        for (auto const& link : managed->links) {
            if (link.active) {
                ++links.up;
            } else {
                links.down.push_back(link.number);
            }
        }
    } else {
        auto const& told = *context.machine.device(device);
        links.source = "link states";
        links.up = told.nvlinks.value_or(0);
        links.down = told.inactive_nvlinks;
        links.all_down = told.nvlink_state == "inactive";
        if (!told.nvlinks) {
            links.source = "matrix";
            for (auto const& pair : context.machine.pairs) {
                if (pair.accessor == device && pair.path == PathClass::nv) {
                    links.up = std::max(links.up, pair.nvlinks.value_or(0));
                }
            }
        }
    }
    links.all_down = links.all_down || (links.up == 0 && !links.down.empty());
    return links;
}

std::string numbers(const std::vector<int>& list) {
    std::string text;
    for (auto const number : list) {
        text += fmt::format("{}{}", text.empty() ? "" : ", ", number);
    }
    return text;
}

/// The fabric of this device was begun and never came up.
bool unfinished(const Context& context, int device) {
    auto const* const managed = context.managed(device);
    return managed != nullptr && (managed->fabric_state == 1 || managed->fabric_state == 2 ||
                                  (managed->fabric_state == 3 && managed->fabric_status.value_or(0) != 0));
}

bool any_pair_linked(const Context& context, int device) {
    return std::any_of(context.machine.pairs.begin(), context.machine.pairs.end(), [&](const Pair& pair) {
        return (pair.accessor == device || pair.owner == device) && pair.path == PathClass::nv;
    });
}

/// Another device says that one of its active links ends here.
bool reached_by_link(const Context& context, int device) {
    return std::any_of(
        context.facts.nvml.devices.begin(), context.facts.nvml.devices.end(), [&](const NvmlDevice& one) {
            return one.bus != context.bus(device) &&
                   std::any_of(one.links.begin(), one.links.end(), [&](const NvmlLink& link) {
                       return link.active && !link.remote_bus.empty() && link.remote_bus == context.bus(device);
                   });
        });
}

/// Cards are joined by whole bridges: four links each since Ampere, so three are a bad contact.
bool possible_count(const FabricPart& part, int up) {
    return up == 0 || up == part.links || (part.links > 4 && up < part.links && up % 4 == 0) ||
           (part.links > 4 && part.links % 2 == 0 && up * 2 == part.links);
}

/// Every device has all its links on the same switches, so the counts are alike.
bool through_switches(const Context& context) {
    auto const& nodes = context.machine.graph.nodes;
    return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.kind == NodeKind::nvswitch; });
}

struct Judged {
    std::vector<std::string> inactive, absent;
    Pairs inactive_pairs, absent_pairs;
};

void judge_links(const Context& context, int device, const Links& own, const std::vector<Links>& all, Judged& judged) {
    auto const described = with_model(context, device);
    auto const model = described.model.value_or("");
    auto const part = model.empty() ? std::nullopt : nvlink_part(described);
    auto const module = always_linked(model) && (!part || part->links > 0);
    int most = 0;
    for (auto const& links : all) {
        most = std::max(most, links.up);
    }
    auto const name = context.label(device) + (model.empty() ? "" : ", " + model);
    auto const of = part && part->links > 0 ? fmt::format(", the part has {}", part->links) : std::string();
    std::string line;
    if (own.up > 0) {
        // Several links that all devices lack alike were never fitted (one bridge of three).
        auto const alike = std::all_of(all.begin(), all.end(),
                                       [&](const Links& other) { return other.up == own.up || other.up == 0; });
        auto const some_down =
            !own.down.empty() && (module || !alike || (part && !possible_count(*part, own.up)) || (!part && !alike));
        // Links to devices that this system was not given are absent, not down: a module's count alone tells nothing.
        auto const odd_count =
            !module && part && part->links > 0 && own.up < part->links && !possible_count(*part, own.up);
        auto const fewer =
            own.up < most && own.source != "matrix" && (own.fitted() >= most || through_switches(context));
        if (!some_down && !odd_count && !fewer) {
            return;
        }
        line = own.down.empty() ? fmt::format("{}: {}: {} links up", own.source, name, own.up)
                                : fmt::format("{}: {}: links {} inactive, {} of {} up", own.source, name,
                                              numbers(own.down), own.up, own.fitted());
        line += of + (most > own.up ? fmt::format(", siblings have {} up", most) : "");
    } else {
        if (own.known() ? !own.all_down : (!module || any_pair_linked(context, device))) {
            return;
        }
        if (!own.known() && context.devices() < 2) {
            return;
        }
        if (!module && !reached_by_link(context, device)) {
            judged.absent.push_back(fmt::format("{}: {}: all {} links inactive, none ends at another device",
                                                own.source, name, own.fitted()));
            auto const touched = Context::touching(device, context.all());
            judged.absent_pairs.insert(judged.absent_pairs.end(), touched.begin(), touched.end());
            return;
        }
        line = own.known() ? fmt::format("{}: {}: all links inactive{}", own.source, name, of)
                           : fmt::format("matrix: {}: a module with NVLink, yet no pair of it is NV", name);
    }
    judged.inactive.push_back(std::move(line));
    auto const touched = Context::touching(device, context.all());
    judged.inactive_pairs.insert(judged.inactive_pairs.end(), touched.begin(), touched.end());
}

void link_states(const Context& context, Findings& findings) {
    std::vector<Links> all;
    for (auto const device : context.ids()) {
        all.push_back(links_of(context, device));
    }
    Judged judged;
    auto const devices = context.ids();
    for (std::size_t at = 0; at < devices.size(); ++at) {
        auto const device = devices[at];
        auto const& own = all[at];
        // A fabric that never came up explains that all its links are down; partitions refuse the question.
        auto const explained = own.up == 0 && (unfinished(context, device) || findings.has("fabric-manager-missing") ||
                                               findings.has("fabric-manager-version"));
        auto const* const managed = context.managed(device);
        auto const partitioned =
            context.machine.device(device)->mig.value_or(false) || (managed != nullptr && managed->mig.value_or(false));
        if (!explained && !partitioned) {
            judge_links(context, device, own, all, judged);
        }
    }
    if (!judged.inactive.empty()) {
        findings.add("nvlink-inactive", std::move(judged.inactive_pairs), std::move(judged.inactive),
                     "reset the device or reboot; reseat the bridge or module; if links stay down, have it serviced");
    }
    if (!judged.absent.empty()) {
        findings.add("nvlink-absent", std::move(judged.absent_pairs), std::move(judged.absent),
                     "none: no bridge is fitted");
    }
}

std::string switch_text(const std::vector<std::string>& switches) {
    return fmt::format("/sys/bus/pci/devices: {} NVSwitches (class 0x0680 of 0x10de), the first {}", switches.size(),
                       switches.front());
}

void manager(const Context& context, Findings& findings) {
    auto const& process = context.facts.process;
    auto const switches = context.switches();
    auto const& managed = context.facts.nvml.devices;
    auto const up = [](const NvmlDevice& one) { return one.fabric_state == 3 && one.fabric_status.value_or(0) == 0; };
    auto const completed = !managed.empty() && std::all_of(managed.begin(), managed.end(), up);
    auto const refused = process.init_code == not_initialised;
    auto const& driver = !context.facts.nvml.driver_version.empty() ? context.facts.nvml.driver_version
                                                                    : context.facts.host.module_version;
    std::vector<std::string> start;
    if (refused) {
        start.push_back(fmt::format("initialisation: code {} ({})", not_initialised, code_text(not_initialised)));
    }
    if (!process.fabric_manager_version.empty() && !driver.empty() && process.fabric_manager_version != driver &&
        process.fabric_manager != false) {
        start.push_back(fmt::format("versions: fabric manager {}, driver {}", process.fabric_manager_version, driver));
        findings.add("fabric-manager-version", context.all(), std::move(start),
                     fmt::format("install the fabric manager of version {} and start it", driver));
        return;
    }
    if (!switches.empty() && process.fabric_manager == false && !completed) {
        start.push_back(switch_text(switches));
        start.emplace_back("/proc/*/comm: no nv-fabricmanager");
        findings.add("fabric-manager-missing", context.all(), std::move(start),
                     fmt::format("install the fabric manager of the driver's version{} and start it",
                                 driver.empty() ? "" : " (" + driver + ")"));
    }
}

void provisioning(const Context& context, Findings& findings) {
    if (findings.has("fabric-manager-missing") || findings.has("fabric-manager-version")) {
        return;
    }
    Pairs pairs;
    std::vector<std::string> evidence;
    for (auto const device : context.ids()) {
        if (!unfinished(context, device)) {
            continue;
        }
        auto const& managed = *context.managed(device);
        evidence.push_back(fmt::format(
            "management library: fabric of {}: state {} ({}){}", context.label(device), *managed.fabric_state,
            *managed.fabric_state == 1   ? "not started"
            : *managed.fabric_state == 2 ? "in progress"
                                         : "completed",
            managed.fabric_status ? fmt::format(", status {}", *managed.fabric_status) : ""));
        auto const touched = Context::touching(device, context.all());
        pairs.insert(pairs.end(), touched.begin(), touched.end());
    }
    if (evidence.empty()) {
        return;
    }
    auto const hidden = context.switches().empty();
    evidence.push_back(hidden ? "/sys/bus/pci/devices: no NVSwitch on this system's buses"
                              : switch_text(context.switches()));
    findings.add(
        "fabric-unprovisioned", std::move(pairs), std::move(evidence),
        hidden ? "the fabric manager of the host, or the operator, must make the partition; from here it cannot be "
                 "done. Plain paths meanwhile"
               : "look at the fabric manager's own log, then restart it. Plain paths meanwhile");
}

}  // namespace

void fabric(const Context& context, Findings& findings) {
    manager(context, findings);
    provisioning(context, findings);
    link_states(context, findings);
}

}  // namespace peerlane::causes
