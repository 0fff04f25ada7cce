/// peerlane doctor: which device can really reach which, in which direction, for which kind of access, and why not.

#include "cli/doctor.hpp"
#include "cli/command.hpp"
#include "cli/status.hpp"

namespace peerlane::cli {
namespace {

void show(Context& context, const Examination& found) {
    auto const format = context.globals.format;
    auto const document = doctor_json(found);
    context.out.print(format == Format::json ? document : doctor_text(found, format, context.out.color()));
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

Status run(Context& context) {
    auto const asked = understand_doctor(context.given, context.globals);
    auto const found = find_out(context, asked, [&](const Examination& nothing) { show(context, nothing); });
    show(context, found);
    return exit_status(found);
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
         {"--repeat-interrupted", "", "runs steps again that an earlier run never came back from"}},
        {Format::table, Format::json, Format::markdown},
        run};
}

}  // namespace peerlane::cli
