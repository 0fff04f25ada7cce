#include "move/resources.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "move/reach.hpp"

namespace peerlane::move {
namespace {

constexpr std::size_t most_failures = 16;

}  // namespace

Resources::Resources(Driver& driver, std::uint64_t staging_bound)
    : driver_(driver),
      life_(Life::mover),
      bound_(staging_bound),
      staging_(driver, staging_bound),
      devices_(static_cast<std::size_t>(driver.device_count())),
      mapped_(new std::atomic<Mapped>[devices_ * devices_]) {
    for (std::size_t i = 0; i < devices_ * devices_; ++i) {
        mapped_[i].store(Mapped::unknown, std::memory_order_relaxed);
    }
}

Resources::Resources(const Resources& of_mover, std::uint64_t staging_bound)
    : driver_(of_mover.driver_),
      life_(Life::graph),
      bound_(staging_bound),
      staging_(driver_, staging_bound),
      devices_(of_mover.devices_),
      mapped_(of_mover.mapped_) {}

Resources::~Resources() {
    if (life_ == Life::graph) {
        return;
    }
    try {
        drain();
    } catch (const std::exception&) {
        // A device error or a hang: nothing is left to wait for, and a destructor has nobody to tell. check() told
        // before.
    }
}

void Resources::add_buffers(Lane& lane, const Route& route) {
    for (std::size_t i = 0; i + 1 < route.legs.size(); ++i) {
        while (lane.filled[i].size() < static_cast<std::size_t>(route.buffers)) {
            lane.filled[i].emplace_back(driver_, route.legs[i].issuer.index);
            lane.drained[i].emplace_back(driver_, route.legs[i + 1].issuer.index);
        }
    }
}

Lane Resources::make(const Route& route) {
    Lane lane;
    for (auto const& leg : route.legs) {
        lane.streams.emplace_back(driver_, leg.issuer.index);
    }
    lane.last = Event(driver_, route.legs.back().issuer.index);
    lane.filled.resize(route.legs.size() - 1);
    lane.drained.resize(route.legs.size() - 1);
    return lane;
}

bool Resources::idle(Lane& lane) {
    try {
        return driver_.query(lane.last.view());
    } catch (const Error& error) {
        if (error.info().sticky) {
            throw;
        }
        note(lane.legs.back(), error);
        return true;
    }
}

Lane& Resources::lane_of(const Route& route) {
    std::vector<int> issuers;
    for (auto const& leg : route.legs) {
        issuers.push_back(leg.issuer.index);
    }
    auto& shape = lanes_[issuers];
    if (life_ == Life::graph) {
        shape.lanes.push_back(make(route));
        return shape.lanes.back();
    }
    auto const count = shape.lanes.size();
    for (std::size_t i = 0; i < count; ++i) {  // the oldest is the likeliest to be idle
        auto& lane = shape.lanes[(shape.next + i) % count];
        if (!lane.in_use && idle(lane)) {
            shape.next = (shape.next + i + 1) % count;
            return lane;
        }
    }
    auto const all_in_use =
        std::all_of(shape.lanes.begin(), shape.lanes.end(), [](const Lane& lane) { return lane.in_use; });
    if (count < most_lanes || all_in_use) {
        shape.lanes.push_back(make(route));
        return shape.lanes.back();
    }
    do {
        shape.next = (shape.next + 1) % count;
    } while (shape.lanes[shape.next].in_use);
    return shape.lanes[shape.next];
}

Ring* Resources::ring_for(Place place, std::uint64_t chunk, int buffers, std::uint64_t unit) {
    auto const bytes = chunk * static_cast<unsigned>(buffers);
    if (life_ == Life::mover) {
        return staging_.take(place, bytes, unit);
    }
    if (graph_bytes_ + bytes > bound_) {
        return nullptr;
    }
    try {
        graph_rings_.emplace_back(driver_, place, bytes);
    } catch (const Error& error) {
        if (error.code() != code::out_of_memory) {
            throw;
        }
        return nullptr;
    }
    graph_bytes_ += bytes;
    return &graph_rings_.back();
}

Lane* Resources::take(const Route& route, std::uint64_t unit) {
    std::vector<Ring*> rings;
    auto chunk = route.chunk;
    auto buffers = route.buffers;
    for (std::size_t i = 0; i + 1 < route.legs.size(); ++i) {
        auto* const ring = ring_for(route.legs[i].to, chunk, buffers, unit);
        if (ring == nullptr) {
            std::for_each(rings.begin(), rings.end(), [](Ring* taken) { Staging::release(*taken); });
            return nullptr;
        }
        rings.push_back(ring);
        auto const slots = fit(ring->bytes(), chunk, buffers, unit);
        chunk = slots.chunk;
        buffers = slots.buffers;
    }
    auto& lane = lane_of(route);
    add_buffers(lane, route);
    lane.rings = std::move(rings);
    lane.chunk = chunk;
    lane.buffers = buffers;
    lane.legs = route.legs;
    lane.in_use = true;
    return &lane;
}

void Resources::begin(Lane& lane, EventView entry) {
    for (std::size_t i = 0; i < lane.streams.size(); ++i) {
        driver_.wait(lane.streams[i].view(), entry);
        if (i < lane.rings.size() && lane.rings[i]->released()) {
            driver_.wait(lane.streams[i].view(), *lane.rings[i]->released());
        }
    }
}

void Resources::end(Lane& lane, StreamView stream) {
    driver_.record(lane.last.view(), lane.streams.back().view());
    for (std::size_t i = 0; i < lane.rings.size() && life_ == Life::mover; ++i) {
        staging_.release(*lane.rings[i], lane.streams[i + 1].view());
    }
    lane.rings.clear();
    lane.in_use = false;
    driver_.wait(stream, lane.last.view());
}

void Resources::cancel(Lane& lane) {
    for (auto* const ring : lane.rings) {
        Staging::release(*ring);
    }
    lane.rings.clear();
    lane.in_use = false;
}

void Resources::abandon(Lane& lane, StreamView stream) noexcept {
    try {
        end(lane, stream);
    } catch (const std::exception&) {
        cancel(lane);  // the first error tells more
    }
}

Event& Resources::entry(int device) {
    auto found = entries_.find(device);
    if (found == entries_.end()) {
        found = entries_.emplace(device, Event(driver_, device)).first;
    }
    return found->second;
}

void Resources::map(int issuer, Place a, Place b, bool must) {
    for (auto const place : {a, b}) {
        if (!place.is_device() || place.index == issuer) {
            continue;
        }
        auto& known = mapped_[static_cast<std::size_t>(issuer) * devices_ + static_cast<std::size_t>(place.index)];
        auto state = known.load(std::memory_order_acquire);
        if (state == Mapped::yes || (state == Mapped::no && !must)) {
            continue;
        }
        auto const outcome = driver_.enable_access({issuer, place.index});
        known.store(outcome.usable() ? Mapped::yes : Mapped::no, std::memory_order_release);
        if (!outcome.usable() && must) {
            throw Error({outcome.code != 0 ? outcome.code : code::too_many_peers, "enable_access", issuer, place.index,
                         "a kernel cannot reach this memory: take a staged route"});
        }
    }
}

void Resources::open_to_copies(int issuer, Address at) {
    constexpr std::uint32_t copies_a_look = 64;
    constexpr std::size_t most_remembered = 4096;
    auto const where = driver_.whereabouts(at);
    if ((where.kind != MemoryKind::pool && where.kind != MemoryKind::virtual_memory) || where.place == gpu(issuer)) {
        return;
    }
    if (opened_.size() >= most_remembered) {
        opened_.clear();
    }
    if (opened_[{where.base, issuer}]++ % copies_a_look != 0) {
        return;
    }
    try {
        make_reachable(driver_, *this, issuer, at);
    } catch (const Error& error) {
        if (error.info().sticky) {
            throw;
        }
    }
}

void Resources::of_each_stream(const std::function<void(StreamView)>& call) {
    for (auto& [issuers, lanes] : lanes_) {
        for (auto& lane : lanes.lanes) {
            for (std::size_t i = 0; i < lane.streams.size(); ++i) {
                try {
                    call(lane.streams[i].view());
                } catch (const Error& error) {
                    if (error.info().sticky) {
                        throw;
                    }
                    note(i < lane.legs.size() ? lane.legs[i] : Leg{}, error);
                }
            }
        }
    }
}

bool Resources::all_idle() {
    return std::all_of(lanes_.begin(), lanes_.end(), [&](auto& shape) {
        return std::all_of(shape.second.lanes.begin(), shape.second.lanes.end(),
                           [&](Lane& lane) { return idle(lane); });
    });
}

void Resources::look() {
    of_each_stream([&](StreamView stream) { static_cast<void>(driver_.query(stream)); });
}

void Resources::drain() {
    of_each_stream([&](StreamView stream) { driver_.synchronize(stream); });
}

void Resources::note(const Leg& leg, const Error& error) {
    if (failures_.size() < most_failures) {
        failures_.push_back({leg, error.info()});
    }
}

bool Resources::take_failure(Failure& failure) {
    if (failures_.empty()) {
        return false;
    }
    failure = std::move(failures_.front());
    failures_.pop_front();
    return true;
}

void make_reachable(Driver& driver, Resources& resources, int issuer, Address at) {
    make_reachable(driver, resources, issuer, at, driver.provenance(at));
}

void make_reachable(Driver& driver, Resources& resources, int issuer, Address at, const Provenance& found) {
    if (!reaches(found, issuer)) {
        resources.map({found.place, gpu(issuer), Engine::kernel, gpu(issuer)});
        grant_reach(driver, issuer, at, found, "map");
    }
}

}  // namespace peerlane::move
