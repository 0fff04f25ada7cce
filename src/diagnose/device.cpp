/// Causes in the devices themselves.

#include <algorithm>

#include <fmt/format.h>

#include <peerlane/units.hpp>

#include "diagnose/context.hpp"

namespace peerlane::causes {
namespace {

Pairs owned_by(int owner, const Pairs& among) {
    Pairs found;
    std::copy_if(among.begin(), among.end(), std::back_inserter(found),
                 [&](const DirectedPair& pair) { return pair.second == owner; });
    return found;
}

void display(const Context& context, Findings& findings) {
    Pairs pairs;
    std::vector<std::string> evidence;
    for (auto const device : context.ids()) {
        // Peer traffic over a fabric does not pass the window.
        auto const reached = owned_by(device, context.over_pcie());
        if (reached.empty()) {
            continue;
        }
        std::vector<std::string> own;
        auto const* const function = context.function(device);
        auto const* const managed = context.managed(device);
        if (function != nullptr && function->boot_display.value_or(false)) {
            own.push_back(fmt::format("{}: 1", sysfs(function->bus, "boot_vga")));
        }
        if (managed != nullptr && managed->display_active.value_or(false)) {
            own.push_back(fmt::format("management library: display active on {}", context.label(device)));
        }
        if (own.empty()) {
            continue;
        }
        if (managed != nullptr && managed->window_used_bytes) {
            own.push_back(fmt::format("management library: {} of the window of {} used at rest",
                                      size_text(*managed->window_used_bytes), context.label(device)));
        }
        evidence.insert(evidence.end(), own.begin(), own.end());
        pairs.insert(pairs.end(), reached.begin(), reached.end());
    }
    if (!evidence.empty()) {
        findings.add("display-active-bar1", std::move(pairs), std::move(evidence),
                     "run without a screen and console on this device, or move them to another");
    }
}

void windows(const Context& context, Findings& findings) {
    Pairs pairs;
    std::vector<std::string> evidence;
    for (auto const device : context.ids()) {
        auto const* const managed = context.managed(device);
        auto const* const function = context.function(device);
        auto const memory = managed != nullptr && managed->memory_bytes ? managed->memory_bytes
                                                                        : context.machine.device(device)->memory_bytes;
        auto window = managed != nullptr ? managed->window_bytes : std::nullopt;
        auto const from_library = window.has_value();
        if (!window && function != nullptr) {
            window = function->largest_window_bytes;
        }
        // Memory that the host sees as a node of its own is not reached through a window.
        if (!memory || !window || context.machine.device(device)->memory_numa) {
            continue;
        }
        // What firmware and error correction keep back makes the two differ by a little.
        if (*window >= *memory - *memory / 16) {
            continue;
        }
        auto reached = owned_by(device, context.over_pcie());
        if (reached.empty()) {
            continue;
        }
        evidence.push_back(fmt::format(
            "{}: window {}, memory {}",
            from_library ? "management library: BAR1 of " + context.label(device) : sysfs(function->bus, "resource"),
            size_text(*window), size_text(*memory)));
        pairs.insert(pairs.end(), reached.begin(), reached.end());
    }
    if (!evidence.empty()) {
        findings.add("small-bar1", std::move(pairs), std::move(evidence),
                     context.guest() ? "the host sets the size of the window"
                                     : "switch Resizable BAR and above-4G decoding on in the firmware");
    }
}

void partitions(const Context& context, Findings& findings) {
    Pairs pairs;
    std::vector<std::string> evidence;
    for (auto const device : context.ids()) {
        auto const* const managed = context.managed(device);
        auto const& told = *context.machine.device(device);
        auto const asked = managed != nullptr && managed->mig.value_or(false);
        if (!asked && !told.mig.value_or(false)) {
            continue;
        }
        auto const instances = asked && managed->mig_instances > 0 ? managed->mig_instances : told.mig_instances;
        evidence.push_back(fmt::format("{}: {} is partitioned, {} instances",
                                       asked && !context.facts.simulated ? "management library" : "device list",
                                       context.label(device), instances));
        auto const touched = Context::touching(device, context.all());
        pairs.insert(pairs.end(), touched.begin(), touched.end());
    }
    if (!evidence.empty()) {
        findings.add(
            "mig-enabled", std::move(pairs), std::move(evidence),
            "by design: instances have no peers, not even on one card. Switch MIG off, or go through the host");
    }
}

void models(const Context& context, Findings& findings) {
    auto const describe = [&](int device) {
        auto const* const managed = context.managed(device);
        auto const& told = *context.machine.device(device);
        auto const capability =
            managed != nullptr && managed->compute_capability ? managed->compute_capability : told.compute_capability;
        return std::pair(context.model(device), capability);
    };
    Pairs pairs;
    for (auto const& pair : context.all()) {
        auto const a = describe(pair.first);
        auto const b = describe(pair.second);
        auto const names = !a.first.empty() && !b.first.empty() && a.first != b.first;
        auto const capabilities = a.second && b.second && a.second != b.second;
        if (names || capabilities) {
            pairs.push_back(pair);
        }
    }
    if (pairs.empty()) {
        return;
    }
    std::vector<std::string> evidence;
    for (auto const device : context.ids()) {
        auto const [name, capability] = describe(device);
        if (!name.empty() || capability) {
            evidence.push_back(fmt::format(
                "{}: {}{}", context.label(device), name.empty() ? "no name" : name,
                capability ? fmt::format(", compute capability {}.{}", *capability / 10, *capability % 10) : ""));
        }
    }
    findings.add("mixed-models", std::move(pairs), std::move(evidence),
                 "choices are made for each pair; no path that all have in common is promised");
}

}  // namespace

void device(const Context& context, Findings& findings) {
    display(context, findings);
    windows(context, findings);
    partitions(context, findings);
    models(context, findings);
}

}  // namespace peerlane::causes
