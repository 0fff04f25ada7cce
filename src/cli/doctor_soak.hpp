#pragma once
/// Load for a long time: what was asked, and what came of it.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <peerlane/probe_host.hpp>

namespace peerlane::cli {

struct Soak {
    double asked_s = 0;                              ///< 0: no soak was asked for
    double loaded_s = 0;                             ///< under load with every byte right
    int loads = 0;                                   ///< pieces that it came in
    int proofs = 0;                                  ///< of kernels, in between
    double bytes = 0;                                ///< moved under load, from the slowest rates
    std::optional<double> first_gbs{}, least_gbs{};  ///< of the slowest pair
    std::string failure{};                           ///< what ended it, and when; empty: nothing did
    std::vector<std::string> counters{};             ///< lines of what counters did
};

/// "30m", "90s", "2h", "500ms". Throws UsageError.
double soak_time(const std::string& word);

/// One step of it has ended. True when that ends the soak.
bool take(Soak& soak, const prove::ProbeOutcome& outcome);

/// Of all outcomes those that the verdicts need: what failed, and of each way to move the slowest load.
std::vector<prove::ProbeOutcome> worth_keeping(const std::vector<prove::ProbeOutcome>& outcomes);

/// Lines for people.
std::vector<std::string> soak_lines(const Soak& soak);

}  // namespace peerlane::cli
