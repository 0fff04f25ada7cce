#include "driver/sim/sim_driver.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/error.hpp>

namespace peerlane {

SimulatedMachine::SimulatedMachine(Machine machine)
    : machine_(std::move(machine)), figures_(std::make_shared<const sim::Figures>()) {}

SimulatedMachine::SimulatedMachine(Machine machine, std::string_view machine_json, const std::string& file)
    : machine_(std::move(machine)),
      figures_(std::make_shared<const sim::Figures>(sim::read_figures(machine_json, file))) {}

std::unique_ptr<Driver> open_simulated(const SimulatedMachine& machine, const SimOptions& options) {
    if (machine.machine().devices.empty()) {
        throw std::invalid_argument("open_simulated: the machine has no devices");
    }
    return std::make_unique<sim::SimDriver>(sim::make_truth(machine.machine(), machine.figures(), options),
                                            machine.machine(), options.progress);
}

}  // namespace peerlane

namespace peerlane::sim {
namespace {

constexpr std::uint64_t legacy_key(int device) {
    return 0x10 + static_cast<std::uint64_t>(device);
}

}  // namespace

SimDriver::SimDriver(Truth truth, Machine machine, SimProgress progress)
    : machine_(std::move(machine)), progress_(progress), engine_(std::move(truth)) {
    for (auto& pair : machine_.pairs) {
        pair.measured = {};  // the driver states facts; rates are for those who measure
        pair.claim = engine_.truth().claims(pair.accessor, pair.owner);
    }
    machine_.host.clear();
    for (auto const& device : machine_.devices) {
        streams_[legacy_key(device.id)] = StreamState{device.id, StreamKind::blocking};
    }
}

Capabilities SimDriver::capabilities(int device) const {
    engine_.memory().check_device(device, "capabilities");
    auto const& figures = engine_.truth().figures;
    auto const& stated = machine_.devices[static_cast<std::size_t>(device)].memory_bytes;
    return {figures.copy_engines,
            figures.multiprocessors,
            stated ? *stated : static_cast<std::uint64_t>(figures.device_memory_bytes),
            true,
            true,
            true,
            true};
}

std::string SimDriver::description() const {
    return fmt::format("simulated {}, {} devices", machine_.origin.name.empty() ? "machine" : machine_.origin.name,
                       machine_.devices.size());
}

double& SimDriver::clock() const {
    return clocks_.try_emplace(std::this_thread::get_id(), latest_).first->second;
}

void SimDriver::charge(double seconds) const {
    auto& time = clock();
    time += seconds;
    if (progress_ != SimProgress::when_waited) {
        time += progress_ == SimProgress::host_pauses ? pause() : 0.0;
        engine_.advance([&] { return engine_.fault().has_value(); }, time);
        changed_.notify_all();
    }
    latest_ = std::max(latest_, time);
}

double SimDriver::pause() const {
    auto mixed = (engine_.truth().seed + ++pauses_ * 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 29)) * 0x94d049bb133111ebULL;
    mixed ^= mixed >> 32;
    // Half of the calls come at once, some after a short copy, some after a long one.
    static constexpr std::array<double, 8> longest{0, 0, 0, 0, 5e-6, 5e-6, 50e-6, 2e-3};
    return longest[mixed % longest.size()] * static_cast<double>(mixed >> 11) * 0x1p-53;
}

void SimDriver::check_alive() const {
    if (engine_.fault()) {
        throw Error(*engine_.fault());
    }
}

void SimDriver::throw_errors(std::uint64_t stream) const {
    check_alive();
    if (auto error = engine_.take_error(stream)) {
        throw Error(std::move(*error));
    }
}

std::uint64_t SimDriver::key_of(StreamView view) const {
    if (view.handle == StreamView::legacy) {
        return legacy_key(view.device);
    }
    if (view.handle == StreamView::per_thread) {
        auto& key = per_thread_[{std::this_thread::get_id(), view.device}];
        if (key == 0) {
            key = ++handles_;
            streams_[key] = StreamState{view.device, StreamKind::blocking};
        }
        return key;
    }
    return view.handle;
}

StreamState& SimDriver::stream_of(StreamView view, const char* call) const {
    engine_.memory().check_device(view.device, call);
    auto const found = streams_.find(key_of(view));
    if (found == streams_.end() || found->second.destroyed || found->second.device != view.device) {
        throw Error({code::invalid_handle, call, view.device, -1, "no such stream on this device"});
    }
    return found->second;
}

EventState& SimDriver::event_of(EventView view, const char* call) const {
    auto const found = events_.find(view.handle);
    if (found == events_.end()) {
        throw Error({code::invalid_handle, call, view.device, -1, "no such event"});
    }
    return found->second;
}

bool SimDriver::progress_to(double time, const std::function<bool()>& met) {
    auto const held = engine_.advance(met, time);
    changed_.notify_all();
    return held;
}

void SimDriver::wait_until_done(Lock& lock, const std::function<bool()>& met, std::uint64_t stream, const char* call) {
    auto const alive_and_met = [&] { return met() || engine_.fault().has_value(); };
    auto const was_met = alive_and_met();
    while (!alive_and_met()) {
        if (engine_.advance(alive_and_met)) {
            break;
        }
        // Nothing can happen by itself any more. Another thread may still set a flag or queue work; alone, nobody will.
        auto const alone = clocks_.size() <= 1;
        auto const seen = engine_.live();
        if (alone || changed_.wait_for(lock, std::chrono::seconds(2)) == std::cv_status::timeout) {
            if (alive_and_met() || !engine_.idle() || engine_.live() != seen) {
                continue;
            }
            throw Error(
                {code::launch_timeout, call, -1, -1, "this work can never end: what it waits for will not come"});
        }
    }
    changed_.notify_all();
    auto const& figures = engine_.truth().figures;
    auto& time = clock();
    if (!was_met && engine_.now() > time) {
        time = engine_.now() + figures.sync_wake_s;
    } else {
        time += figures.sync_idle_s;
    }
    latest_ = std::max(latest_, time);
    throw_errors(stream);
}

bool SimDriver::stream_done(std::uint64_t key) const {
    auto const& stream = streams_.at(key);
    return engine_.done(stream.tail) &&
           std::all_of(stream.also.begin(), stream.also.end(), [&](OpId op) { return engine_.done(op); });
}

double SimDriver::now() const {
    Lock const lock(mutex_);
    return clock();
}

int SimDriver::last_error() const {
    Lock const lock(mutex_);
    return engine_.fault() ? engine_.fault()->code : 0;
}

// Mappings.

bool SimDriver::can_access(int accessor, int owner) const {
    Lock const lock(mutex_);
    engine_.memory().check_device(accessor, "can_access");
    engine_.memory().check_device(owner, "can_access");
    charge(engine_.truth().figures.can_access_s);
    return engine_.truth().claims(accessor, owner);
}

bool SimDriver::native_atomics(int accessor, int owner) const {
    Lock const lock(mutex_);
    engine_.memory().check_device(accessor, "native_atomics");
    engine_.memory().check_device(owner, "native_atomics");
    charge(engine_.truth().figures.can_access_s);
    return accessor == owner || (engine_.truth().figures.native_atomics && engine_.truth().claims(accessor, owner));
}

MappingOutcome SimDriver::enable_access(AccessEdge edge) {
    Lock const lock(mutex_);
    check_alive();
    auto const outcome = engine_.memory().enable(edge);
    charge(outcome.kind == MappingOutcome::Kind::done ? engine_.truth().figures.enable_s
                                                      : engine_.truth().figures.small_call_s);
    return outcome;
}

MappingOutcome SimDriver::disable_access(AccessEdge edge) {
    Lock lock(mutex_);
    check_alive();
    charge(engine_.truth().figures.disable_s);
    return engine_.memory().disable(edge);
}

MappingOutcome SimDriver::grant(PoolId pool, int accessor, Access access) {
    Lock const lock(mutex_);
    check_alive();
    charge(engine_.truth().figures.grant_s);
    return engine_.memory().grant(pool, accessor, access);
}

MappingOutcome SimDriver::grant(Address virtual_memory, int accessor, Access access) {
    Lock const lock(mutex_);
    check_alive();
    charge(engine_.truth().figures.grant_s);
    return engine_.memory().grant(virtual_memory, accessor, access);
}

ContextId SimDriver::create_context(int device) {
    Lock const lock(mutex_);
    check_alive();
    charge(0.1);
    return engine_.memory().create_context(device);
}

void SimDriver::destroy_context(ContextId context) {
    Lock const lock(mutex_);
    engine_.memory().destroy_context(context);
}

}  // namespace peerlane::sim
