#pragma once
/// What was found, for those that watch many machines: Prometheus, Nagios and its kin, node-problem-detector.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peerlane/facts.hpp>
#include <peerlane/machine.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

struct WatchedRun {
    std::string version;
    double ended_s = 0;               ///< since 1970
    std::optional<double> seconds{};  ///< that it took, where that was real time
    bool passive = false;             ///< nothing was moved
};

/// Metrics in Prometheus' text format: base units, counters ending in _total, devices named by number, bus address and
/// UUID. The same input gives the same text.
std::string prometheus_text(const WatchedRun& run, const Machine& machine, const Verdicts& verdicts,
                            const Facts& facts);

/// What counters did between the two looks of a run, a line for each device and one for PCI Express; temperature and
/// clocks as they were. Counters that nobody told are left out.
std::vector<std::string> counter_lines(const Machine& machine, const RunFacts& run);

/// Whose conventions of exit status a command keeps. nagios: 0 fine, 1 warning, 2 critical, 3 unknown. npd
/// (node-problem-detector): 0 fine, 1 a problem, 2 unknown.
enum class ExitConvention { own, nagios, npd };
std::optional<ExitConvention> parse_exit_convention(std::string_view word);

/// The status to end with; empty for what could not be told, a wrong command line among it.
int exit_status_of(ExitConvention convention, std::optional<Status> status);

/// One line: "PEERLANE WARNING - TEXT" for nagios, TEXT for the others; npd gets the 80 bytes that it keeps.
std::string watch_line(ExitConvention convention, std::optional<Status> status, const std::string& text);

}  // namespace peerlane
