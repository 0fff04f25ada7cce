#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peerlane/watch.hpp>

namespace peerlane {
namespace {

using Count = std::optional<std::uint64_t>;

/// "NVLink replays +3"; nothing where it was not told both times.
void add_moved(std::vector<std::string>& parts, const char* name, Count before, Count after) {
    if (before && after) {
        parts.push_back(*after >= *before ? fmt::format("{} +{}", name, *after - *before)
                                          : fmt::format("{} reset, {} now", name, *after));
    }
}

void add_state(std::vector<std::string>& parts, const char* name, const char* unit, std::optional<int> before,
               std::optional<int> after) {
    if (before && after) {
        parts.push_back(*before == *after ? fmt::format("{}{} {}", name, *after, unit)
                                          : fmt::format("{}{} to {} {}", name, *before, *after, unit));
    }
}

std::string line_of(int device, const DeviceCounters& before, const DeviceCounters& after) {
    std::vector<std::string> parts;
    add_moved(parts, "NVLink replays", before.nvlink_replays, after.nvlink_replays);
    add_moved(parts, "recoveries", before.nvlink_recoveries, after.nvlink_recoveries);
    add_moved(parts, "CRC errors", before.nvlink_crc_errors, after.nvlink_crc_errors);
    add_moved(parts, "ECC corrected", before.ecc_corrected, after.ecc_corrected);
    add_moved(parts, "ECC uncorrected", before.ecc_uncorrected, after.ecc_uncorrected);
    add_state(parts, "", "C", before.celsius, after.celsius);
    add_state(parts, "SM ", "MHz", before.sm_mhz, after.sm_mhz);
    return parts.empty() ? std::string() : fmt::format("gpu{} {}: {}", device, after.bus, fmt::join(parts, ", "));
}

}  // namespace

std::vector<std::string> counter_lines(const Machine& machine, const RunFacts& run) {
    std::vector<std::string> lines;
    for (auto const& device : machine.devices) {
        auto const of = [&](const std::vector<DeviceCounters>& all) {
            return std::find_if(all.begin(), all.end(),
                                [&](const DeviceCounters& one) { return device.bus && one.bus == *device.bus; });
        };
        auto const before = of(run.counters_before);
        auto const after = of(run.counters_after);
        if (before != run.counters_before.end() && after != run.counters_after.end()) {
            if (auto line = line_of(device.id, *before, *after); !line.empty()) {
                lines.push_back(std::move(line));
            }
        }
    }
    Count correctable[2], nonfatal[2], fatal[2];
    std::size_t functions = 0;
    for (auto const& before : run.errors_before) {
        auto const after = std::find_if(run.errors_after.begin(), run.errors_after.end(),
                                        [&](const PciErrors& one) { return one.bus == before.bus; });
        if (after == run.errors_after.end()) {
            continue;
        }
        ++functions;
        auto const add = [](Count* sums, Count first, Count second) {
            if (first && second) {
                sums[0] = sums[0].value_or(0) + *first;
                sums[1] = sums[1].value_or(0) + *second;
            }
        };
        add(correctable, before.correctable, after->correctable);
        add(nonfatal, before.nonfatal, after->nonfatal);
        add(fatal, before.fatal, after->fatal);
    }
    if (functions > 0) {
        std::vector<std::string> parts;
        add_moved(parts, "correctable", correctable[0], correctable[1]);
        add_moved(parts, "nonfatal", nonfatal[0], nonfatal[1]);
        add_moved(parts, "fatal", fatal[0], fatal[1]);
        lines.push_back(fmt::format("PCI Express, {} functions: {}", functions, fmt::join(parts, ", ")));
    }
    return lines;
}

}  // namespace peerlane
