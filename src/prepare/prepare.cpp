#include <peerlane/prepare.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <peerlane/discover.hpp>
#include <peerlane/error.hpp>
#include <peerlane/measure.hpp>
#include <peerlane/profile_cache.hpp>
#include <peerlane/prove.hpp>

#include "machine/renumber.hpp"
#include "measure/proven.hpp"
#include "prepare/machine_lock.hpp"
#include "prepare/renumber.hpp"
#include "prove/ladder.hpp"

namespace peerlane {
namespace {

using Clock = std::chrono::steady_clock;

/// On the driver itself: a simulated step that hangs costs nobody anything but the steps behind it.
class HostOnDriver final : public prove::ProbeHost {
  public:
    HostOnDriver(Driver& driver, preparing::Numbers ordinals) : prober_(driver), ordinals_(std::move(ordinals)) {}
    std::vector<prove::ProbeOutcome> run(const std::vector<prove::ProbeStep>& steps, double seconds_per_step,
                                         const prove::OnBegin& begin, const prove::OnEnd& end) override {
        std::vector<prove::ProbeOutcome> outcomes;
        for (auto const& step : steps) {
            prove::ProbeOutcome outcome{step, {.result = Result::skipped}};
            if (prober_.usable()) {
                if (begin) {
                    begin(step);
                }
                auto there = step;
                there.accessor = ordinals_.at(static_cast<std::size_t>(step.accessor));
                there.owner = ordinals_.at(static_cast<std::size_t>(step.owner));
                outcome.result = prober_.run(there, prove::limits_of(step, outcomes, seconds_per_step));
            } else {
                outcome.result.reason = "the simulated devices were lost in an earlier step";
            }
            outcomes.push_back(outcome);
            if (end) {
                end(outcomes.back());
            }
        }
        return outcomes;
    }

  private:
    prove::Prober prober_;
    preparing::Numbers ordinals_;
};

/// The devices asked for, in bus order and numbered so.
Machine whole_of(const Machine& seen, const std::optional<Discovery>& discovery,
                 const std::vector<DeviceName>& wanted) {
    auto const& from = wanted.empty() || !discovery ? seen : discovery->machine;
    std::vector<int> picked;
    for (auto const& name : wanted) {
        auto const found = find_device(from, name);
        if (!found) {
            throw std::invalid_argument(
                fmt::format("prepare: the machine has no device {}", name.uuid.empty() ? name.bus : name.uuid));
        }
        picked.push_back(*found);
    }
    if (wanted.empty()) {
        picked.resize(from.devices.size());
        std::iota(picked.begin(), picked.end(), 0);
    }
    std::sort(picked.begin(), picked.end(), [&](int a, int b) {
        return std::pair(from.device(a)->bus.value_or(""), a) < std::pair(from.device(b)->bus.value_or(""), b);
    });
    picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
    Machine whole;
    whole.origin = from.origin;
    preparing::Numbers numbers(from.devices.size(), -1);
    for (std::size_t i = 0; i < picked.size(); ++i) {
        auto device = *from.device(picked[i]);
        numbers[static_cast<std::size_t>(picked[i])] = device.id = static_cast<int>(i);
        whole.devices.push_back(std::move(device));
    }
    for (auto pair : from.pairs) {
        pair.accessor = numbers[static_cast<std::size_t>(pair.accessor)];
        pair.owner = numbers[static_cast<std::size_t>(pair.owner)];
        if (pair.accessor >= 0 && pair.owner >= 0) {
            whole.pairs.push_back(std::move(pair));
        }
    }
    complete_pairs(whole);
    return whole;
}

Machine known_from(const std::optional<Discovery>& discovery, Driver& driver) {
    auto known = discovery ? as_seen(discovery->machine, driver.machine()) : std::nullopt;
    return known ? *std::move(known) : driver.machine();
}

class Preparation {
  public:
    Preparation(Driver& driver, const PrepareOptions& options)
        : driver_(driver), options_(options), began_(Clock::now()) {
        if (!driver.simulated()) {
            discovery_ = discover();
        }
        prepared_.machine = known_from(discovery_, driver);
        prepared_.whole = whole_of(driver.machine(), discovery_, options.devices);
        auto const count = prepared_.whole.devices.size();
        ordinals_.assign(count, -1);
        std::vector<bool> taken(driver.machine().devices.size(), false);
        for (std::size_t i = 0; i < count; ++i) {
            auto const name = device_name(prepared_.whole, static_cast<int>(i));
            // Without names there is nothing to join by; then the set is the driver's own, in its order.
            auto const unnamed = options.devices.empty() && name == DeviceName{};
            auto const found = unnamed ? std::optional(static_cast<int>(i)) : find_device(driver.machine(), name);
            if (found && !taken[static_cast<std::size_t>(*found)]) {
                taken[static_cast<std::size_t>(*found)] = true;
                ordinals_[i] = *found;
            }
        }
        sees_all_ = std::none_of(ordinals_.begin(), ordinals_.end(), [](int ordinal) { return ordinal < 0; });
        key_ = driver.simulated() ? cache_key(prepared_.whole, options.depends_on)
                                  : cache_key(prepared_.whole, discovery_->host, discovery_->nvml, "named in the set");
        if (driver.simulated()) {
            key_.parts.emplace_back("simulation of", driver.description());
        } else if (!options.depends_on.empty()) {
            key_.parts.emplace_back("depends on", options.depends_on);
        }
    }

    Prepared result() {
        if (options_.cache.empty()) {
            if (options_.when_missing == Missing::refuse) {
                refuse("no cache is named");
            }
            work(nullptr);
        } else if (!stored()) {
            if (options_.when_missing == Missing::refuse) {
                refuse(prepared_.notices.empty() ? "nothing is stored in " + options_.cache
                                                 : prepared_.notices.front());
            }
            locked();
        }
        prepared_.verdicts = preparing::renumbered(prepared_.proven, ordinals_);
        prepared_.profile = preparing::renumbered(std::move(profile_), ordinals_);
        return std::move(prepared_);
    }

  private:
    [[noreturn]] static void refuse(const std::string& why) {
        throw Error({code::not_ready, "prepare", -1, -1,
                     why + ": prepare with Missing::prove once, or let peerlane doctor look at the machine"});
    }
    [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

    void tell(bool waiting, const std::string& what, preparing::MachineLock* lock) const {
        if (lock != nullptr && !waiting) {
            lock->say(what);
        }
        if (options_.progress) {
            options_.progress({waiting, elapsed(), what});
        }
    }

    [[nodiscard]] std::string file(const char* kind, const char* ending) const {
        CacheKey devices;
        devices.parts = {key_.parts.front()};  // the devices: other sets have other files
        return fmt::format("{}/{}-{}.{}", options_.cache, kind, profile_key(devices).substr(0, 16), ending);
    }

    /// What holds of what is stored goes into the result. True when nothing is missing.
    bool stored() {
        prepared_.notices.clear();
        auto verdicts = read_verdict_cache(file("verdicts", "json"));
        proven_ = verdicts.stored && verdicts.stored->key == key_;
        if (proven_) {
            prepared_.proven = std::move(verdicts.stored->verdicts);
        } else if (verdicts.stored || !verdicts.notice.empty()) {
            prepared_.notices.push_back(
                fmt::format("stored verdicts are not used: {}",
                            verdicts.stored ? "the machine is another one, or another way" : verdicts.notice));
        }
        measured_ = options_.measure == Measuring::none;
        auto profile = read_profile_cache(file("profile", "json"), key_);
        if (profile.stored && (options_.measure != Measuring::full || !profile.stored->profile.quick)) {
            profile_ = std::move(profile.stored->profile);
            measured_ = true;
        } else if (!profile.notice.empty() && !measured_) {
            prepared_.notices.push_back(fmt::format("the stored profile is not used: {}", profile.notice));
        }
        if (!measured_ && !sees_all_) {
            prepared_.notices.emplace_back("not measured: this process does not see all of the devices");
            measured_ = true;
        }
        prepared_.from_cache = proven_ && measured_;
        return prepared_.from_cache;
    }

    void locked() {
        preparing::MachineLock lock(file("prepare", "lock"));
        if (!lock.acquire(options_.wait_s, [&](const std::string& what) { tell(true, what, nullptr); })) {
            throw Error({code::not_ready, "prepare", -1, -1,
                         fmt::format("another process has been at work on these devices for {:.0f} s: {}",
                                     options_.wait_s, file("prepare", "lock"))});
        }
        prepared_.waited = lock.waited();
        if (lock.waited()) {
            if (stored()) {
                return;
            }
            if (auto const why = lock.failure()) {  // trying again would make the last of many wait for all of them
                throw Error({code::unknown, "prepare, by the process that this one waited for", -1, -1, *why});
            }
        }
        try {
            work(&lock);
        } catch (const std::exception& error) {
            lock.fail(error.what());
            throw;
        }
        lock.release();
    }

    void work(preparing::MachineLock* lock) {
        if (!proven_) {
            prove_now(lock);
        }
        if (!measured_) {
            measure_now(lock);
        }
    }

    void note(const std::string& why, const char* what) {
        if (!why.empty()) {
            prepared_.notices.push_back(fmt::format("{} could not be kept: {}", what, why));
        }
    }

    std::unique_ptr<prove::ProbeHost> host() const {
        if (options_.host) {
            return options_.host();
        }
        if (driver_.simulated()) {
            if (!sees_all_) {
                throw std::invalid_argument("prepare: a simulated driver proves only devices of its own");
            }
            return std::make_unique<HostOnDriver>(driver_, ordinals_);
        }
        if (options_.prober.empty()) {
            throw std::invalid_argument("prepare: real devices are proven in a child: name peerlane-probe as `prober`");
        }
        prove::ChildOptions child{.helper = options_.prober};
        // The child sees just the set, in its order, whatever this process sees.
        std::string visible;
        for (auto const& device : prepared_.whole.devices) {
            if (!device.uuid) {
                return prove::child_host(std::move(child));
            }
            visible += (visible.empty() ? "" : ",") + *device.uuid;
        }
        constexpr const char* env = "/usr/bin/env";
        if (std::error_code error; std::filesystem::exists(env, error)) {
            child.arguments = {"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=" + visible, child.helper};
            child.helper = env;
        } else if (!sees_all_) {
            throw std::invalid_argument("prepare: /usr/bin/env is needed to show the child all of the devices");
        }
        return prove::child_host(std::move(child));
    }

    void prove_now(preparing::MachineLock* lock) {
        auto& verdicts = prepared_.proven;
        if (prepared_.whole.pairs.empty()) {
            verdicts = {};
            verdicts.simulated = driver_.simulated();
            verdicts.status = Status::healthy;
        } else {
            prove::ProveOptions options;
            options.checks.push_back(Check::atomic);
            options.seed = options_.seed;
            options.seconds_per_step = options_.seconds_per_step;
            options.simulated = driver_.simulated();
            auto const steps = prove::proof_steps(prepared_.whole, options).size();
            std::size_t begun = 0;
            options.begin = [&](const prove::ProbeStep& step) {
                tell(false, fmt::format("proving {} ({} of {})", prove::describe(step), ++begun, steps), lock);
            };
            tell(false, "starting to prove", lock);
            verdicts = prove::prove(*host(), prepared_.whole, options);
            if (verdicts.status == Status::inconclusive) {
                throw Error({code::unknown, "prepare", -1, -1,
                             "nothing can be told of these devices (the control arm is not right, or nothing ran): run "
                             "peerlane doctor"});
            }
        }
        proven_ = true;
        if (lock != nullptr) {
            note(write_verdict_cache(file("verdicts", "json"), {key_, verdicts}), "verdicts");
        }
    }

    void measure_now(preparing::MachineLock* lock) {
        auto const verdicts = preparing::renumbered(prepared_.proven, ordinals_);
        MeasureOptions options;
        options.verdicts = &verdicts;
        options.quick = options_.measure == Measuring::quick;
        options.devices = ordinals_;
        std::sort(options.devices.begin(), options.devices.end());
        options.machine = &prepared_.machine;
        options.nodes = measuring::host_nodes(prepared_.machine);
        options.key = profile_key(key_);
        if (!driver_.simulated()) {
            auto const now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
            options.taken_at =
                fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
        }
        options.progress = [&](const MeasureProgress& progress) {
            tell(false, fmt::format("measuring, {:.0f} %", progress.part * 100), lock);
        };
        auto const measured = measure(driver_, options);
        preparing::Numbers people(driver_.machine().devices.size(), -1);
        for (std::size_t i = 0; i < ordinals_.size(); ++i) {
            people[static_cast<std::size_t>(ordinals_[i])] = static_cast<int>(i);
        }
        profile_ = preparing::renumbered(measured, people);
        if (!profile_.complete) {
            throw Error({code::unknown, "measure", -1, -1,
                         "the devices stopped to answer while they were measured: run peerlane doctor"});
        }
        measured_ = true;
        if (lock != nullptr) {
            note(write_profile_cache(file("profile", "json"), {key_, profile_}), "the profile");
        }
    }

    Driver& driver_;
    const PrepareOptions& options_;
    Clock::time_point began_;
    std::optional<Discovery> discovery_{};
    Prepared prepared_{};
    Profile profile_{};              ///< numbered as `whole`
    preparing::Numbers ordinals_{};  ///< of each device of `whole`; -1: not seen
    bool sees_all_ = false, proven_ = false, measured_ = false;
    CacheKey key_{};
};

}  // namespace

Machine known_machine(Driver& driver) {
    return known_from(driver.simulated() ? std::nullopt : std::optional(discover()), driver);
}

Prepared prepare(Driver& driver, const PrepareOptions& options) {
    return Preparation(driver, options).result();
}

}  // namespace peerlane
