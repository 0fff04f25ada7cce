#include "diagnose/context.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "machine/read/text.hpp"

namespace peerlane::causes {
namespace {

bool is_accelerator(const PciFunction& function) {
    auto const base = function.class_code.value_or(0) >> 16U;
    return base == 0x03 || base == 0x12;
}

/// A host whose firmware names a hypervisor. Vendors of clouds also sell whole machines, so their names tell nothing.
bool hypervisor_vendor(const HostFacts& host) {
    constexpr std::array makers{"QEMU", "KVM", "VMware", "innotek", "Xen", "Parallels", "BHYVE", "OpenStack"};
    return std::any_of(makers.begin(), makers.end(),
                       [&](const char* maker) { return host.sys_vendor.find(maker) != std::string::npos; }) ||
           (host.sys_vendor == "Microsoft Corporation" && host.product_name == "Virtual Machine");
}

bool is_guest(const Facts& facts) {
    auto const& host = facts.host;
    auto const passed = std::any_of(facts.nvml.devices.begin(), facts.nvml.devices.end(), [](const NvmlDevice& one) {
        return one.virtualization == 1 || one.virtualization == 2;
    });
    // The first domain of Xen has a hypervisor, but the buses of the machine itself.
    return host.hypervisor_flag.value_or(false) || passed || hypervisor_vendor(host) ||
           (!host.hypervisor_type.empty() && !host.hypervisor_flag.has_value());
}

}  // namespace

Context::Context(const Machine& machine_, const Facts& facts_, const Verdicts& verdicts_)
    : machine(machine_), facts(facts_), verdicts(verdicts_), guest_(is_guest(facts_)) {
    std::vector<const PciFunction*> accelerators;
    for (auto const& one : facts.host.pci) {
        if (is_accelerator(one) && one.vendor != 0x1a03U && one.vendor != 0x102bU) {  // consoles of management chips
            accelerators.push_back(&one);
        }
    }
    for (std::size_t at = 0; at < machine.devices.size(); ++at) {
        auto const& device = machine.devices[at];
        auto& bus_of = buses_[device.id];
        auto const& managed = facts.nvml.devices;
        auto const same =
            std::find_if(managed.begin(), managed.end(), [&](const NvmlDevice& one) { return one.index == device.id; });
        if (device.bus) {
            bus_of = *device.bus;
        } else if (same != managed.end()) {
            bus_of = same->bus;
        } else {
            bus_of = accelerators.size() == machine.devices.size() ? accelerators[at]->bus : std::string();
        }
    }
    for (auto const& pair : machine.pairs) {
        all_.emplace_back(pair.accessor, pair.owner);
        if (!over_fabric(all_.back()) && !refused_by_table(all_.back())) {
            over_pcie_.push_back(all_.back());
        }
    }
    for (auto const& pair : verdicts.pairs) {
        auto const claimed = pair[Check::claim].result == Result::ok;
        for (auto const check : all_checks) {
            if (failed(pair[check]) || (claimed && check != Check::atomic && pair[check].result == Result::no)) {
                not_right_.insert({pair.accessor, pair.owner});
            }
        }
    }
    for (auto const& route : verdicts.routes) {
        if (route.use != RouteVerdict::Use::direct && route.direct_gbs) {
            not_right_.insert({route.source, route.destination});
        }
    }
}

std::vector<int> Context::ids() const {
    std::vector<int> ids;
    for (auto const& device : machine.devices) {
        ids.push_back(device.id);
    }
    return ids;
}

const std::string& Context::bus(int device) const {
    static const std::string unknown;
    auto const found = buses_.find(device);
    return found == buses_.end() ? unknown : found->second;
}

int Context::device_at(const std::string& bus) const {
    auto const whole = [](const std::string& text) { return text.find('.') == std::string::npos ? text + ".0" : text; };
    for (auto const device : ids()) {
        if (!this->bus(device).empty() && whole(this->bus(device)) == whole(bus)) {
            return device;
        }
    }
    return -1;
}

const PciFunction* Context::function(int device) const {
    return bus(device).empty() ? nullptr : facts.host.function(bus(device));
}

const NvmlDevice* Context::managed(int device) const {
    return bus(device).empty() ? nullptr : facts.nvml.device(bus(device));
}

const PciFunction* Context::port_above(int device) const {
    auto const* const own = function(device);
    return own == nullptr || own->above.empty() ? nullptr : facts.host.function(own->above.front());
}

std::string Context::model(int device) const {
    auto const* const known = managed(device);
    return known != nullptr && !known->name.empty() ? known->name : machine.device(device)->model.value_or("");
}

std::string Context::label(int device) const {
    auto const& own = machine.device(device)->bus;
    return own || !facts.simulated
               ? fmt::format("device {}{}", device, bus(device).empty() ? "" : " (" + bus(device) + ")")
               : fmt::format("device {}", device);
}

bool Context::over_fabric(DirectedPair pair) const {
    auto const* const known = machine.pair(pair.first, pair.second);
    return known != nullptr && (known->path == PathClass::nv || known->path == PathClass::xgmi);
}

Pairs Context::touching(int device, const Pairs& among) {
    Pairs found;
    std::copy_if(among.begin(), among.end(), std::back_inserter(found),
                 [&](const DirectedPair& pair) { return pair.first == device || pair.second == device; });
    return found;
}

std::optional<bool> Context::claim(DirectedPair pair) const {
    if (auto const* const proven = verdicts.pair(pair.first, pair.second)) {
        auto const result = (*proven)[Check::claim].result;
        if (result == Result::ok || result == Result::no) {
            return result == Result::ok;
        }
    }
    auto const* const told = machine.pair(pair.first, pair.second);
    return told == nullptr ? std::nullopt : told->claim;
}

Claims Context::words(DirectedPair pair) const {
    auto const* const asked = facts.nvml.pair(bus(pair.first), bus(pair.second));
    if (asked != nullptr && !(asked->claims == Claims{})) {
        return asked->claims;
    }
    auto const* const told = machine.pair(pair.first, pair.second);
    return told == nullptr ? Claims{} : told->claims;
}

bool Context::refused_by_table(DirectedPair pair) const {
    // The words are of the management library; a yes of the runtime, which is asked of the pair itself, outweighs them.
    if (claim(pair).value_or(false)) {
        return false;
    }
    auto const said = words(pair);
    for (auto const& word : {said.read, said.write}) {
        if (word && (*word == "CNS" || *word == "GNS" || *word == "NS")) {
            return true;
        }
    }
    return false;
}

bool Context::broken(DirectedPair pair) const {
    auto const* const proven = verdicts.pair(pair.first, pair.second);
    return proven != nullptr && (*proven)[Check::claim].result == Result::ok &&
           std::any_of(all_checks.begin(), all_checks.end(), [&](Check check) { return failed((*proven)[check]); });
}

bool Context::host_was_read() const {
    auto const& host = facts.host;
    return facts.simulated || !host.kernel_release.empty() || !host.boot_id.empty() || !host.cpu_model.empty();
}

std::vector<std::string> Context::switches() const {
    std::vector<std::string> found;
    for (auto const& function : facts.host.pci) {
        if (function.vendor == 0x10deU && function.class_code && *function.class_code >> 8U == 0x0680) {
            found.push_back(function.bus);
        }
    }
    return found;
}

bool Findings::has(std::string_view code) const {
    return std::any_of(all.begin(), all.end(), [&](const Finding& one) { return one.code == code; });
}

void Findings::add(std::string_view code, Pairs pairs, std::vector<std::string> evidence, std::string cure) {
    auto const codes = finding_codes();
    auto const known =
        std::find_if(codes.begin(), codes.end(), [&](const FindingCode& one) { return one.code == code; });
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    all.push_back({std::string(code), known == codes.end() ? Finding::Severity::warn : known->severity,
                   std::move(pairs), std::move(evidence), std::move(cure)});
}

bool failed(const CheckResult& check) {
    return check.result == Result::wrong || check.result == Result::hang || check.result == Result::error;
}

std::string list(const Pairs& pairs) {
    constexpr std::size_t most = 12;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, pairs.size()); ++i) {
        text += fmt::format("{}{}:{}", i == 0 ? "" : ", ", pairs[i].first, pairs[i].second);
    }
    return pairs.size() > most ? fmt::format("{} and {} more", text, pairs.size() - most) : text;
}

std::string sysfs(const std::string& bus, std::string_view name) {
    return fmt::format("/sys/bus/pci/devices/{}/{}", bus, name);
}

std::vector<std::string> addresses_in(const std::string& text) {
    auto const part = [](char letter) {
        return std::isxdigit(static_cast<unsigned char>(letter)) != 0 || letter == ':' || letter == '.';
    };
    std::vector<std::string> found;
    for (std::size_t at = 0; at < text.size();) {
        if (!part(text[at])) {
            ++at;
            continue;
        }
        auto end = at;
        while (end < text.size() && part(text[end])) {
            ++end;
        }
        auto word = text.substr(at, end - at);
        // "PCI:0000:01:00" of the driver's lines: the colon before the address and the one after it are not part of it.
        word.erase(0, word.find_first_not_of(":."));
        while (!word.empty() && (word.back() == ':' || word.back() == '.')) {
            word.pop_back();
        }
        if (std::count(word.begin(), word.end(), ':') >= 1) {
            if (word.find('.') == std::string::npos && std::count(word.begin(), word.end(), ':') == 2) {
                word += ".0";
            }
            if (auto bus = read::bus_address(word)) {
                found.push_back(std::move(*bus));
            }
        }
        at = end;
    }
    return found;
}

std::optional<double> median(std::vector<double> values) {
    if (values.empty()) {
        return std::nullopt;
    }
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace peerlane::causes
