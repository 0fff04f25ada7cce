#include "cli/profile_of.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/measure.hpp>
#include <peerlane/named.hpp>
#include <peerlane/profile_cache.hpp>
#include <peerlane/prove.hpp>
#include <peerlane/units.hpp>

#include "cli/doctor_memory.hpp"
#include "cli/stop.hpp"
#include "measure/proven.hpp"

namespace peerlane::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::string utc_now() {
    auto const now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

std::string document_of(const std::string& machine) {
    for (auto const& named : named_machines()) {
        if (named.name == machine) {
            return named.document;
        }
    }
    return machine.rfind("sim:", 0) == 0 ? machine : read_input(machine);
}

/// What rates depend on: what verdicts do, and under simulation every figure of the descriptions.
CacheKey profile_parts(const Target& target, const Globals& globals) {
    auto key = key_of(target, globals);
    if (target.simulated) {
        CacheKey documents;
        for (auto const& machine : globals.machines) {
            documents.parts.emplace_back("document", machine == "-" ? "" : document_of(machine));
        }
        key.parts.emplace_back("figures", profile_key(documents));
        key.parts.emplace_back("fabric", globals.fabric);
    }
    return key;
}

/// "[=====>      ]  42 %  3 s left  gpu0 > gpu1, pushed by gpu0".
std::string bar(double part, double elapsed_s, const std::string& what) {
    constexpr int width = 24;
    auto const full = static_cast<int>(part * width);
    auto const left = part > 0.02 ? fmt::format("{:.0f} s left", elapsed_s * (1 - part) / part) : std::string();
    return fmt::format(
        "[{}{}{}] {:3.0f} %  {:9}  {}", std::string(static_cast<std::size_t>(full), '='), full < width ? ">" : "",
        std::string(static_cast<std::size_t>(std::max(0, width - full - 1)), ' '), part * 100, left, what);
}

class Search {
  public:
    Search(Context& context, Target& target, const ProfileAsked& asked)
        : context_(context),
          target_(target),
          asked_(asked),
          key_(key_of(target, context.globals)),
          parts_(profile_parts(target, context.globals)) {}

    ProfileFound result() {
        auto const path = asked_.cache.empty() ? cache_file(target_, key_, "profile") : asked_.cache;
        auto const& inputs = context_.globals.machines;
        if (!asked_.cache.empty() && std::find(inputs.begin(), inputs.end(), "-") != inputs.end()) {
            throw UsageError("--cache: a machine from standard input cannot be told again; give it as a file");
        }
        if (!asked_.fresh && stored(path)) {
            found_.verdicts = kept_verdicts();
            return std::move(found_);
        }
        if (asked_.show) {
            auto const why = found_.notices.empty() ? "no profile of this machine is stored" : found_.notices.front();
            throw NothingRuns(fmt::format("{}: peerlane measure makes one{}", why,
                                          target_.simulated ? " (of a simulated machine with --cache FILE)" : ""));
        }
        need_driver(target_);
        measure_now();
        auto const whole = found_.profile.complete && context_.globals.devices.empty();
        if (whole && !path.empty()) {
            if (auto const why = write_profile_cache(path, {parts_, found_.profile}); !why.empty()) {
                found_.notices.push_back(fmt::format("the profile could not be stored: {}", why));
            }
        }
        return std::move(found_);
    }

  private:
    bool stored(const std::string& path) {
        if (path.empty()) {
            return false;
        }
        auto answer = read_profile_cache(path, parts_);
        if (!answer.notice.empty()) {
            found_.notices.push_back(fmt::format("the stored profile is not used: {}", answer.notice));
        }
        // A quick one does not stand for a full one.
        if (!answer.stored || (answer.stored->profile.quick && !asked_.quick && !asked_.show)) {
            return false;
        }
        found_.profile = std::move(answer.stored->profile);
        found_.from_cache = true;
        return true;
    }

    /// In people's numbers, of all devices.
    std::optional<Verdicts> kept_verdicts() const {
        auto const path = cache_file(target_, key_, "verdicts");
        if (path.empty()) {
            return std::nullopt;
        }
        auto answer = read_verdict_cache(path);
        if (!answer.stored || answer.stored->key != key_) {
            return std::nullopt;
        }
        return std::move(answer.stored->verdicts);
    }

    std::vector<int> visible_ordinals() const {
        std::vector<int> ordinals;
        for (auto const& device : target_.machine.devices) {
            if (auto const ordinal = target_.numbering.ordinal(device.id); ordinal >= 0) {
                ordinals.push_back(ordinal);
            }
        }
        return ordinals;
    }

    /// In the driver's numbers.
    Verdicts proven(const std::vector<int>& devices) {
        if (auto kept = kept_verdicts()) {
            return target_.numbering.to_driver(*std::move(kept));
        }
        prove::ProveOptions options;
        for (auto const a : devices) {
            for (auto const b : devices) {
                if (a != b) {
                    options.pairs.emplace_back(a, b);
                }
            }
        }
        if (options.pairs.empty()) {  // none asked for would mean all
            return {};
        }
        options.checks.push_back(Check::atomic);
        options.seed = target_.seed;
        options.simulated = target_.simulated.has_value();
        options.begin = [&](const prove::ProbeStep& step) {
            context_.out.progress("proving " + target_.numbering.to_people(prove::describe(step)));
        };
        auto const prober = prober_of(target_, context_.globals, {{}, [] { return StopSignals::caught() != 0; }});
        try {
            return prove::prove(*prober, target_.numbering.to_driver(target_.whole), options);
        } catch (const Error& error) {
            throw NothingRuns(fmt::format("nothing could be proven: {}", error.what()));
        }
    }

    void measure_now() {
        StopSignals const signals;
        auto const devices = visible_ordinals();
        auto const verdicts = proven(devices);
        auto const machine = target_.numbering.to_driver(target_.whole);
        MeasureOptions options;
        options.verdicts = &verdicts;
        options.machine = &machine;
        options.quick = asked_.quick;
        options.devices = devices;
        options.nodes = measuring::host_nodes(target_.machine);
        options.key = profile_key(parts_);
        options.taken_at = target_.simulated ? "" : utc_now();
        auto const began = Clock::now();
        options.progress = [&](const MeasureProgress& progress) {
            auto const elapsed = std::chrono::duration<double>(Clock::now() - began).count();
            context_.out.progress(bar(progress.part, elapsed, target_.numbering.to_people(progress.what)));
        };
        options.stopped = [] { return StopSignals::caught() != 0; };
        auto const start = target_.driver->now();
        auto profile = measure(*target_.driver, options);
        found_.seconds = target_.driver->now() - start;
        context_.out.progress("");
        found_.stopped_by = StopSignals::caught();
        found_.lost = !profile.complete && found_.stopped_by == 0;
        found_.profile = target_.numbering.to_people(std::move(profile));
        found_.verdicts = target_.numbering.to_people(verdicts);
    }

    Context& context_;
    Target& target_;
    const ProfileAsked& asked_;
    CacheKey key_, parts_;
    ProfileFound found_;
};

}  // namespace

ProfileKept kept_profile(Context& context, const Target& target) {
    auto const path = cache_file(target, key_of(target, context.globals), "profile");
    if (path.empty()) {
        return {};
    }
    ProfileKept kept;
    auto answer = read_profile_cache(path, profile_parts(target, context.globals));
    if (!answer.notice.empty()) {
        kept.notices.push_back(fmt::format("the stored profile is not used: {}", answer.notice));
    }
    if (answer.stored) {
        kept.profile = std::move(answer.stored->profile);
    }
    return kept;
}

ProfileFound profile_of(Context& context, Target& target, const ProfileAsked& asked) {
    return Search(context, target, asked).result();
}

}  // namespace peerlane::cli
