#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include <peerlane/merge.hpp>

#include "machine/join.hpp"
#include "machine/nominal.hpp"

namespace peerlane {
namespace {

/// A measurement may exceed a nominal rate by the error of its clock.
constexpr double clock_error = 1.02;

void tell_once(Machine& machine, const char* code, std::string text) {
    bool const known =
        std::any_of(machine.notices.begin(), machine.notices.end(), [&](const Notice& n) { return n.code == code; });
    if (!known) {
        machine.notices.push_back({code, file_of(machine), 0, std::move(text)});
    }
}

bool contains(const std::string& text, std::string_view word) {
    return text.find(word) != std::string::npos;
}

/// Parts that exist only with their NVLinks fitted: modules, not cards whose bridge may be missing.
bool always_linked(const Device& device) {
    if (!device.model) {
        return false;
    }
    auto const& model = *device.model;
    if (contains(model, "PCIe") || contains(model, "PCIE") || contains(model, "NVL")) {
        return false;
    }
    constexpr std::array modules{"SXM", "HBM3", "H200", "H800", "H20", "B200", "B300", "GB200", "GB300"};
    auto const part = nvlink_part(device);
    return part && part->links > 0 &&
           std::any_of(modules.begin(), modules.end(), [&](const char* word) { return contains(model, word); });
}

bool hides_nvlink(const Machine& machine) {
    return std::any_of(machine.notices.begin(), machine.notices.end(),
                       [](const Notice& n) { return n.code == "nvlink-hidden"; });
}

void check_models(Machine& machine) {
    for (auto const& device : machine.devices) {
        auto const part = nvlink_part(device);
        if (!part || device.mig.value_or(false)) {
            continue;
        }
        int known = 0, fabric = 0;
        std::optional<int> most_links;
        for (auto const& pair : machine.pairs) {
            if (pair.accessor == device.id) {
                known += pair.path != PathClass::unknown ? 1 : 0;
                fabric += pair.path == PathClass::nv ? 1 : 0;
                if (pair.path == PathClass::nv && pair.nvlinks) {
                    most_links = std::max(most_links.value_or(0), *pair.nvlinks);
                }
            }
        }
        if (known > 0 && fabric == 0 && always_linked(device) && !hides_nvlink(machine)) {
            tell_once(machine, "model-contradicts-matrix",
                      fmt::format("device {} is {}, a module with {} NVLinks, yet no pair of it is NV: an inactive "
                                  "fabric, or a table of the form that hides it",
                                  device.id, *device.model, part->links));
        } else if (fabric > 0 && part->links == 0) {
            tell_once(machine, "model-contradicts-matrix",
                      fmt::format("device {} is {}, which has no NVLink, yet a pair of it is NV", device.id,
                                  device.model.value_or("a part")));
        } else if (most_links && part->links > 0 && *most_links > part->links) {
            tell_once(machine, "model-contradicts-matrix",
                      fmt::format("device {} is {} with {} NVLinks, yet a pair of it has {}", device.id,
                                  device.model.value_or("a part"), part->links, *most_links));
        }
        if (device.nvlink_gbs && part->links > 0 &&
            std::abs(*device.nvlink_gbs - part->link_gbs) > 0.05 * part->link_gbs) {
            tell_once(machine, "link-speed-contradicts-part",
                      fmt::format("a link of device {} ({}) runs at {} GB/s, that part's at {}", device.id,
                                  device.model.value_or("a part"), *device.nvlink_gbs, part->link_gbs));
        }
    }
}

void check_rates(Machine& machine) {
    int below = 0, one_way = 0;
    std::string first_below, first_one_way;
    for (auto const& pair : machine.pairs) {
        auto const& m = pair.measured;
        double const rate = std::max({m.write_gbs.value_or(0), m.read_gbs.value_or(0), m.write_sm_gbs.value_or(0),
                                      m.read_sm_gbs.value_or(0), m.bidirectional_gbs.value_or(0) / 2});
        if (pair.nominal_gbs && rate > *pair.nominal_gbs * clock_error && below++ == 0) {
            first_below = fmt::format("{} reaching {}: nominal {:.4g} GB/s, measured {:.4g}: the measured rate is used",
                                      pair.accessor, pair.owner, *pair.nominal_gbs, rate);
        }
        auto const* back = machine.pair(pair.owner, pair.accessor);
        if (!m.empty() && back != nullptr && back->measured.empty() && one_way++ == 0) {
            first_one_way =
                fmt::format("{} reaching {} is measured, the other direction is not", pair.accessor, pair.owner);
        }
    }
    if (below > 0) {
        tell_once(machine, "reading-below-measured",
                  below == 1 ? first_below : fmt::format("{} (and {} more pairs)", first_below, below - 1));
    }
    if (one_way > 0) {
        tell_once(machine, "one-direction-measured",
                  one_way == 1 ? first_one_way : fmt::format("{} (and {} more pairs)", first_one_way, one_way - 1));
    }
}

}  // namespace

void note_contradictions(Machine& machine) {
    check_models(machine);
    check_rates(machine);
}

}  // namespace peerlane
