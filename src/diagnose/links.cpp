/// Causes in the PCI Express links of the devices.

#include <algorithm>

#include <fmt/format.h>

#include "diagnose/context.hpp"

namespace peerlane::causes {
namespace {

std::optional<int> least(std::optional<int> a, std::optional<int> b) {
    return a && b ? std::min(*a, *b) : a ? a : b;
}

std::string text(const PciRate& rate) {
    return fmt::format("generation {} x{}", rate.generation ? fmt::to_string(*rate.generation) : "?",
                       rate.width ? fmt::to_string(*rate.width) : "?");
}

/// What both ends can. Empty unless something tells about the far end: a narrow slot is no fault of the link.
PciRate both_ends(const Context& context, int device) {
    auto const* const own = context.function(device);
    auto const* const port = context.port_above(device);
    auto const* const managed = context.managed(device);
    PciRate most;
    if (port != nullptr && !context.guest()) {  // the ports of a guest are invented
        most = port->most;
    }
    if (managed != nullptr) {  // the library's "maximum" is that of device and slot together
        most.generation = least(most.generation, managed->most.generation);
        most.width = least(most.width, managed->most.width);
    }
    if (own != nullptr) {
        most.generation = most.generation ? least(most.generation, own->most.generation) : std::nullopt;
        most.width = most.width ? least(most.width, own->most.width) : std::nullopt;
    }
    return most;
}

const PciRate* under_load(const Context& context, int device) {
    auto const& loaded = context.facts.run.loaded;
    auto const found = std::find_if(loaded.rbegin(), loaded.rend(),
                                    [&](const LoadedLink& one) { return one.bus == context.bus(device); });
    return found == loaded.rend() || context.bus(device).empty() ? nullptr : &found->rate;
}

void downgraded(const Context& context, Findings& findings) {
    Pairs pairs;
    std::vector<std::string> evidence;
    for (auto const device : context.ids()) {
        auto const most = both_ends(context, device);
        auto const* const own = context.function(device);
        auto const* const managed = context.managed(device);
        auto const* const loaded = under_load(context, device);
        PciRate now;
        if (loaded != nullptr) {
            now = *loaded;
        } else {
            // An idle link gives up speed but no lanes.
            now.width = own != nullptr && own->current.width ? own->current.width
                        : managed != nullptr                 ? managed->current.width
                                                             : std::nullopt;
        }
        auto const slower = now.generation && most.generation && *now.generation < *most.generation;
        auto const narrower = now.width && most.width && *now.width < *most.width;
        if (!slower && !narrower) {
            continue;
        }
        evidence.push_back(fmt::format(
            "{}: {} {}, both ends can {}",
            context.bus(device).empty() ? context.label(device) : sysfs(context.bus(device), "current_link_*"),
            text(now), loaded != nullptr ? "while a copy ran" : "(lanes, idle)", text(most)));
        auto const touched = Context::touching(device, context.all());
        pairs.insert(pairs.end(), touched.begin(), touched.end());
    }
    if (!evidence.empty()) {
        findings.add("link-downgraded", std::move(pairs), std::move(evidence),
                     "reseat the card, try it without riser or in another slot, look at the slot's setting in the "
                     "firmware");
    }
}

void narrow_slots(const Context& context, Findings& findings) {
    if (context.guest()) {
        return;
    }
    Pairs pairs;
    std::vector<std::string> evidence;
    for (auto const device : context.ids()) {
        auto const* const own = context.function(device);
        auto const* const port = context.port_above(device);
        if (own == nullptr || port == nullptr || !own->most.width || !port->most.width ||
            *port->most.width >= *own->most.width) {
            continue;
        }
        evidence.push_back(fmt::format("{}: {} lanes, {}: {}", sysfs(port->bus, "max_link_width"), *port->most.width,
                                       sysfs(own->bus, "max_link_width"), *own->most.width));
        auto const touched = Context::touching(device, context.all());
        pairs.insert(pairs.end(), touched.begin(), touched.end());
    }
    if (!evidence.empty()) {
        findings.add("slot-narrow", std::move(pairs), std::move(evidence),
                     "another slot, if the machine has a wider one");
    }
}

const PciErrors* of(const std::vector<PciErrors>& all, const std::string& bus) {
    auto const found = std::find_if(all.begin(), all.end(), [&](const PciErrors& one) { return one.bus == bus; });
    return found == all.end() ? nullptr : &*found;
}

/// "correctable 3 to 17", "" when it did not move or was not read twice.
void add_moved(std::string& text, const char* kind, std::optional<std::uint64_t> before,
               std::optional<std::uint64_t> after) {
    if (before && after && *after > *before) {
        text += fmt::format("{} {} {} to {}", text.empty() ? "" : ",", kind, *before, *after);
    }
}

void counters(const Context& context, Findings& findings) {
    Pairs pairs;
    std::vector<std::string> evidence;
    for (auto const& after : context.facts.run.errors_after) {
        auto const* const before = of(context.facts.run.errors_before, after.bus);
        std::string moved;
        if (before != nullptr) {
            add_moved(moved, "correctable", before->correctable, after.correctable);
            add_moved(moved, "nonfatal", before->nonfatal, after.nonfatal);
            add_moved(moved, "fatal", before->fatal, after.fatal);
        }
        if (moved.empty()) {
            continue;
        }
        bool ours = false;
        for (auto const device : context.ids()) {
            auto const* const own = context.function(device);
            auto const above =
                own != nullptr && std::find(own->above.begin(), own->above.end(), after.bus) != own->above.end();
            if (above || context.bus(device) == after.bus) {
                ours = true;
                auto const touched = Context::touching(device, context.all());
                pairs.insert(pairs.end(), touched.begin(), touched.end());
            }
        }
        if (ours) {
            evidence.push_back(fmt::format("{}:{} during the run", sysfs(after.bus, "aer_dev_*"), moved));
        }
    }
    if (!evidence.empty()) {
        findings.add("pcie-errors", std::move(pairs), std::move(evidence),
                     "look at cable, riser and slot; switch the link's power saving (ASPM) off and run again");
    }
}

}  // namespace

void links(const Context& context, Findings& findings) {
    downgraded(context, findings);
    narrow_slots(context, findings);
    counters(context, findings);
}

}  // namespace peerlane::causes
