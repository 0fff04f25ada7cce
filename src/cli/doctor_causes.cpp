#include "cli/doctor_causes.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include <fmt/format.h>

#include <peerlane/diagnose.hpp>
#include <peerlane/error.hpp>

#include "cli/status.hpp"
#include "machine/write/writers.hpp"

namespace peerlane::cli {
namespace {

constexpr int busy_from_percent = 90;

std::vector<Setting> settings_of(const CacheKey& key) {
    std::vector<Setting> settings;
    for (auto const& [name, value] : key.parts) {
        settings.push_back({name, value, "verdict cache"});
    }
    return settings;
}

OpenStep open_step_of(const RecordedStep& step, const std::string& file) {
    auto const about_a_pair = step.step.kind == prove::ProbeStep::Kind::check;
    return {file,
            describe(step.step),
            about_a_pair ? step.step.accessor : -1,
            about_a_pair ? step.step.owner : -1,
            step.run.boot_id,
            false};
}

/// Facts name devices by address, and give one to those of a description that has none.
std::string bus_of(const Device& device, const Facts& facts) {
    if (device.bus) {
        return *device.bus;
    }
    auto const found = std::find_if(facts.nvml.devices.begin(), facts.nvml.devices.end(),
                                    [&](const NvmlDevice& other) { return other.index == device.id; });
    return found == facts.nvml.devices.end() ? std::string() : found->bus;
}

/// The library counts over a period of up to a second: the first look may still hold what the prober did.
std::vector<DeviceActivity> live_looks(const std::string& bus) {
    std::vector<DeviceActivity> looks;
    for (int second = 1; second <= 2; ++second) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        for (auto& look : read_activity(system_nvml(), second, {10, 5, 15})) {
            if (look.bus == bus) {
                looks.push_back(std::move(look));
            }
        }
    }
    return looks;
}

bool joins_any(const std::vector<int>& devices, int a, int b) {
    return std::any_of(devices.begin(), devices.end(), [&](int device) { return device == a || device == b; });
}

/// Without the rates of these devices: others' work is in them.
Verdicts without_rates(Verdicts verdicts, const std::vector<int>& devices) {
    auto const forget = [](CheckResult& check) {
        check.gbs.reset();
        check.seconds.reset();
    };
    for (auto& pair : verdicts.pairs) {
        if (joins_any(devices, pair.accessor, pair.owner)) {
            std::for_each(pair.checks.begin(), pair.checks.end(), forget);
        }
    }
    for (auto& arm : verdicts.control) {
        if (joins_any(devices, arm.source, arm.destination)) {
            forget(arm.staged);
        }
    }
    for (auto& group : verdicts.groups) {
        auto const disturbed = std::any_of(group.pairs.begin(), group.pairs.end(), [&](auto const& pair) {
            return joins_any(devices, pair.first, pair.second);
        });
        if (disturbed) {
            group.gbs.reset();
            group.rates.clear();
        }
    }
    return verdicts;
}

/// What the verdicts are without the rates of disturbed devices; `status` and what to use are taken from there.
Verdicts rejudged(Examination& examination) {
    auto& verdicts = examination.verdicts;
    auto calm = without_rates(verdicts, examination.disturbed);
    judge(calm);
    for (std::size_t i = 0; i < verdicts.routes.size() && i < calm.routes.size(); ++i) {
        auto& route = verdicts.routes[i];
        if (joins_any(examination.disturbed, route.source, route.destination)) {
            route.use = calm.routes[i].use;
            route.engine = calm.routes[i].engine;
            route.issuer = calm.routes[i].issuer;
        }
    }
    auto const& tests = verdicts.self_tests;
    auto const all_see = !tests.empty() && std::all_of(tests.begin(), tests.end(), [](const SelfTest& test) {
        return test.found.result == Result::ok;
    });
    if (verdicts.pairs.empty() && examination.pairs.empty() && all_see) {  // one device: no pair to be wrong
        calm.status = Health::healthy;
    }
    verdicts.status = calm.status;
    return calm;
}

/// Steps beyond the first, which the facts have no room for: each as a cause of its own.
void add_other_interrupted(std::vector<Finding>& findings, const Machine& machine, const RunStory& story) {
    for (std::size_t i = 1; i < story.interrupted.size(); ++i) {
        Facts only;
        only.run.open_step = open_step_of(story.interrupted[i], story.record);
        for (auto& finding : diagnose(machine, only, {})) {
            if (finding.code == "probe-interrupted") {
                auto const place = std::find_if(findings.begin(), findings.end(), [](const Finding& other) {
                    return other.severity != Finding::Severity::error;
                });
                findings.insert(place, std::move(finding));
            }
        }
    }
}

}  // namespace

Facts facts_of(const Target& target, const Globals& globals) {
    Facts facts;
    if (target.simulated) {
        facts = healthy_facts(target.whole);
    } else if (target.discovery) {
        facts = peerlane::facts_of(*target.discovery);
        auto const& ordinals = target.numbering.ordinals();
        for (int ordinal = 0; target.driver && ordinal < target.driver->device_count(); ++ordinal) {
            auto const found = std::find(ordinals.begin(), ordinals.end(), ordinal);
            auto const* const device = target.whole.device(static_cast<int>(found - ordinals.begin()));
            facts.process.runtime_order.push_back(device == nullptr ? "" : device->bus.value_or(""));
        }
        facts.run.errors_before = read_pci_errors();
    }
    try {
        return apply_facts(std::move(facts), globals.faults);
    } catch (const InputError& error) {
        throw UsageError(error.reason());
    }
}

std::vector<int> devices_of_others(const Machine& machine, const Facts& facts) {
    std::vector<int> devices;
    for (auto const& device : machine.devices) {
        auto const bus = bus_of(device, facts);
        if (std::any_of(facts.process.device_users.begin(), facts.process.device_users.end(),
                        [&](const DeviceUser& user) { return !bus.empty() && user.bus == bus; })) {
            devices.push_back(device.id);
        }
    }
    return devices;
}

std::vector<DeviceActivity> look_at(const Target& target, const Globals& globals, const Facts& facts, int device) {
    auto const* const known = target.whole.device(device);
    if (known == nullptr) {
        return {};
    }
    if (!target.simulated) {
        return live_looks(bus_of(*known, facts));
    }
    auto const wedged = std::any_of(globals.faults.begin(), globals.faults.end(), [&](const Fault& fault) {
        return fault.what == Fault::What::wedge && (fault.a == device || fault.a == Fault::any);
    });
    auto const bus = bus_of(*known, facts);
    auto const told = std::any_of(facts.run.activity.begin(), facts.run.activity.end(),
                                  [&](const DeviceActivity& look) { return look.bus == bus; });
    if (told && !wedged) {  // by a fact
        return {};
    }
    if (!wedged) {
        return {{bus, 0, 60.0, 0, 1.0}, {bus, 0, 60.0, 0, 3.0}};
    }
    return {{bus, 100, 120.0, 0, 1.0}, {bus, 100, 120.0, 0, 3.0}};
}

std::string busy_evidence(const std::vector<DeviceActivity>& looks) {
    auto const busy = [](const DeviceActivity& look) {
        return look.busy_percent >= busy_from_percent && look.processes.value_or(0) == 0;
    };
    if (looks.empty() || !std::all_of(looks.begin(), looks.end(), busy)) {
        return {};
    }
    return fmt::format("{} % busy {} s after its prober was ended, and no process on it", looks.back().busy_percent,
                       looks.back().seconds_after);
}

void tell(Facts& facts, const RunStory& story) {
    if (!story.interrupted.empty()) {
        facts.run.open_step = open_step_of(story.interrupted.front(), story.record);
    }
    if (!facts.run.errors_before.empty() && !facts.simulated) {
        facts.run.errors_after = read_pci_errors();
    }
    facts.run.activity.insert(facts.run.activity.end(), story.looks.begin(), story.looks.end());
    if (story.stored) {
        facts.run.key = VerdictKey{false, settings_of(*story.stored), settings_of(story.now)};
    }
}

void add_causes(Examination& examination, const Facts& facts, const RunStory& story) {
    auto const calm = rejudged(examination);
    auto& findings = examination.verdicts.findings;
    findings = diagnose(examination.machine, facts, calm);
    add_other_interrupted(findings, examination.machine, story);
    if (!story.contradicted.empty()) {
        findings.push_back(
            {"path-changed", Finding::Severity::warn, {}, story.contradicted, "proven again in this run"});
    }
    std::set<std::string> would_show;
    for (auto const& unread : facts.unread) {
        if (unread.root_helps) {
            would_show.insert(unread.what);
        }
    }
    examination.root_would_show.assign(would_show.begin(), would_show.end());
}

std::string scrubbed(const Machine& machine) {
    auto copy = machine;
    for (auto& device : copy.devices) {
        if (device.uuid) {
            device.uuid = fmt::format("GPU-{}", device.id + 1);
        }
    }
    for (auto& file : copy.origin.files) {
        file = std::filesystem::path(file).filename().string();
    }
    copy.origin.hosts.clear();
    return write::json(copy);
}

std::string scrubbed(const Facts& facts) {
    return write_facts(scrub(facts), -1);
}

}  // namespace peerlane::cli
