#include "machine/read/nvbandwidth.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "machine/read/text.hpp"

namespace peerlane::read {
namespace {

bool starts_with(std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
}
bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool between_devices(const BenchmarkCase& c) {
    return starts_with(c.name, "device_to_device_");
}

/// The device of a host row, or nullptr where this case is no host rate that we keep: of one device alone, by copy
/// engine.
std::optional<double> HostRates::*host_place(std::string_view name) {
    return name == "host_to_device_memcpy_ce"                 ? &HostRates::to_device_gbs
           : name == "device_to_host_memcpy_ce"               ? &HostRates::from_device_gbs
           : name == "host_to_device_bidirectional_memcpy_ce" ? &HostRates::to_device_loaded_gbs
           : name == "device_to_host_bidirectional_memcpy_ce" ? &HostRates::from_device_loaded_gbs
                                                              : nullptr;
}

/// Rank of a sum of both directions, lower is better; empty when this case is no sum.
std::optional<int> rank_of_sum(const BenchmarkCase& c) {
    if (!starts_with(c.name, "device_to_device_bidirectional_memcpy_")) {
        return std::nullopt;
    }
    bool const kernel = ends_with(c.name, "_sm");
    bool const part = contains_word(c.description, " read1 ") || contains_word(c.description, " read2 ") ||
                      contains_word(c.description, " write1 ") || contains_word(c.description, " write2 ");
    if (part || (!contains_word(c.description, " total ") && !kernel)) {
        return std::nullopt;
    }
    return (kernel ? 2 : 0) + (c.name.find("_read_") != std::string::npos ? 1 : 0);
}

std::optional<double> Measured::*pair_place(std::string_view name) {
    return name == "device_to_device_memcpy_write_ce"   ? &Measured::write_gbs
           : name == "device_to_device_memcpy_read_ce"  ? &Measured::read_gbs
           : name == "device_to_device_memcpy_write_sm" ? &Measured::write_sm_gbs
           : name == "device_to_device_memcpy_read_sm"  ? &Measured::read_sm_gbs
           : name == "device_to_device_latency_sm"      ? &Measured::latency_s
                                                        : nullptr;
}

/// The first version printed 0.00 where later ones print N/A: then the diagonal is zero too.
bool zero_means_none(const BenchmarkCase& c) {
    for (std::size_t i = 0; i < c.rows.size() && i < c.rows[i].size(); ++i) {
        if (c.rows[i][i] != 0.0) {
            return false;
        }
    }
    return !c.rows.empty();
}

void check_sum(const Source& source, const BenchmarkCase& c, Machine& machine) {
    if (!c.sum) {
        return;
    }
    double sum = 0;
    std::size_t cells = 0;
    for (auto const& row : c.rows) {
        for (auto const& cell : row) {
            sum += cell.value_or(0);
            ++cells;
        }
    }
    // Each cell is rounded to two decimals, or to six digits in JSON.
    auto const tolerance = 0.006 * static_cast<double>(cells + 1) + 1e-5 * std::abs(sum);
    if (std::abs(sum - *c.sum) > tolerance) {
        add_notice(machine, source, "sum-differs", c.line,
                   fmt::format("{}: the cells sum to {:.2f}, the text says {:.2f}", c.name, sum, *c.sum));
    }
}

int count_devices(const Source& source, const std::vector<BenchmarkCase>& cases, const Machine& machine) {
    auto count = static_cast<int>(machine.devices.size());
    int first_line = 0;
    for (auto const& c : cases) {
        for (auto const& row : c.rows) {
            auto const columns = static_cast<int>(row.size());
            if (count == 0) {
                count = columns;
                first_line = c.line;
            }
            if (columns != count) {
                refuse(source, c.line,
                       machine.devices.empty()
                           ? fmt::format("{} columns, the table in line {} has {}", columns, first_line, count)
                           : fmt::format("{} columns for {} listed devices", columns, count));
            }
        }
    }
    if (count > most_devices) {
        refuse(source, first_line, fmt::format("{} devices", count));
    }
    return count;
}

void apply_pairs(const BenchmarkCase& c, Machine& machine, int& sum_rank) {
    auto const count = machine.devices.size();
    auto const place = pair_place(c.name);
    auto const rank = rank_of_sum(c);
    if (c.waived) {
        for (auto& pair : machine.pairs) {
            pair.claim = pair.claim.value_or(false);
        }
        return;
    }
    if (c.rows.size() != count) {
        return;
    }
    bool const no_zero = zero_means_none(c);
    for (auto& pair : machine.pairs) {
        auto const cell = c.rows[static_cast<std::size_t>(pair.accessor)][static_cast<std::size_t>(pair.owner)];
        bool const timed = cell && *cell > 0;
        if (!pair.claim && (timed || !cell || no_zero)) {
            pair.claim = timed;
        }
        if (!timed) {
            continue;
        }
        if (place != nullptr && !(pair.measured.*place)) {
            pair.measured.*place = place == &Measured::latency_s ? *cell * 1e-9 : *cell;
        }
        if (rank && *rank < sum_rank) {
            pair.measured.bidirectional_gbs = *cell;
        }
    }
    if (rank) {
        sum_rank = std::min(sum_rank, *rank);
    }
}

void apply_host(const BenchmarkCase& c, Machine& machine) {
    auto const place = host_place(c.name);
    if (place == nullptr || c.rows.empty()) {
        return;
    }
    if (machine.host.empty()) {
        for (auto const& device : machine.devices) {
            machine.host.push_back({.device = device.id});
        }
    }
    for (std::size_t i = 0; i < machine.host.size(); ++i) {
        if (c.rows[0][i].value_or(0) > 0 && !(machine.host[i].*place)) {
            machine.host[i].*place = c.rows[0][i];
        }
    }
}

}  // namespace

Device listed_device(int id, std::string_view name_and_bus) {
    Device device;
    device.id = id;
    auto text = trimmed(name_and_bus);
    if (auto const open = text.rfind('('); open != std::string_view::npos && !text.empty() && text.back() == ')') {
        auto const inside = text.substr(open + 1, text.size() - open - 2);
        if (auto bus = bus_address(inside); bus && inside.find(':') != std::string_view::npos) {
            device.bus = std::move(bus);
            text = trimmed(text.substr(0, open));
        }
    }
    if (!text.empty()) {
        device.model = std::string(text);
    }
    return device;
}

void apply_cases(const Source& source, const std::vector<BenchmarkCase>& cases, Machine& machine) {
    auto const count = count_devices(source, cases, machine);
    if (count == 0) {
        refuse(source, 0, "no table of this benchmark is whole, and it lists no device");
    }
    for (auto id = static_cast<int>(machine.devices.size()); id < count; ++id) {
        machine.devices.push_back({.id = id});
    }
    complete_pairs(machine);
    int sum_rank = 99;
    bool arrow_told = false;
    for (auto const& c : cases) {
        check_sum(source, c, machine);
        if (!between_devices(c)) {
            apply_host(c, machine);
            continue;
        }
        apply_pairs(c, machine, sum_rank);
        if (!arrow_told && !c.waived && pair_place(c.name) != nullptr && pair_place(c.name) != &Measured::latency_s) {
            arrow_told = true;
            add_notice(
                machine, source, "printed-arrow", c.line,
                fmt::format("{} is printed as \"{}\"; in this benchmark the row's device issues: it writes into, or "
                            "reads from, the column's memory",
                            c.name, c.description));
        }
    }
}

}  // namespace peerlane::read
