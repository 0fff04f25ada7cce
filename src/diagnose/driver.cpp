/// Causes in the driver: missing, too old, altered, complaining, or not answering.

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include <peerlane/error.hpp>

#include "diagnose/context.hpp"

namespace peerlane::causes {
namespace {

const std::string& version(const Context& context) {
    return !context.facts.nvml.driver_version.empty() ? context.facts.nvml.driver_version
                                                      : context.facts.host.module_version;
}

std::optional<int> branch(const std::string& version) {
    int value = 0;
    auto const [rest, error] = std::from_chars(version.data(), version.data() + version.size(), value);
    return error == std::errc{} && rest != version.data() ? std::optional(value) : std::nullopt;
}

/// The oldest branch whose documentation lists the part.
struct Oldest {
    int compute_capability, branch;
    const char* report;
};
constexpr std::array oldest{
    Oldest{120, 570, "release notes of CUDA 12.8"}, Oldest{100, 570, "release notes of CUDA 12.8"},
    Oldest{90, 520, "release notes of CUDA 11.8"},  Oldest{89, 520, "release notes of CUDA 11.8"},
    Oldest{86, 455, "release notes of CUDA 11.1"},  Oldest{80, 450, "release notes of CUDA 11.0"},
};

void branches(const Context& context, Findings& findings) {
    auto const have = branch(version(context));
    if (!have) {
        return;
    }
    Pairs pairs;
    std::vector<std::string> evidence;
    int wanted = 0;
    for (auto const device : context.ids()) {
        auto const* const managed = context.managed(device);
        auto const capability = managed != nullptr ? managed->compute_capability : std::nullopt;
        auto const entry = std::find_if(oldest.begin(), oldest.end(),
                                        [&](const Oldest& one) { return capability == one.compute_capability; });
        if (entry == oldest.end() || *have >= entry->branch) {
            continue;
        }
        wanted = std::max(wanted, entry->branch);
        evidence.push_back(fmt::format(
            "/sys/module/nvidia/version: {}; {} has compute capability {}.{}, known from "
            "branch {} on ({})",
            version(context), context.label(device), *capability / 10, *capability % 10, entry->branch, entry->report));
        auto const touched = Context::touching(device, context.all());
        pairs.insert(pairs.end(), touched.begin(), touched.end());
    }
    if (!evidence.empty()) {
        findings.add("driver-branch", std::move(pairs), std::move(evidence),
                     fmt::format("install a driver of branch {} or later", wanted));
    }
}

bool plain_version(const std::string& text) {
    return std::all_of(text.begin(), text.end(),
                       [](char letter) { return (letter >= '0' && letter <= '9') || letter == '.'; });
}

/// A part whose stock driver gives no peer access over PCI Express.
bool consumer(const std::string& model) {
    return model.find("GeForce") != std::string::npos;
}

void module(const Context& context, Findings& findings) {
    auto const& host = context.facts.host;
    std::vector<std::string> evidence;
    if (!plain_version(host.module_version)) {
        evidence.push_back("/sys/module/nvidia/version: " + host.module_version);
    }
    if (host.module_signer && host.module_signer->find("NVIDIA") == std::string::npos) {
        evidence.push_back(host.module_signer->empty() ? "module file: nobody signed it"
                                                       : "module file: signed by " + *host.module_signer);
    }
    // Every module that is built on its machine may be unsigned. It is a cause only where it claims what the vendor's
    // does not, or where what it claims is not so.
    Pairs suspect;
    for (auto const& pair : context.all()) {
        auto const granted = context.claim(pair).value_or(false) && !context.over_fabric(pair) &&
                             consumer(context.model(pair.first)) && consumer(context.model(pair.second));
        if (granted || context.broken(pair)) {
            suspect.push_back(pair);
        }
    }
    auto const unsigned_module = host.module_taint.find('E') != std::string::npos;
    if (unsigned_module && (!suspect.empty() || !evidence.empty())) {
        evidence.push_back(fmt::format("/sys/module/nvidia/taint: {} (E: unsigned)", host.module_taint));
    }
    if (evidence.empty()) {
        return;
    }
    for (auto const& former : context.facts.run.former_runs) {
        evidence.push_back(fmt::format("{}: {}: the direct path was {}", former.file, former.when,
                                       former.direct ? "used" : "not used, data went through the host"));
    }
    findings.add("module-patched", suspect.empty() ? context.all() : suspect, std::move(evidence),
                 "trust nothing that is not proven here; compare with the vendor's module of the same version");
}

std::string number_text(int xid) {
    switch (xid) {
        case 13:
        case 31:
        case 43:
        case 45:
            return "a program's access or its end";
        case 48:
        case 63:
        case 64:
        case 94:
        case 95:
            return "memory errors";
        case 61:
        case 62:
        case 119:
        case 120:
            return "the device's own processor failed or did not answer";
        case 74:
        case 144:
        case 145:
        case 146:
        case 147:
        case 148:
        case 149:
        case 150:
            return "NVLink";
        case 79:
            return "the device fell off the bus";
        case 92:
            return "many corrected memory errors";
        default:
            return "see the vendor's list";
    }
}

void log(const Context& context, Findings& findings) {
    if (!context.facts.process.kernel_log) {
        return;
    }
    constexpr std::size_t most_lines = 12;
    Pairs pairs;
    std::vector<std::string> evidence;
    std::size_t more = 0;
    for (auto const& line : *context.facts.process.kernel_log) {
        auto const at = line.find("NVRM: Xid (PCI:");
        if (at == std::string::npos) {
            continue;
        }
        auto const close = line.find(')', at);
        auto const buses = addresses_in(line.substr(at, close == std::string::npos ? std::string::npos : close - at));
        auto const device = buses.empty() ? -1 : context.device_at(buses.front());
        if (device < 0) {
            continue;
        }
        auto const digits = close == std::string::npos ? close : line.find_first_of("0123456789", close);
        auto const number = digits == std::string::npos ? std::nullopt : branch(line.substr(digits));
        if (evidence.size() < most_lines) {
            evidence.push_back(fmt::format("kernel log: {}{}", line,
                                           number ? fmt::format(" [{}: {}]", *number, number_text(*number)) : ""));
        } else {
            ++more;
        }
        auto const touched = Context::touching(device, context.all());
        pairs.insert(pairs.end(), touched.begin(), touched.end());
    }
    if (evidence.empty()) {
        return;
    }
    if (more > 0) {
        evidence.push_back(fmt::format("kernel log: {} more", more));
    }
    findings.add(
        "xid-logged", std::move(pairs), std::move(evidence),
        "by number: 79 and 119 want a reset or reboot, 48, 63, 64, 94 and 95 a look at the memory, 74 and 144 to "
        "150 at links and bridges, 13, 31, 43 and 45 at the program");
}

std::string call_text(const Context& context, const NvmlCall& call) {
    auto const* const device = context.machine.device(call.device);
    return call.name + (device == nullptr ? "" : fmt::format(" of {}", context.label(call.device)));
}

void management(const Context& context, Findings& findings) {
    auto const& nvml = context.facts.nvml;
    if (nvml.state == NvmlFacts::State::hung) {
        findings.add("management-hang", {},
                     {nvml.hung ? fmt::format("management library: {} did not return in {:.3g} s",
                                              call_text(context, *nvml.hung), nvml.hung->seconds)
                                : "management library: " + nvml.reason},
                     "reboot when it can be; what was read before is used, nothing more is asked");
    }
    constexpr double slow_start_s = 60, slow_s = 10;  // without a kept state the first call starts every device
    Pairs pairs;
    std::vector<std::string> evidence;
    for (auto const& call : nvml.slow) {
        if (call.seconds < (call.name == "nvmlInit" ? slow_start_s : slow_s)) {
            continue;
        }
        evidence.push_back(fmt::format("management library: {} took {:.4g} s", call_text(context, call), call.seconds));
        if (context.machine.device(call.device) != nullptr) {
            auto const touched = Context::touching(call.device, context.all());
            pairs.insert(pairs.end(), touched.begin(), touched.end());
        }
    }
    if (!evidence.empty()) {
        findings.add("query-slow", std::move(pairs), std::move(evidence),
                     "look at the hardware that the query is about: a badly seated bridge or card answers late");
    }
}

std::string start_cure(int code) {
    switch (code) {
        case 100:
            return "no device answers: is it shown to this process, bound to the driver, powered?";
        case 802:
            return "the fabric of this system is not set up yet: look at its fabric manager";
        case 803:
            return "the driver's library and its kernel module differ in version: reboot, or install them anew";
        case 999:
            return "look at the kernel log; reload the module or reboot";
        default:
            return "look at the kernel log; install a driver that fits this kernel and these devices";
    }
}

bool has_nvidia(const HostFacts& host) {
    return std::any_of(host.pci.begin(), host.pci.end(), [](const PciFunction& one) {
        return one.vendor == 0x10deU && one.class_code.value_or(0) >> 16U == 0x03;
    });
}

void missing(const Context& context, Findings& findings) {
    auto const& host = context.facts.host;
    auto const& process = context.facts.process;
    std::vector<std::string> evidence;
    auto const code = process.init_code.value_or(0);
    // 802 has causes of its own; where none of them shows, the code is all there is.
    if (code != 0 &&
        !(code == 802 && (findings.has("fabric-manager-missing") || findings.has("fabric-manager-version") ||
                          findings.has("fabric-unprovisioned")))) {
        evidence.push_back(fmt::format("initialisation: code {} ({})", code, code_text(code)));
    }
    auto const no_module = host.module_version.empty() && host.driver_text.empty();
    if (!context.facts.simulated && context.host_was_read() && no_module && !host.wsl.value_or(false) &&
        context.facts.nvml.state != NvmlFacts::State::ok && (has_nvidia(host) || context.devices() == 0)) {
        evidence.emplace_back("/proc/driver/nvidia/version, /sys/module/nvidia: absent");
    }
    if (context.facts.nvml.state == NvmlFacts::State::failed && (has_nvidia(host) || context.devices() == 0)) {
        evidence.push_back("management library: " + context.facts.nvml.reason);
    }
    if (evidence.empty()) {
        return;
    }
    if (process.device_files && std::find(process.device_files->begin(), process.device_files->end(), "nvidiactl") ==
                                    process.device_files->end()) {
        evidence.emplace_back("/dev/nvidiactl: absent");
    }
    findings.add("no-driver", {}, std::move(evidence),
                 code != 0 ? start_cure(code)
                 : no_module && has_nvidia(host)
                     ? "install the vendor's driver for this kernel and load its module"
                     : "no NVIDIA device on this system's buses, or its driver is not loaded");
}

}  // namespace

void driver(const Context& context, Findings& findings) {
    branches(context, findings);
    module(context, findings);
    log(context, findings);
    management(context, findings);
    missing(context, findings);
}

}  // namespace peerlane::causes
