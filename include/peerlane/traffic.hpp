#pragma once
/// Concurrent transfers as a list of flows: made from a pattern, or read from a table. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <peerlane/machine.hpp>
#include <peerlane/place.hpp>

namespace peerlane {

/// One transfer of a set. At least one of the two places is a device.
struct Flow {
    Place src, dst;
    std::uint64_t bytes = 0;
    double start_s = 0;  ///< when it is submitted, seconds from the start of its phase
    int phase = 0;       ///< starts when every flow of the phases before is done
    /// Scattered pages of this many bytes, of which `bytes` is a multiple; 0: in one piece.
    std::uint64_t page = 0;
    friend bool operator==(const Flow&, const Flow&) = default;
};

struct PatternOptions {
    std::uint64_t bytes = 0;  ///< of each flow
    double step_s = 0;        ///< flow i is submitted i * step_s after the first
    int phases = 1;           ///< the pattern so many times, one after the other
    std::uint64_t page = 0;   ///< of each flow
};

/// The flows of a pattern between these devices (numbers of the machine, in the order in which the pattern counts
/// them):
///   pair:A:B  one-to-all:A  all-to-one:A     A and B are places: 0, gpu0, host, host:1
///   shift:D  ring  halo  all-to-all  permutation:SEED  random:N,SEED  host-to-all  all-to-host
/// Throws std::invalid_argument that says what is wrong with the pattern, or with a place in it.
std::vector<Flow> pattern_flows(std::string_view pattern, const Machine& machine, const std::vector<int>& devices,
                                const PatternOptions& options);

/// A table with the columns src, dst, bytes and, where it has them, start ("0.001" seconds or "1ms") and page. A first
/// line with these names gives the order of the columns, else it is that one. Empty lines and lines that begin with #
/// are left out. What simulation_csv writes is read too: columns of results say nothing about flows, and of several
/// strategies the rows of the first count. Throws InputError with the line.
std::vector<Flow> read_flows_csv(std::string_view text, const std::string& file, const Machine& machine,
                                 const std::vector<int>& devices);

/// One line for each pattern: its form and what it means.
const std::vector<std::pair<const char*, const char*>>& traffic_patterns();

}  // namespace peerlane
