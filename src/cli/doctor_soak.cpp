#include "cli/doctor_soak.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include <peerlane/units.hpp>

#include "cli/status.hpp"

namespace peerlane::cli {
namespace {

using prove::ProbeOutcome;
using prove::ProbeStep;

bool failed(const ProbeOutcome& outcome) {
    auto const result = outcome.result.result;
    return result == Result::wrong || result == Result::hang || result == Result::error;
}

std::string time_text(double seconds) {
    if (seconds <= 0) {
        return "nothing";
    }
    return seconds >= 120 ? fmt::format("{:.0f} min {:.0f} s", std::floor(seconds / 60), std::fmod(seconds, 60))
                          : seconds_text(seconds);
}

}  // namespace

double soak_time(const std::string& word) {
    std::optional<double> seconds;
    auto const ends = [&](const std::string& unit) {
        return word.size() > unit.size() && word.compare(word.size() - unit.size(), unit.size(), unit) == 0;
    };
    for (auto const& [unit, factor] : {std::pair<std::string, double>{"min", 60}, {"m", 60}, {"h", 3600}}) {
        if (!seconds && ends(unit)) {
            auto const number = parse_number(word.substr(0, word.size() - unit.size()));
            seconds = number ? std::optional(*number * factor) : std::nullopt;
        }
    }
    if (!seconds) {
        seconds = parse_seconds(word);
    }
    constexpr double a_week = 7 * 86400.0;
    if (!seconds || !(*seconds > 0) || *seconds > a_week) {
        throw UsageError(fmt::format("--soak \"{}\": a time is needed, as 30m, 90s or 2h, a week at most", word));
    }
    return *seconds;
}

bool take(Soak& soak, const ProbeOutcome& outcome) {
    auto const& result = outcome.result;
    if (failed(outcome)) {
        soak.failure = fmt::format("{}: {}{}{}; {}", describe(outcome.step), to_string(result.result),
                                   result.reason.empty() ? "" : ", ", result.reason,
                                   soak.loads == 0 ? "in the first piece"
                                                   : fmt::format("before it {} in {} pieces were right",
                                                                 time_text(soak.loaded_s), soak.loads));
        return true;
    }
    if (result.result != Result::ok) {
        return false;
    }
    if (outcome.step.kind != ProbeStep::Kind::group) {
        ++soak.proofs;
        return false;
    }
    ++soak.loads;
    soak.loaded_s += outcome.step.seconds;
    soak.bytes += std::accumulate(result.rates.begin(), result.rates.end(), 0.0) * 1e9 * outcome.step.seconds;
    if (result.gbs) {
        soak.first_gbs = soak.first_gbs ? soak.first_gbs : result.gbs;
        soak.least_gbs = std::min(soak.least_gbs.value_or(*result.gbs), *result.gbs);
    }
    return false;
}

std::vector<ProbeOutcome> worth_keeping(const std::vector<ProbeOutcome>& outcomes) {
    std::vector<ProbeOutcome> kept;
    std::map<Check, const ProbeOutcome*> slowest;
    for (auto const& outcome : outcomes) {
        if (failed(outcome)) {
            kept.push_back(outcome);
        } else if (outcome.step.kind == ProbeStep::Kind::group && outcome.result.gbs) {
            auto& known = slowest[outcome.step.check];
            known = known == nullptr || *outcome.result.gbs < *known->result.gbs ? &outcome : known;
        }
    }
    for (auto const& one : slowest) {
        kept.push_back(*one.second);
    }
    return kept;
}

std::vector<std::string> soak_lines(const Soak& soak) {
    std::vector<std::string> lines;
    if (!soak.failure.empty()) {
        lines.push_back("FAILED: " + soak.failure);
    }
    lines.push_back(fmt::format(
        "{} of {} under load of all pairs at once, pushed and pulled in turn, in {} pieces; "
        "at least {} moved, {} proofs of kernels in between",
        time_text(soak.loaded_s), time_text(soak.asked_s), soak.loads,
        soak.bytes >= 1e12 ? fmt::format("{:.3g} TB", soak.bytes / 1e12) : fmt::format("{:.3g} GB", soak.bytes / 1e9),
        soak.proofs));
    if (soak.first_gbs && soak.least_gbs) {
        lines.push_back(fmt::format("slowest pair: {:.4g} GB/s in the first piece, {:.4g} GB/s in the slowest",
                                    *soak.first_gbs, *soak.least_gbs));
    }
    lines.insert(lines.end(), soak.counters.begin(), soak.counters.end());
    if (soak.counters.empty()) {
        lines.emplace_back("counters: none could be read");
    }
    return lines;
}

}  // namespace peerlane::cli
