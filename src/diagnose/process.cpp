/// Causes around the process: what it sees, shares and was told.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "diagnose/context.hpp"
#include "machine/read/text.hpp"

namespace peerlane::causes {
namespace {

const Setting* setting(const std::vector<Setting>& all, std::string_view name) {
    auto const found = std::find_if(all.begin(), all.end(), [&](const Setting& one) { return one.name == name; });
    return found == all.end() ? nullptr : &*found;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (auto const& word : words) {
        text += (text.empty() ? "" : ", ") + word;
    }
    return text.empty() ? "none" : text;
}

/// The management library's order, of those devices that the runtime shows.
std::vector<std::string> managed_order(const Context& context) {
    std::vector<std::pair<int, std::string>> order;
    auto const& shown = context.facts.process.runtime_order;
    for (auto const& device : context.facts.nvml.devices) {
        if (std::find(shown.begin(), shown.end(), device.bus) != shown.end()) {
            order.emplace_back(device.index, device.bus);
        }
    }
    std::sort(order.begin(), order.end());
    std::vector<std::string> buses;
    for (auto& one : order) {
        buses.push_back(std::move(one.second));
    }
    return buses;
}

void order(const Context& context, Findings& findings) {
    auto const& runtime = context.facts.process.runtime_order;
    auto const managed = managed_order(context);
    if (managed.size() != runtime.size() || managed == runtime) {
        return;
    }
    auto const* const chosen = setting(context.facts.process.settings, "CUDA_DEVICE_ORDER");
    findings.add("visible-devices-order", {},
                 {"management library: " + joined(managed), "runtime: " + joined(runtime),
                  chosen == nullptr ? "CUDA_DEVICE_ORDER: not set (the runtime puts the fastest first)"
                                    : fmt::format("CUDA_DEVICE_ORDER: {} ({})", chosen->value, chosen->origin)},
                 "join devices by bus address or UUID, never by number; CUDA_DEVICE_ORDER=PCI_BUS_ID makes both alike");
}

/// How many devices the value of CUDA_VISIBLE_DEVICES shows at most: the list ends at the first word that names none.
std::size_t shown_by(const std::string& value) {
    std::size_t shown = 0;
    for (auto const word : read::cells(value, ',')) {
        auto const names =
            read::small_number(word).has_value() || word.rfind("GPU-", 0) == 0 || word.rfind("MIG-", 0) == 0;
        if (!names) {
            break;
        }
        ++shown;
    }
    return shown;
}

std::string as_read(const Setting* one, const char* name, bool in_force, const char* deed) {
    if (one == nullptr) {
        return fmt::format("{}: not set", name);
    }
    return fmt::format("{}={} ({}): {}", name, one->value.empty() ? "\"\"" : one->value, one->origin,
                       in_force ? deed : "hides nothing here");
}

void subset(const Context& context, Findings& findings) {
    auto const& process = context.facts.process;
    auto const* const cuda = setting(process.settings, "CUDA_VISIBLE_DEVICES");
    auto const* const nvidia = setting(process.settings, "NVIDIA_VISIBLE_DEVICES");
    auto const managed = context.facts.nvml.devices.size();
    auto const there = managed > 0 ? managed : static_cast<std::size_t>(context.devices());
    auto const by_runtime = !process.runtime_order.empty() && process.runtime_order.size() < there;
    auto const by_variable = cuda != nullptr && shown_by(cuda->value) < there;
    auto const by_container = managed > 0 && process.driver_gpus.size() > managed;
    std::vector<std::string> evidence;
    Pairs pairs;
    if (by_runtime || by_variable || by_container) {
        evidence.push_back(as_read(cuda, "CUDA_VISIBLE_DEVICES", by_variable || by_runtime,
                                   "in force, the runtime hides the others from this process"));
        evidence.push_back(as_read(nvidia, "NVIDIA_VISIBLE_DEVICES", by_container,
                                   "in force, the container runtime gave it only these"));
        if (by_container) {
            evidence.push_back(fmt::format("/proc/driver/nvidia/gpus: {} devices on the host, {} in this process",
                                           process.driver_gpus.size(), managed));
        }
        if (by_runtime) {
            evidence.push_back(fmt::format("runtime: {} of {} devices", process.runtime_order.size(), there));
            for (auto const& pair : context.all()) {
                auto const hidden = [&](int device) {
                    return std::find(process.runtime_order.begin(), process.runtime_order.end(), context.bus(device)) ==
                           process.runtime_order.end();
                };
                if (hidden(pair.first) || hidden(pair.second)) {
                    pairs.push_back(pair);
                }
            }
        }
    }
    for (auto const& other : process.neighbours) {
        if (!other.visible || other.same_host == false) {
            continue;
        }
        auto const& own = process.runtime_order;
        auto const apart = std::none_of(own.begin(), own.end(), [&](const std::string& bus) {
            return std::find(other.visible->begin(), other.visible->end(), bus) != other.visible->end();
        });
        if (!own.empty() && apart) {
            evidence.push_back(fmt::format("process {} sees {}, this one {}{}", other.name, joined(*other.visible),
                                           joined(own),
                                           other.import_code && *other.import_code != 0
                                               ? fmt::format("; opening its handle: code {} ({})", *other.import_code,
                                                             code_text(*other.import_code))
                                               : ""));
        }
    }
    if (!evidence.empty()) {
        findings.add("visible-devices-subset", std::move(pairs), std::move(evidence),
                     "show both devices to one process; what it cannot see it cannot map, data goes through the host");
    }
}

void namespaces(const Context& context, Findings& findings) {
    auto const& process = context.facts.process;
    std::vector<std::string> evidence;
    for (auto const& other : process.neighbours) {
        if (other.same_host == false) {
            continue;
        }
        for (auto const* name : {"ipc", "pid", "mnt"}) {
            auto const* const own = setting(process.namespaces, name);
            auto const* const theirs = setting(other.namespaces, name);
            // Another view of the file systems matters only where /dev/shm is another one.
            auto const matters =
                std::string_view(name) != "mnt" ||
                (!process.shm_device.empty() && !other.shm_device.empty() && process.shm_device != other.shm_device);
            if (own != nullptr && theirs != nullptr && own->value != theirs->value && matters) {
                evidence.push_back(
                    fmt::format("/proc/{}/ns/{}: {}, own {}", other.name, name, theirs->value, own->value));
            }
        }
        if (!process.shm_device.empty() && !other.shm_device.empty()) {
            auto const same = process.shm_device == other.shm_device;
            if (!evidence.empty() || !same) {
                evidence.push_back(fmt::format("/dev/shm: device {} there, {} here: {}", other.shm_device,
                                               process.shm_device, same ? "shared" : "not shared"));
            }
        }
    }
    if (!evidence.empty()) {
        findings.add("namespace-split", {}, std::move(evidence),
                     "start both with the same ipc and pid namespace, or mount one /dev/shm into both");
    }
}

void shared_memory(const Context& context, Findings& findings) {
    constexpr std::uint64_t each = 64ULL << 20U;
    auto const& process = context.facts.process;
    auto const need = each * static_cast<std::uint64_t>(std::max(context.devices(), 1));
    if (!process.shm_bytes || context.devices() < 2) {
        return;
    }
    Pairs pairs;
    for (auto const& pair : context.all()) {
        auto const* const route = context.verdicts.route(pair.first, pair.second);
        auto const staged =
            route != nullptr ? route->use != RouteVerdict::Use::direct : !context.claim(pair).value_or(false);
        if (staged) {
            pairs.push_back(pair);
        }
    }
    auto const free = process.shm_free_bytes.value_or(*process.shm_bytes);
    if (pairs.empty() || (*process.shm_bytes >= need && free >= need)) {
        return;
    }
    findings.add(
        "shm-small", std::move(pairs),
        {fmt::format("/dev/shm: {} in all, {} free", size_text(*process.shm_bytes), size_text(free)),
         fmt::format("needed: {} ({} for each of {} devices) where processes stage for each other", size_text(need),
                     size_text(each), context.devices())},
        fmt::format("give the container at least {} (--shm-size), or mount the host's /dev/shm", size_text(need)));
}

void channels(const Context& context, Findings& findings) {
    auto const& process = context.facts.process;
    if (process.fabric_handle_code.value_or(0) == 0 || process.imex_channels.value_or(0) > 0) {
        return;
    }
    std::vector<std::string> evidence{fmt::format("asking for a fabric handle: code {} ({})",
                                                  *process.fabric_handle_code, code_text(*process.fabric_handle_code))};
    if (process.imex_channels) {
        evidence.emplace_back("/dev/nvidia-caps-imex-channels: no channel");
    }
    findings.add(
        "imex-missing", {}, std::move(evidence),
        "let the administrator make a channel; until then handles are file descriptors, which do not reach other "
        "hosts");
}

/// What a value says where it is a switch: presence alone says nothing.
std::optional<bool> on_or_off(const std::string& value) {
    auto const word = read::lower(read::trimmed(value));
    for (auto const* on : {"1", "true", "yes", "on", "y"}) {
        if (word == on) {
            return true;
        }
    }
    for (auto const* off : {"0", "false", "no", "off", "n", ""}) {
        if (word == off) {
            return false;
        }
    }
    return std::nullopt;
}

std::string meaning(const Setting& one) {
    auto const state = on_or_off(one.value);
    auto const has = [&](const char* word) { return one.name.find(word) != std::string::npos; };
    if (has("DISABLE")) {
        return !state ? "not a switch's value" : *state ? "forbids the path" : "forbids nothing";
    }
    if (has("LEVEL")) {
        return "limits how far apart peers may be";
    }
    if (one.name == "NVreg_RegistryDwords" || one.name == "RegistryDwords") {
        return "forces what the module would decide";
    }
    if (one.name == "NvLinkDisable") {
        return "switches NVLink off";
    }
    return !state ? "a value" : *state ? "on" : "off";
}

bool forces(const std::string& name, const std::string& value) {
    auto const upper = [&](const char* word) { return name.find(word) != std::string::npos; };
    if (name == "RegistryDwords" || name == "NVreg_RegistryDwords") {
        auto const said = read::lower(value);
        return said.find("p2p") != std::string::npos || said.find("peer") != std::string::npos ||
               said.find("bar1") != std::string::npos;
    }
    if (name == "NvLinkDisable" || name == "PeerMappingOverride" || name == "GrdmaPciTopoCheckOverride") {
        return on_or_off(value).value_or(false);  // parameters of the module that are always there
    }
    return upper("P2P") || upper("PEER") || name == "NCCL_SHM_DISABLE" || name == "NCCL_NVLS_ENABLE" ||
           name == "NCCL_CUMEM_ENABLE" || name == "NCCL_TOPO_FILE" || name == "NCCL_GRAPH_FILE" ||
           name == "CUDA_DISABLE_PEER" || name == "NVreg_EnableResizableBar";
}

void forced(const Context& context, Findings& findings) {
    std::vector<std::string> evidence;
    for (auto const& one : context.facts.process.settings) {
        if (forces(one.name, one.value)) {
            evidence.push_back(fmt::format("{}={} ({}): {}", one.name, one.value, one.origin, meaning(one)));
        }
    }
    for (auto const& [name, value] : context.facts.host.module_parameters) {
        if (forces(name, value)) {
            Setting const one{name, value, "/proc/driver/nvidia/params"};
            evidence.push_back(fmt::format("{}={} ({}): {}", name, value, one.origin, meaning(one)));
        }
    }
    if (!evidence.empty()) {
        findings.add("forced-setting", {}, std::move(evidence),
                     "none: what is used here is what was proven, whatever a setting says");
    }
}

}  // namespace

void process(const Context& context, Findings& findings) {
    order(context, findings);
    subset(context, findings);
    namespaces(context, findings);
    shared_memory(context, findings);
    channels(context, findings);
    forced(context, findings);
}

}  // namespace peerlane::causes
