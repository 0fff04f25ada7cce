#include "move/resources.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>
#include <peerlane/error.hpp>

namespace peerlane::move {

Resources::~Resources() {
    try {
        for (auto const& [shape, lanes] : lanes_) {
            for (auto const& lane : lanes.lanes) {
                for (auto const& stream : lane.streams) {
                    driver_.synchronize(stream.view());
                }
            }
        }
    } catch (const std::exception&) {
        // A device error or a hang: nothing is left to wait for, and a destructor has nobody to tell. check() told
        // before.
    }
}

Lane Resources::make(const Route& route) {
    Lane lane;
    lane.chunk = route.chunk;
    lane.buffers = route.buffers;
    for (std::size_t i = 0; i < route.legs.size(); ++i) {
        auto const issuer = route.legs[i].issuer.index;
        lane.streams.emplace_back(driver_, issuer);
        lane.last.emplace_back(driver_, issuer);
        if (i + 1 == route.legs.size()) {
            break;
        }
        auto const between = route.legs[i].to;
        lane.rings.emplace_back(driver_,
                                AllocationRequest{between, route.chunk * static_cast<std::uint64_t>(route.buffers),
                                                  between.is_host() ? MemoryKind::pinned : MemoryKind::plain});
        auto& filled = lane.filled.emplace_back();
        auto& drained = lane.drained.emplace_back();
        for (int b = 0; b < route.buffers; ++b) {
            filled.emplace_back(driver_, issuer);
            drained.emplace_back(driver_, route.legs[i + 1].issuer.index);
        }
    }
    return lane;
}

Resources::Lanes& Resources::lanes_of(const Route& route) {
    Shape shape;
    for (auto const& leg : route.legs) {
        shape.legs.emplace_back(leg.issuer, leg.to);
    }
    if (route.legs.size() > 1) {
        shape.chunk = route.chunk;
        shape.buffers = route.buffers;
    }
    auto& lanes = lanes_[shape];
    if (lanes.lanes.empty()) {
        lanes.lanes.push_back(make(route));
    }
    return lanes;
}

bool Resources::idle(const Lane& lane) {
    return std::all_of(lane.last.begin(), lane.last.end(),
                       [&](const Event& last) { return driver_.query(last.view()); });
}

Lane& Resources::take(const Route& route) {
    auto& lanes = lanes_of(route);
    for (auto& lane : lanes.lanes) {
        if (idle(lane)) {
            return lane;
        }
    }
    if (lanes.lanes.size() < most_lanes) {
        lanes.lanes.push_back(make(route));
        return lanes.lanes.back();
    }
    lanes.next = (lanes.next + 1) % lanes.lanes.size();
    return lanes.lanes[lanes.next];
}

Event& Resources::entry(int device) {
    auto found = entries_.find(device);
    if (found == entries_.end()) {
        found = entries_.emplace(device, Event(driver_, device)).first;
    }
    return found->second;
}

void Resources::map(const Leg& leg) {
    auto const accessor = leg.issuer.index;
    for (auto const place : {leg.from, leg.to}) {
        if (!place.is_device() || place.index == accessor || mapped_.count({accessor, place.index}) != 0) {
            continue;
        }
        auto const outcome = driver_.enable_access({accessor, place.index});
        if (outcome.usable()) {
            mapped_.insert({accessor, place.index});
        } else if (leg.engine == Engine::kernel) {
            throw Error({outcome.code != 0 ? outcome.code : code::too_many_peers, "enable_access", accessor,
                         place.index, "a kernel cannot reach this memory: take a staged route"});
        }
    }
}

}  // namespace peerlane::move
