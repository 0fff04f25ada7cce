/// peerlane doctor: which device can really reach which, in which direction, for which kind of access, and why not.

#include <chrono>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <peerlane/report.hpp>
#include <peerlane/watch.hpp>

#include "cli/command.hpp"
#include "cli/doctor.hpp"
#include "cli/doctor_pairs.hpp"
#include "cli/status.hpp"

namespace peerlane::cli {
namespace {

double now_s() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string utc_now() {
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(now_s())));
}

void write_metrics(const DoctorAsked& asked, const Examination& found) {
    if (!asked.prometheus.empty()) {
        SaveFile(asked.prometheus)
            .write(prometheus_text({found.version, now_s(), found.seconds, found.passive}, found.machine,
                                   found.verdicts, found.facts));
    }
}

ExitConvention convention_of(const Given& given) {
    auto const word = given.one("--exit");
    if (!word) {
        return ExitConvention::own;
    }
    auto const convention = parse_exit_convention(*word);
    if (!convention) {
        throw UsageError(fmt::format("--exit \"{}\" is not known; known are nagios, npd", *word));
    }
    return *convention;
}

std::string page_of(Context& context, const DoctorAsked& asked, const Examination& found) {
    auto const format = context.globals.format;
    if (format == Format::html) {
        if (!charts_built_in()) {
            complain(fmt::format("peerlane: {}", charts_missing));
        }
        bool const dated = !found.verdicts.simulated && !found.replayed;
        return doctor_html(asked, found, curve_costs(context, asked, found), dated ? utc_now() : "");
    }
    return doctor_text(found, format, context.out.color());
}

void show(Context& context, const DoctorAsked& asked, ExitConvention convention, const Examination& found) {
    auto const format = context.globals.format;
    auto const document = doctor_json(found);
    if (asked.oneline || convention != ExitConvention::own) {
        context.out.print(watch_line(convention, found.verdicts.status,
                                     fmt::format("{}: {}", status_word(found), verdict_in_words(found))));
    }
    if (!asked.oneline && convention != ExitConvention::npd) {
        context.out.print(format == Format::json ? document : page_of(context, asked, found));
    }
    context.out.save(document);
}

}  // namespace

Status exit_status(const Examination& found) {
    if (found.stopped_by != 0) {
        return static_cast<Status>(128 + found.stopped_by);
    }
    switch (found.verdicts.status) {
        case Health::healthy:
            return good;
        case Health::degraded:
            return degraded;
        case Health::broken:
            return broken;
        case Health::inconclusive:
            break;
    }
    return inconclusive;
}

namespace {

Status find_and_show(Context& context, ExitConvention convention) {
    auto const asked = understand_doctor(context.given, context.globals);
    auto found = find_out(context, asked, [&](const Examination& nothing) {
        write_metrics(asked, nothing);
        if (convention == ExitConvention::own && !asked.oneline) {
            show(context, asked, convention, nothing);
        }
    });
    expect(found, asked);
    write_metrics(asked, found);
    show(context, asked, convention, found);
    return convention == ExitConvention::own || found.stopped_by != 0
               ? exit_status(found)
               : static_cast<Status>(exit_status_of(convention, found.verdicts.status));
}

/// Those who watch take every other status for something else than "could not tell".
Status run(Context& context) {
    auto const convention = convention_of(context.given);
    if (convention == ExitConvention::own) {
        return find_and_show(context, convention);
    }
    try {
        return find_and_show(context, convention);
    } catch (const std::exception& error) {
        context.out.print(watch_line(convention, std::nullopt, error.what()));
        return static_cast<Status>(exit_status_of(convention, std::nullopt));
    }
}

}  // namespace

Command doctor_command() {
    return {
        "doctor",
        "proves each check on each directed pair, and finds the causes of what is not right",
        {},
        {{"--quick", "", "fewer checks and sizes"},
         {"--pair", "0:1", "only this one: device 0 reaches into memory of device 1", true},
         {"--require", "push,store", "checks that must be right on every pair, else 1", true},
         {"--record", "FILE", "writes machine, facts and verdicts, each step before it runs; --machine FILE replays"},
         {"--fresh", "", "proves again what an earlier run has proven"},
         {"--cache", "FILE", "where verdicts are kept; without it only those of real devices are"},
         {"--soak", "30m", "then loads all pairs for that long, with proofs and counters"},
         {"--passive", "", "moves nothing: claims, links, counters, findings"},
         {"--expect", "FILE", "compares with a saved or recorded document of a machine as it should be"},
         {"--tolerance", "PERCENT", "how much slower is no difference from it; 10 if nothing is said"},
         {"--profile", "FILE", "costs for the curves of --format html: what peerlane measure --save wrote"},
         {"--oneline", "", "prints one line"},
         {"--exit", "nagios|npd", "ends as Nagios or node-problem-detector expect it"},
         {"--prometheus", "FILE", "writes metrics for Prometheus, whole or not at all"},
         {"--repeat-interrupted", "", "runs steps again that an earlier run never came back from"}},
        {Format::table, Format::json, Format::markdown, Format::html},
        run};
}

}  // namespace peerlane::cli
