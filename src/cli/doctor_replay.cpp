/// The diagnosis of a record, anywhere: nothing is run.

#include <algorithm>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/prove.hpp>

#include "cli/doctor.hpp"
#include "cli/doctor_causes.hpp"
#include "machine/read/record.hpp"

namespace peerlane::cli {
namespace {

void refuse_what_runs(const Globals& globals, const DoctorAsked& asked) {
    for (auto const& fault : globals.faults) {
        if (fault.what != Fault::What::fact) {
            throw UsageError(
                fmt::format("--fault {}: a record is replayed, nothing is run that could fail; fact:... "
                            "faults change what was read",
                            to_string(fault)));
        }
    }
    if (!asked.record.empty() || asked.fresh || asked.repeat_interrupted || !asked.cache.empty()) {
        throw UsageError(
            "a record is replayed, nothing is run: --record, --fresh, --cache and --repeat-interrupted mean nothing");
    }
}

/// Where it ends before its verdicts: from the outcomes that are there.
Verdicts verdicts_of(const Record& record, const Machine& machine, const std::string& path) {
    if (record.verdicts) {
        for (auto const& pair : record.verdicts->pairs) {
            if (machine.pair(pair.accessor, pair.owner) == nullptr) {
                throw InputError(
                    path, 0,
                    fmt::format("verdicts of {}:{}, which its machine does not have", pair.accessor, pair.owner));
            }
        }
        return *record.verdicts;
    }
    auto outcomes = record.outcomes;
    for (auto const& open : record.open) {
        CheckResult never_ended;
        never_ended.reason = "began and never ended";
        outcomes.push_back({open.step, never_ended});
    }
    try {
        return prove::assemble(machine, outcomes, record.run.seed, record.run.simulated);
    } catch (const std::invalid_argument& error) {
        throw InputError(path, 0, error.what());
    }
}

Facts facts_of_record(const Record& record, const Globals& globals, const std::string& path) {
    Facts facts;
    if (!record.facts.empty()) {
        try {
            facts = read_facts(record.facts, path);
        } catch (const InputError& error) {
            throw InputError(path, record.facts_line, error.reason());
        }
    }
    try {
        return apply_facts(std::move(facts), globals.faults);
    } catch (const InputError& error) {
        throw UsageError(error.reason());
    }
}

/// Only what -i and --pair leave.
void limit(Examination& found, const Globals& globals, const DoctorAsked& asked) {
    auto const wanted = [&](int accessor, int owner) {
        auto const listed = [&](int device) {
            return globals.devices.empty() ||
                   std::find(globals.devices.begin(), globals.devices.end(), device) != globals.devices.end();
        };
        return listed(accessor) && listed(owner) &&
               (asked.pairs.empty() ||
                std::find(asked.pairs.begin(), asked.pairs.end(), std::pair(accessor, owner)) != asked.pairs.end());
    };
    auto& verdicts = found.verdicts;
    std::erase_if(verdicts.pairs, [&](auto const& pair) { return !wanted(pair.accessor, pair.owner); });
    std::erase_if(verdicts.control, [&](auto const& arm) {
        return !wanted(arm.source, arm.destination) && !wanted(arm.destination, arm.source);
    });
    std::erase_if(verdicts.groups, [&](auto const& group) {
        return !std::all_of(group.pairs.begin(), group.pairs.end(),
                            [&](auto const& pair) { return wanted(pair.first, pair.second); });
    });
    if (!globals.devices.empty()) {
        try {
            found.machine = limited_to(found.machine, globals.devices);
        } catch (const std::out_of_range& error) {
            throw UsageError(fmt::format("-i: {}", error.what()));
        }
    }
    for (auto const& pair : verdicts.pairs) {
        found.pairs.emplace_back(pair.accessor, pair.owner);
    }
}

}  // namespace

Examination replay(const Context& context, const DoctorAsked& asked, const std::string& path, const std::string& text) {
    refuse_what_runs(context.globals, asked);
    auto const record = read_record(text, path);
    Examination found;
    found.machine = read::read_recorded_machine({path, text});
    found.whole = found.machine;
    found.verdicts = verdicts_of(record, found.machine, path);
    found.replayed = true;
    found.recorded = path;
    limit(found, context.globals, asked);
    auto facts = facts_of_record(record, context.globals, path);
    found.disturbed = devices_of_others(found.machine, facts);
    found.interrupted = record.open;
    // A frozen step that this run itself saw is in its verdicts already.
    std::erase_if(found.interrupted,
                  [&](const RecordedStep& open) { return record.verdicts.has_value() && open.run == record.run; });
    RunStory story;
    story.interrupted = found.interrupted;
    story.record = path;
    tell(facts, story);
    if (!record.verdicts) {
        found.notices.emplace_back("the run that wrote this record did not come to its end");
    }
    add_causes(found, facts, story);
    found.facts = std::move(facts);
    return found;
}

}  // namespace peerlane::cli
