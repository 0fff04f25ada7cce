/// The examination: what earlier runs left behind, the proof, and what both say together.

#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>

#include <peerlane/discover.hpp>
#include <peerlane/error.hpp>
#include <peerlane/prove.hpp>
#include <peerlane/units.hpp>
#include <peerlane/watch.hpp>

#include "cli/doctor.hpp"
#include "cli/doctor_causes.hpp"
#include "cli/doctor_memory.hpp"
#include "cli/stop.hpp"
#include "prove/child_process.hpp"
#include "prove/guard.hpp"

namespace peerlane::cli {
namespace {

using prove::ProbeOutcome;
using prove::ProbeStep;

constexpr double seconds_per_step = 10;

double seconds_since(prove::Clock::time_point then) {
    return std::chrono::duration<double>(prove::Clock::now() - then).count();
}

/// Directed pairs in people's numbers.
std::vector<std::pair<int, int>> pairs_of(const Target& target, const DoctorAsked& asked) {
    auto const visible = [&](int device) { return target.numbering.ordinal(device) >= 0; };
    for (auto const& [accessor, owner] : asked.pairs) {
        for (auto const device : {accessor, owner}) {
            if (target.machine.device(device) == nullptr) {
                throw UsageError(fmt::format("--pair {}:{}: the machine has no device {}, or -i leaves it out",
                                             accessor, owner, device));
            }
            if (!visible(device)) {
                throw UsageError(
                    fmt::format("--pair {}:{}: device {} is hidden by CUDA_VISIBLE_DEVICES", accessor, owner, device));
            }
        }
    }
    if (!asked.pairs.empty()) {
        return asked.pairs;
    }
    std::vector<std::pair<int, int>> pairs;
    for (auto const& pair : target.machine.pairs) {
        if (visible(pair.accessor) && visible(pair.owner)) {
            pairs.emplace_back(pair.accessor, pair.owner);
        }
    }
    return pairs;
}

/// Errors of devices that the driver logged between the two looks.
std::string new_errors_text(const std::optional<std::vector<std::string>>& before,
                            const std::optional<std::vector<std::string>>& after) {
    if (!before || !after) {
        return "kernel log: not readable";
    }
    auto const is_new = [&](const std::string& line) {
        return line.find("Xid") != std::string::npos &&
               std::find(before->begin(), before->end(), line) == before->end();
    };
    auto const count = std::count_if(after->begin(), after->end(), is_new);
    return count == 0 ? "kernel log: no new Xid line" : fmt::format("kernel log: {} new Xid lines", count);
}

class Run {
  public:
    Run(Context& context, Target& target, const DoctorAsked& asked, const Facts& facts, const std::string& version)
        : context_(context),
          target_(target),
          asked_(asked),
          facts_(facts),
          memory_(target, asked, key_of(target, context.globals),
                  this_run(version, target.simulated.has_value(), target.seed,
                           target.discovery ? target.discovery->host.boot_id : "")) {
        done_.machine = target.machine;
        done_.version = version;
        done_.disturbed = devices_of_others(target.machine, facts);
        done_.quick = asked.quick;
        done_.key = key_of(target, context.globals);
        done_.recorded = asked.record;
        done_.pairs = pairs_of(target, asked);
    }

    Examination result() {
        auto const earlier = memory_.interrupted();
        if (!asked_.repeat_interrupted) {
            done_.interrupted = earlier;
        }
        target_.driver.reset();  // a device in exclusive mode takes one process only: the prober's
        memory_.begin(facts_);
        auto const started = prove::Clock::now();
        try {
            if (!earlier.empty() || asked_.fresh || asked_.quick || asked_.soak_s > 0 || !kept_verdicts_hold()) {
                prove_all();
            }
        } catch (const Error& error) {
            throw NothingRuns(fmt::format("nothing could be proven: {}", error.what()));
        }
        done_.stopped_by = StopSignals::caught();
        if (!target_.simulated) {
            done_.seconds = seconds_since(started);
        }
        story_.now = done_.key;
        story_.interrupted = done_.interrupted;
        story_.record = memory_.told_by();
        tell(facts_, story_);
        add_causes(done_, facts_, story_);
        conclude(done_, asked_.required);
        done_.facts = facts_;
        memory_.finish(done_.verdicts, facts_);
        done_.notices = memory_.notices();
        return std::move(done_);
    }

  private:
    bool kept_verdicts_hold() {
        auto kept = memory_.kept(done_.pairs);
        story_.stored = std::move(kept.outdated);
        if (!kept.verdicts || !canary_agrees(*kept.verdicts)) {
            return false;
        }
        done_.verdicts = *std::move(kept.verdicts);
        done_.from_cache = true;
        return true;
    }

    /// One small check of each pair that is stored as right. False, and a finding, where one says otherwise.
    bool canary_agrees(const Verdicts& stored) {
        std::vector<ProbeStep> steps;
        for (auto const& pair : stored.pairs) {
            for (auto const check : {Check::push, Check::pull, Check::store, Check::load}) {
                if (pair[check].result == Result::ok) {
                    steps.push_back({ProbeStep::Kind::check,
                                     check,
                                     target_.numbering.ordinal(pair.accessor),
                                     target_.numbering.ordinal(pair.owner),
                                     {4 * KiB},
                                     target_.seed});
                    break;
                }
            }
        }
        for (auto const& outcome : run(steps)) {
            if (outcome.result.result != Result::ok && StopSignals::caught() == 0) {
                story_.contradicted.push_back(fmt::format("{}: stored as ok, is {} now",
                                                          describe(to_people(outcome.step)),
                                                          to_string(outcome.result.result)));
            }
        }
        return story_.contradicted.empty();
    }

    ProbeStep to_people(ProbeStep step) const {
        step.accessor = target_.numbering.number(step.accessor);
        step.owner = target_.numbering.number(step.owner);
        for (auto& pair : step.pairs) {
            pair = {target_.numbering.number(pair.first), target_.numbering.number(pair.second)};
        }
        return step;
    }

    prove::Guard guard() {
        prove::GuardOptions options;
        for (auto const& open : done_.interrupted) {
            options.forbidden.emplace(
                describe(open.step),
                "an earlier run never came back from this step; --repeat-interrupted runs it again");
        }
        options.busy = [this](int device) {
            auto const looks = look_at(target_, context_.globals, facts_, device);
            story_.looks.insert(story_.looks.end(), looks.begin(), looks.end());
            return busy_evidence(looks);
        };
        options.stopped = [] { return StopSignals::caught() != 0; };
        return prove::Guard(std::move(options));
    }

    std::vector<ProbeOutcome> run(const std::vector<ProbeStep>& steps) {
        auto watch = guard();
        std::size_t begun = 0;
        auto const prober = prober_of(
            target_, context_.globals,
            {[&](const ProbeStep& step) { return soak_over_.empty() ? watch.veto(to_people(step)) : soak_over_; },
             [] { return StopSignals::caught() != 0; }});
        auto outcomes = prober->run(
            steps, seconds_per_step,
            [&](const ProbeStep& step) {
                auto const people = to_people(step);
                memory_.begin(people);
                context_.out.progress(fmt::format("proving {} ({} of {})", describe(people), ++begun, steps.size()));
            },
            [&](const ProbeOutcome& outcome) {
                ProbeOutcome const people{to_people(outcome.step), outcome.result};
                watch.saw(people);
                memory_.end(people);
                if (soaking_ && take(done_.soak, people)) {
                    soak_over_ = "the soak ended with what failed";
                }
            });
        context_.out.progress("");
        any_busy_ = any_busy_ || !watch.busy().empty();
        return outcomes;
    }

    /// Those that look come first: without them nothing that follows is worth anything.
    std::vector<ProbeStep> all_steps(const Machine& machine) const {
        std::vector<ProbeStep> steps;
        for (auto const& device : target_.machine.devices) {
            auto const asked = std::any_of(done_.pairs.begin(), done_.pairs.end(), [&](auto const& pair) {
                return pair.first == device.id || pair.second == device.id;
            });
            auto const ordinal = target_.numbering.ordinal(device.id);
            if (ordinal >= 0 && (asked || done_.pairs.empty())) {
                steps.push_back({ProbeStep::Kind::self_test, Check::claim, ordinal, ordinal, {}, target_.seed});
            }
        }
        prove::ProveOptions options;
        for (auto const& pair : done_.pairs) {
            options.pairs.emplace_back(target_.numbering.ordinal(pair.first), target_.numbering.ordinal(pair.second));
        }
        options.seed = target_.seed;
        if (!asked_.quick) {
            options.sizes.assign(prove::full_sizes.begin(), prove::full_sizes.end());
            options.checks.assign(all_checks.begin(), all_checks.end());
            options.ways = true;
        }
        if (!options.pairs.empty()) {  // none asked for would mean all
            auto const proof = prove::proof_steps(machine, options);
            steps.insert(steps.end(), proof.begin(), proof.end());
        }
        return steps;
    }

    /// How long it can take, before it starts. Pairs together: all out of and into each device, disjoint, all at once,
    /// pushed and pulled.
    void announce(std::size_t steps) const {
        auto const devices = target_.machine.devices.size();
        auto const all = steps + (asked_.quick || devices < 2 ? 0 : 4 * devices + 4);
        auto const load = asked_.soak_s > 0 ? fmt::format(", then {} of load", seconds_text(asked_.soak_s)) : "";
        complain(
            fmt::format("{} directed pair{}, at most {} steps of at most {} each: done within {} even if every one "
                        "of them hangs{}",
                        done_.pairs.size(), done_.pairs.size() == 1 ? "" : "s", all, seconds_text(seconds_per_step),
                        seconds_text(static_cast<double>(all) * seconds_per_step), load));
    }

    /// Load, with counters before and after. What its outcomes add to the verdicts.
    std::vector<ProbeOutcome> soak(const Verdicts& verdicts) {
        constexpr double longest_piece_s = 4;  // well within the bound of a step
        done_.soak.asked_s = asked_.soak_s;
        auto const steps =
            prove::soak_steps(verdicts, asked_.soak_s, std::min(longest_piece_s, asked_.soak_s / 4), target_.seed);
        auto const log_before = facts_.process.kernel_log;
        soaking_ = true;
        auto const outcomes = run(steps);
        soaking_ = false;
        if (!target_.simulated) {
            facts_.run.counters_after = read_counters(system_nvml());
            facts_.run.errors_after = read_pci_errors();
            facts_.process.kernel_log = read_kernel_log();
            done_.soak.counters = counter_lines(target_.machine, facts_.run);
            done_.soak.counters.push_back(new_errors_text(log_before, facts_.process.kernel_log));
        }
        return worth_keeping(outcomes);
    }

    void prove_all() {
        auto const machine = target_.numbering.to_driver(target_.whole);
        auto const steps = all_steps(machine);
        announce(steps.size());
        auto outcomes = run(steps);
        auto const assembled = [&] {
            return prove::assemble(machine, outcomes, target_.seed, target_.simulated.has_value());
        };
        auto verdicts = assembled();
        if (!asked_.quick && StopSignals::caught() == 0) {
            auto const together = run(prove::group_steps(verdicts, target_.seed));
            outcomes.insert(outcomes.end(), together.begin(), together.end());
            verdicts = assembled();
        }
        if (asked_.soak_s > 0 && StopSignals::caught() == 0) {
            auto const kept = soak(verdicts);
            outcomes.insert(outcomes.end(), kept.begin(), kept.end());
            verdicts = assembled();
        }
        done_.verdicts = target_.numbering.to_people(std::move(verdicts));
        bool const whole = !asked_.quick && asked_.pairs.empty() && context_.globals.devices.empty() &&
                           StopSignals::caught() == 0 && done_.verdicts.status != Health::inconclusive &&
                           done_.interrupted.empty() && !any_busy_;
        if (whole) {
            memory_.keep(done_.verdicts);
        }
    }

    Context& context_;
    Target& target_;
    const DoctorAsked& asked_;
    Facts facts_;
    DoctorMemory memory_;
    Examination done_;
    RunStory story_;
    bool any_busy_ = false;
    bool soaking_ = false;
    std::string soak_over_{};  ///< why no more load is put on
};

}  // namespace

Examination examine(Context& context, Target& target, const DoctorAsked& asked, const Facts& facts,
                    const std::string& version) {
    return Run(context, target, asked, facts, version).result();
}

}  // namespace peerlane::cli
