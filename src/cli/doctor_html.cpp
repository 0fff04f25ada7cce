/// What the doctor found as one HTML document, with what the planner makes of it.

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peerlane/error.hpp>
#include <peerlane/measure.hpp>
#include <peerlane/named.hpp>
#include <peerlane/planner.hpp>
#include <peerlane/profile_cache.hpp>
#include <peerlane/report.hpp>

#include "cli/doctor.hpp"
#include "cli/doctor_pairs.hpp"
#include "cli/doctor_text.hpp"
#include "cli/profile_of.hpp"
#include "cli/stop.hpp"
#include "measure/proven.hpp"

namespace peerlane::cli {
namespace {

/// Legs and what they do to each other: what plans are made from.
Profile measured_now(Context& context, const Examination& found) {
    StopSignals const signals;
    auto target = open_target(context.globals);
    auto const verdicts = target.numbering.to_driver(found.verdicts);
    MeasureOptions options;
    options.verdicts = &verdicts;
    options.quick = true;
    options.access = false;
    for (auto const& device : target.machine.devices) {
        options.devices.push_back(target.numbering.ordinal(device.id));
    }
    options.nodes = measuring::host_nodes(target.machine);
    options.progress = [&](const MeasureProgress& progress) {
        context.out.progress(fmt::format("measuring for the curves, {:.0f} %: {}", progress.part * 100,
                                         target.numbering.to_people(progress.what)));
    };
    options.stopped = [] { return StopSignals::caught() != 0; };
    auto profile = target.numbering.to_people(measure(*target.driver, options));
    context.out.progress("");
    return profile;
}

std::string profile_words(const Profile& profile) {
    return fmt::format("{}{}{}", profile.key.empty() ? "" : ", profile " + profile.key.substr(0, 8),
                       profile.taken_at.empty() ? "" : ", taken at " + profile.taken_at,
                       profile.complete ? "" : ", which is not complete");
}

Curves predicted(const Examination& found, const CurveCosts& costs) {
    if (found.passive || found.verdicts.routes.empty() || found.whole.devices.empty()) {
        return {};
    }
    std::vector<std::pair<int, int>> directions;
    for (auto const& route : found.verdicts.routes) {
        directions.emplace_back(route.source, route.destination);
    }
    auto const machine = costs.any ? found.whole : with_proven_rates(found.whole, found.verdicts);
    return curves_of(Planner(machine, found.verdicts, costs.profile), directions);
}

std::string driver_text(const Examination& found) {
    auto const& nvml = found.facts.nvml;
    auto const& module = found.facts.host.module_version;
    auto text = !nvml.driver_version.empty() ? nvml.driver_version : module;
    if (text.empty()) {
        return "not known";
    }
    if (nvml.cuda_version) {
        text += fmt::format(", CUDA {}.{}", *nvml.cuda_version / 1000, *nvml.cuda_version % 1000 / 10);
    }
    auto const& kernel = found.facts.host.kernel_release;
    return kernel.empty() ? text : text + ", kernel " + kernel;
}

/// What was typed after the command, as far as it decides what is found; files without their folders.
std::string options_text(const DoctorAsked& asked) {
    std::string text;
    auto const flag = [&](bool given, const char* word) { text += given ? fmt::format(" {}", word) : ""; };
    auto const file = [&](const std::string& path, const char* word) {
        text += path.empty() ? "" : fmt::format(" {} {}", word, std::filesystem::path(path).filename().string());
    };
    flag(asked.quick, "--quick");
    flag(asked.passive, "--passive");
    flag(asked.fresh, "--fresh");
    for (auto const& [accessor, owner] : asked.pairs) {
        text += fmt::format(" --pair {}:{}", accessor, owner);
    }
    for (std::size_t i = 0; i < asked.required.size(); ++i) {
        text += fmt::format("{}{}", i == 0 ? " --require " : ",", peerlane::to_string(asked.required[i]));
    }
    text += asked.soak_s > 0 ? fmt::format(" --soak {}s", asked.soak_s) : "";
    file(asked.expect, "--expect");
    file(asked.profile, "--profile");
    return text;
}

}  // namespace

CurveCosts curve_costs(Context& context, const DoctorAsked& asked, const Examination& found) {
    if (!asked.profile.empty()) {
        auto profile = read_profile_json(read_input(asked.profile), asked.profile);
        auto const name = std::filesystem::path(asked.profile).filename().string();
        auto words = fmt::format("Predicted from the costs of {}{}.", name, profile_words(profile));
        return {std::move(profile), true, std::move(words)};
    }
    if (found.passive) {
        return {{}, false, "No times are predicted: nothing was proven in a passive run."};
    }
    std::string why = "nothing was measured";
    if (found.verdicts.simulated && !found.replayed && found.stopped_by == 0 && !found.verdicts.pairs.empty()) {
        try {
            if (auto profile = measured_now(context, found); !profile.legs.empty()) {
                return {std::move(profile), true, "Predicted from costs that were measured on the simulated machine."};
            }
        } catch (const Error& error) {  // what was proven is to be shown all the same
            why = fmt::format("measuring failed: {}", error.what());
        }
    } else if (!found.profile.empty()) {
        auto answer = read_profile_cache(found.profile, found.key);
        if (answer.stored) {
            auto words = fmt::format("Predicted from costs measured earlier{}.", profile_words(answer.stored->profile));
            return {std::move(answer.stored->profile), true, std::move(words)};
        }
        why = answer.notice.empty() ? "this machine was not measured yet (peerlane measure)"
                                    : "the stored profile is not used: " + answer.notice;
    }
    return {{}, false, fmt::format("Predicted from the rates that the proof saw and from nominal costs: {}.", why)};
}

std::string doctor_html(const DoctorAsked& asked, const Examination& found, const CurveCosts& costs,
                        const std::string& made_at) {
    HtmlReport report;
    report.status = status_word(found);
    report.words = verdict_in_words(found);
    report.marks = marks_of(found);
    report.marks.insert(report.marks.begin(), fmt::format("peerlane {} doctor", found.version));
    report.machine = found.machine;
    report.verdicts = found.verdicts;
    report.costs = costs.words;
    report.curves = predicted(found, costs);
    auto const command = found.replayed ? "peerlane --machine " + found.recorded : found.typed;
    report.run = {{"Machine", machine_line(found)},
                  {"Driver", found.verdicts.simulated ? "none, simulated" : driver_text(found)},
                  {"Date", !made_at.empty()           ? made_at
                           : found.verdicts.simulated ? "none: a simulated run is the same at any time"
                                                      : "not in the record"},
                  {"Command", fmt::format("{} doctor --format html{}", command, options_text(asked))}};
    Page page(false, false);
    details_page(page, found);
    report.more = page.blocks();
    return report_html(report);
}

}  // namespace peerlane::cli
