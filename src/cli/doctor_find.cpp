/// From what was asked to what was found: a record is replayed, a machine examined.

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include <peerlane/named.hpp>

#include "cli/doctor.hpp"
#include "cli/doctor_causes.hpp"
#include "cli/doctor_memory.hpp"
#include "cli/status.hpp"
#include "cli/stop.hpp"
#include "cli/version.hpp"
#include "machine/read/record.hpp"

namespace peerlane::cli {
namespace {

/// As the shell that reads it back takes it.
std::string in_shell(const std::string& word) {
    auto const plain =
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@+%") ==
        std::string::npos;
    if (plain && !word.empty()) {
        return word;
    }
    std::string out = "'";
    for (auto const c : word) {
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return out + "'";
}

/// A ticket is read by strangers, and a report is sent around: files without their folders.
bool for_strangers(const Globals& globals) {
    return globals.format == Format::markdown || globals.format == Format::html;
}

std::string file_name(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

/// What next commands begin with.
std::string typed(const Globals& globals) {
    std::string text = "peerlane";
    for (auto const& machine : globals.machines) {
        text += " --machine " + in_shell(for_strangers(globals) ? file_name(machine) : machine);
    }
    if (!globals.fabric.empty()) {
        text += " --fabric " + in_shell(globals.fabric);
    }
    for (auto const& fault : globals.faults) {
        text += " --fault " + in_shell(to_string(fault));
    }
    return text;
}

/// The text of a record among the machines; empty when there is none.
std::optional<std::string> record_among(const std::vector<std::string>& machines) {
    std::optional<std::string> record;
    for (auto const& machine : machines) {
        auto const& named = named_machines();
        auto const is_named =
            std::any_of(named.begin(), named.end(), [&](const NamedMachine& other) { return other.name == machine; });
        if (is_named || machine.rfind("sim:", 0) == 0) {
            continue;
        }
        auto text = read_input(machine);
        if (read::is_record(text)) {
            record = std::move(text);
        }
    }
    if (record && machines.size() > 1) {
        throw UsageError("a record is replayed by itself: it holds its machine");
    }
    return record;
}

/// What the facts alone say where nothing can be proven.
Examination without_devices(const Target& target, const Facts& facts) {
    Examination found;
    found.machine = target.machine;
    found.verdicts.simulated = target.simulated.has_value();
    found.verdicts.seed = target.seed;
    add_causes(found, facts, {});
    found.verdicts.status = Health::inconclusive;
    found.facts = facts;
    return found;
}

/// Claims, and what the facts say beside them.
Examination at_rest(const Target& target, Facts facts) {
    Examination found;
    found.passive = true;
    found.machine = target.machine;
    found.verdicts.simulated = target.simulated.has_value();
    found.verdicts.seed = target.seed;
    found.disturbed = devices_of_others(found.machine, facts);
    for (auto const& pair : found.machine.pairs) {
        PairVerdict verdict{pair.accessor, pair.owner};
        for (auto& check : verdict.checks) {
            check.reason = "nothing was moved";
        }
        if (pair.claim) {
            verdict[Check::claim] = CheckResult{*pair.claim ? Result::ok : Result::no};
        }
        found.verdicts.pairs.push_back(std::move(verdict));
        found.pairs.emplace_back(pair.accessor, pair.owner);
    }
    add_causes(found, facts, {});
    found.facts = std::move(facts);
    conclude(found, {});
    return found;
}

}  // namespace

Examination find_out(Context& context, const DoctorAsked& asked,
                     const std::function<void(const Examination&)>& nothing_runs) {
    StopSignals const signals;
    if (auto const record = record_among(context.globals.machines)) {
        auto found = replay(context, asked, context.globals.machines.front(), *record);
        found.version = version();
        conclude(found, asked.required);
        if (for_strangers(context.globals)) {
            found.recorded = file_name(found.recorded);
        }
        return found;
    }
    auto target = open_target(context.globals);
    auto facts = facts_of(target, context.globals);
    if (for_strangers(context.globals)) {
        facts = scrub(std::move(facts));
    }
    if (!target.simulated && (asked.passive || asked.soak_s > 0 || !asked.prometheus.empty())) {
        facts.run.counters_before = read_counters(system_nvml());
    }
    if (!target.driver) {
        auto found = without_devices(target, facts);
        found.version = version();
        found.typed = typed(context.globals);
        nothing_runs(found);
        need_driver(target);  // says what to type instead
    }
    auto found = asked.passive ? at_rest(target, facts) : examine(context, target, asked, facts, version());
    found.version = version();
    found.whole = target.whole;
    if (!target.simulated) {
        found.profile = cache_file(target, key_of(target, context.globals), "profile");
    }
    found.typed = typed(context.globals);
    if (for_strangers(context.globals)) {
        found.recorded = file_name(found.recorded);
    }
    return found;
}

}  // namespace peerlane::cli
