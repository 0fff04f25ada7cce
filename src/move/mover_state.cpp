#include "move/mover_state.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

namespace peerlane {
namespace {

/// A copy call that comes sooner than this behind the last one into the same stream finds it at work: nobody can have
/// waited for it in between (a wait takes more than 2 us, and a small copy 10).
constexpr double close_s = 3e-6;

struct LatestCall {
    StreamView stream{-1, 0};
    double end_s = 0;
};
thread_local LatestCall latest_call;

std::uint64_t packed(const Leg& leg) {
    auto const place = [](Place p) {
        return static_cast<std::uint64_t>(p.is_host() ? 0x800 | (p.index + 1) : p.index);
    };
    return (place(leg.from) << 24) | (place(leg.to) << 12) | (static_cast<std::uint64_t>(leg.issuer.index) << 1) |
           (leg.engine == Engine::kernel ? 1U : 0U) | (std::uint64_t{1} << 63);
}

Leg unpacked(std::uint64_t word) {
    auto const place = [](std::uint64_t p) {
        auto const index = static_cast<int>(p & 0x7ffU);
        return (p & 0x800U) != 0 ? host(index - 1) : gpu(index);
    };
    return {place((word >> 24) & 0xfffU), place((word >> 12) & 0xfffU),
            (word & 1U) != 0 ? Engine::kernel : Engine::copy, gpu(static_cast<int>((word >> 1) & 0x7ffU))};
}

std::string pair_words(const Leg& leg) {
    return fmt::format("{} > {}", to_string(leg.from), to_string(leg.to));
}

}  // namespace

Mover::State::State(Driver& d, Ready r, const MoverOptions& o)
    : driver(d),
      ready(std::move(r)),
      options(o),
      planner(ready.machine, ready.verdicts, ready.profile,
              {ready.trust_claimed, std::max(o.staging_bytes, move::Staging::least_bound) / 4, {}}),
      resources(d, o.staging_bytes),
      executor(d),
      lists(d, ready, resources),
      pageable(d),
      buffers(d),
      decisions(ready.machine, [this](Place from, Place to, std::uint64_t bytes) { return decide(from, to, bytes); }),
      latest_(static_cast<std::size_t>(d.device_count())) {}

Choice Mover::State::choose(Place from, Place to, std::uint64_t bytes) const {
    return planner.explain(from, to, bytes);
}

void Mover::State::remember(const Leg& leg) noexcept {
    latest_[static_cast<std::size_t>(leg.issuer.index)].store(packed(leg), std::memory_order_relaxed);
}

bool Mover::State::behind_other_work(StreamView stream) const {
    return latest_call.stream == stream && driver.now() - latest_call.end_s < close_s;
}

void Mover::State::copy(Location to, Location from, const move::End& target, const move::End& source,
                        std::uint64_t bytes, StreamView stream) {
    auto& decision = decisions.find(from.place, to.place, bytes);
    auto const on_pageable = target.kind == MemoryKind::pageable || source.kind == MemoryKind::pageable;
    told([&] {
        if (driver.capturing(stream)) {
            if (on_pageable) {
                throw Error({code::capture_unsupported, "copy", -1, -1,
                             "pageable host memory cannot be copied by a graph: pin or register it; the capture goes "
                             "on"});
            }
            auto const& routes = decision.choice.routes;
            auto const direct =
                std::find_if(routes.begin(), routes.end(), [](const Route& r) { return r.legs.size() == 1; });
            auto route = direct != routes.end() ? *direct : routes.front();
            route.share = 1.0;
            record({route}, to, from, bytes, stream);
        } else if (on_pageable) {
            copy_pageable(decision, to, from, bytes, stream);
        } else {
            auto const open = target.open_to_kernels && source.open_to_kernels;
            decision.single ? copy_single(decision, to, from, open, bytes, stream)
                            : copy_split(decision, to, from, open, bytes, stream);
        }
    });
}

void Mover::State::open_ends(std::span<const Leg> legs, Location to, Location from) {
    for (auto const& leg : legs) {
        auto const open = [&](Place end, const Location& at) {
            if (end != at.place) {
                return;
            }
            if (leg.engine == Engine::kernel) {
                move::make_reachable(driver, resources, leg.issuer.index, at.address);
            } else if (leg.from.is_device() && leg.to.is_device() && end != leg.issuer) {
                resources.open_to_copies(leg.issuer.index, at.address);
            }
        };
        open(leg.to, to);
        open(leg.from, from);
    }
}

void Mover::State::copy_single(const move::Decision& decision, Location to, Location from, bool open,
                               std::uint64_t bytes, StreamView stream) {
    auto const* leg = &decision.leg;
    auto const* const side = from.place == gpu(stream.device) ? &decision.from_side
                             : to.place == gpu(stream.device) ? &decision.to_side
                                                              : nullptr;
    auto told_call = false;
    if (side != nullptr && *side) {
        leg = &*(*side)->behind;
        if ((*side)->idle && open) {
            leg = behind_other_work(stream) ? leg : &*(*side)->idle;
            told_call = true;
        }
    }
    if (!open) {
        std::lock_guard const lock(mutex);
        open_ends({leg, 1}, to, from);
    }
    remember(*leg);
    if (leg->issuer.index == stream.device) {
        executor.single_leg(*leg, to, from, bytes, stream, resources, false);
    } else {
        std::lock_guard const lock(mutex);
        executor.single_leg(*leg, to, from, bytes, stream, resources, false);
    }
    if (told_call) {
        latest_call = {stream, driver.now()};
    }
}

void Mover::State::copy_split(move::Decision& decision, Location to, Location from, bool open, std::uint64_t bytes,
                              StreamView stream) {
    std::lock_guard const lock(mutex);
    auto& adaptation = decision.adaptation_for(to.place == gpu(stream.device));
    auto const again = latest_split_.adaptation == &adaptation && latest_split_.stream == stream;
    if (!again && latest_split_.adaptation != nullptr) {
        latest_split_.adaptation->disturb();
    }
    auto const may_look = options.adapt && adaptation.curious(stream.device) && (again || resources.all_idle());
    latest_split_ = {&adaptation, stream};
    auto const how = adaptation.begin(driver, stream.device, may_look);
    for (auto const& route : adaptation.routes()) {
        if (!open) {
            open_ends(route.legs, to, from);
        }
        remember(route.legs.back());
    }
    executor.submit(adaptation.routes(), bytes, to, from, stream, resources, how);
    if (auto finding = adaptation.look(driver, from.place, to.place, decision.choice.bytes)) {
        findings.push_back(std::move(*finding));
    }
}

Place Mover::State::staging_near(int device) const {
    auto const numa = ready.machine.devices[static_cast<std::size_t>(device)].numa;
    return numa ? host(*numa) : host();
}

void Mover::State::copy_pageable(const move::Decision& decision, Location to, Location from, std::uint64_t bytes,
                                 StreamView stream) {
    auto const device = to.place.is_device() ? to.place.index : from.place.index;
    Leg const leg{from.place, to.place, Engine::copy, gpu(device)};
    std::lock_guard const lock(mutex);
    remember(leg);
    if (!pageable.copy(to, from, bytes, stream, staging_near(device), resources)) {
        static_cast<void>(decision);
        executor.single_leg(leg, to, from, bytes, stream, resources, false);
    }
}

void Mover::State::record(std::vector<Route> routes, Location to, Location from, std::uint64_t bytes,
                          StreamView stream) {
    std::lock_guard const lock(mutex);
    for (auto const& route : routes) {
        for (auto const& leg : route.legs) {
            if (leg.to == to.place) {
                move::make_reachable(driver, resources, leg.issuer.index, to.address);
            }
            if (leg.from == from.place) {
                move::make_reachable(driver, resources, leg.issuer.index, from.address);
            }
        }
    }
    auto const own = graph_resources();
    try {
        executor.submit(routes, bytes, to, from, stream, *own, {true, {}});
    } catch (...) {
        graphs.push_back(own);  // some of it may be recorded
        throw;
    }
    keep(own, stream);
}

Stream& Mover::State::exchange_stream(int device, std::size_t number) {
    auto& streams = exchange_streams_[device];
    while (streams.size() <= number) {
        streams.emplace_back(driver, device);
    }
    return streams[number];
}

Event& Mover::State::exchange_event(int device, std::size_t number) {
    auto& events = exchange_events_[device];
    auto found = events.find(number);
    if (found == events.end()) {
        found = events.emplace(number, Event(driver, device)).first;
    }
    return found->second;
}

std::shared_ptr<move::Resources> Mover::State::graph_resources() const {
    return std::make_shared<move::Resources>(resources, std::max(options.staging_bytes, move::Staging::least_bound));
}

void Mover::State::keep(const std::shared_ptr<move::Resources>& own, StreamView stream) {
    if (own->used() && !driver.keep_with_graph(stream, own)) {
        graphs.push_back(own);
    }
}

void Mover::State::carry_out(const Choice& choice, Location to, Location from, StreamView stream) {
    told([&] {
        if (driver.capturing(stream)) {
            record(choice.routes, to, from, choice.bytes, stream);
            return;
        }
        std::lock_guard const lock(mutex);
        for (auto const& route : choice.routes) {
            open_ends(route.legs, to, from);
            remember(route.legs.back());
        }
        executor.submit(choice.routes, choice.bytes, to, from, stream, resources);
    });
}

void Mover::State::throw_failure(const move::Failure& failure) {
    auto const& leg = failure.leg;
    auto dropped = false;
    decisions.for_each([&](move::Decision& decision) {
        for (auto* const adaptation : {decision.adaptation.get(), decision.to_adaptation.get()}) {
            dropped = (adaptation != nullptr && adaptation->drop(leg)) || dropped;
        }
    });
    if (dropped) {
        findings.push_back({"route-failed",
                            Finding::Severity::error,
                            {{leg.issuer.index, leg.issuer == leg.from && leg.to.is_device() ? leg.to.index
                                                : leg.from.is_device()                       ? leg.from.index
                                                                                             : leg.issuer.index}},
                            {fmt::format("{}: code {}, {}", describe(leg), failure.error.code, failure.error.cure)},
                            "routes over this leg are left out until the next mover; see peerlane doctor"});
    }
    auto info = failure.error;
    info.call = fmt::format("copy {} ({})", pair_words(leg), describe(leg));
    throw Error(std::move(info));
}

void Mover::State::throw_device_error(const Error& error) const {
    std::string latest;
    for (auto const& word : latest_) {
        if (auto const packed_leg = word.load(std::memory_order_relaxed); packed_leg != 0) {
            auto const leg = unpacked(packed_leg);
            latest += fmt::format("{}{} ({})", latest.empty() ? "" : ", ", pair_words(leg), describe(leg));
        }
    }
    auto info = error.info();
    info.cure = fmt::format(
        "a device error: it ends this process's use of its devices, and says nothing of whose memory it was. {}. "
        "Latest copies of this mover by device: {}. Likely cause: {}",
        info.cure.empty() ? "Start a new process" : info.cure, latest.empty() ? "none" : latest,
        info.code == code::illegal_address
            ? "a kernel, of this process, touched memory that is freed, out of range or not mapped for its device"
            : "see dmesg for the driver's own line (NVRM)");
    throw Error(std::move(info));
}

void Mover::State::check() {
    told([&] {
        std::lock_guard const lock(mutex);
        if (auto const code = driver.last_error(); code != 0) {
            throw Error({code, "check", -1, -1, "", true});
        }
        resources.look();
        move::Failure failure;
        if (resources.take_failure(failure)) {
            throw_failure(failure);
        }
    });
}

void Mover::State::synchronize() {
    told([&] {
        {
            std::lock_guard const lock(mutex);
            resources.drain();
        }
        pageable.drain();
        for (int device = 0; device < driver.device_count(); ++device) {
            auto const word = latest_[static_cast<std::size_t>(device)].load(std::memory_order_relaxed);
            if (word == 0) {
                continue;
            }
            try {
                driver.synchronize_device(device);
            } catch (const Error& error) {
                if (error.info().sticky) {
                    throw;
                }
                std::lock_guard const lock(mutex);
                resources.note(unpacked(word), error);
            }
        }
    });
    check();
}

}  // namespace peerlane
