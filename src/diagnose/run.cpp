/// Causes that the run itself and former runs tell.

#include <algorithm>

#include <fmt/format.h>

#include "diagnose/context.hpp"

namespace peerlane::causes {
namespace {

void wedge(const Context& context, Findings& findings) {
    constexpr int busy = 95;
    for (auto const device : context.ids()) {
        std::vector<std::string> evidence;
        bool idle = false, used = false, nobody = false;
        for (auto const& read : context.facts.run.activity) {
            if (read.bus != context.bus(device)) {
                continue;
            }
            idle = idle || read.busy_percent < busy;
            used = used || read.processes.value_or(0) > 0;
            nobody = nobody || read.processes == 0;
            evidence.push_back(fmt::format(
                "management library: {} {} % busy{}, {} processes, {:.3g} s after the test", context.label(device),
                read.busy_percent, read.watts ? fmt::format(", {:.4g} W", *read.watts) : "",
                read.processes ? fmt::to_string(*read.processes) : "unknown", read.seconds_after));
        }
        // One read may still see the last of our own work.
        if (evidence.size() >= 2 && !idle && !used && nobody) {
            findings.add("wedge-after-test", Context::touching(device, context.all()), std::move(evidence),
                         "reset the device or reboot; nothing more is started on it before");
        }
    }
}

void interrupted(const Context& context, Findings& findings) {
    auto const& open = context.facts.run.open_step;
    if (!open || open->process_alive.value_or(false)) {
        return;
    }
    std::vector<std::string> evidence{fmt::format("{}: begun and never closed: {}", open->file, open->step)};
    if (!open->boot_id.empty() && !context.facts.host.boot_id.empty()) {
        evidence.push_back(
            fmt::format("/proc/sys/kernel/random/boot_id: {}", open->boot_id == context.facts.host.boot_id
                                                                   ? "the same boot, its process is gone"
                                                                   : "another boot: the host was reset"));
    } else if (open->process_alive) {
        evidence.emplace_back("its process is gone");
    }
    Pairs pairs;
    if (open->accessor >= 0 && open->owner >= 0) {
        pairs.emplace_back(open->accessor, open->owner);
    }
    findings.add("probe-interrupted", std::move(pairs), std::move(evidence),
                 "that step is not repeated; --repeat-interrupted repeats it, and may take the host down again");
}

void changed(const Context& context, Findings& findings) {
    auto const& key = context.facts.run.key;
    if (!key) {
        return;
    }
    std::vector<std::string> evidence;
    Pairs pairs;
    for (auto const& then : key->then) {
        auto const now =
            std::find_if(key->now.begin(), key->now.end(), [&](const Setting& one) { return one.name == then.name; });
        if (now == key->now.end() || now->value == then.value) {
            continue;
        }
        evidence.push_back(fmt::format("{}: {} when proven, {} now", then.name, then.value, now->value));
        auto const colon = then.name.find(':');
        auto const device = colon == std::string::npos ? -1 : context.device_at(then.name.substr(colon + 1));
        auto const touched = device < 0 ? context.all() : Context::touching(device, context.all());
        pairs.insert(pairs.end(), touched.begin(), touched.end());
    }
    if (evidence.empty()) {
        return;
    }
    if (key->in_use) {
        findings.add("path-changed", std::move(pairs), std::move(evidence),
                     "the pairs concerned go through the host until they are proven again");
    } else {
        findings.add("verdict-outdated", std::move(pairs), std::move(evidence), "proven again");
    }
}

}  // namespace

void run(const Context& context, Findings& findings) {
    wedge(context, findings);
    interrupted(context, findings);
    changed(context, findings);
}

}  // namespace peerlane::causes
