// Links that go down, and pairs that collapse when many move at once.

#include <algorithm>
#include <set>

#include "driver/sim/live.hpp"

namespace peerlane::sim {

const Fault* Engine::link_fault(const Live& live) const {
    auto const [source, destination] = live.between;
    if (source < 0) {
        return nullptr;
    }
    auto const* const there = truth_.fault(Fault::What::link, source, destination);
    return there != nullptr ? there : truth_.fault(Fault::What::link, destination, source);
}

bool Engine::link_up(Live& live) {
    auto const* const fault = link_fault(live);
    if (fault == nullptr) {
        return true;
    }
    if (fault->number > now_) {
        schedule(fault->number, live.id, Event::What::cut);
        return true;
    }
    fail(live, code::link_failed, false, live.op.device,
         live.between.first == live.op.device ? live.between.second : live.between.first,
         "the simulated machine has this fault: " + to_string(*fault));
    return false;
}

void Engine::cut_off(Live& live) {
    // A kernel may be at something else by now.
    if (live.flowing && link_fault(live) != nullptr) {
        stop_flow(live);
        static_cast<void>(link_up(live));
    }
}

bool Engine::host_path_works(Live& live, const Block& to, const Block& from) {
    if (!to.place.is_device() || !from.place.is_host()) {
        return true;
    }
    auto const& copy = live.op.copy;
    for (auto const& stretch : from.stored->contents.read(copy.from.address - from.base, copy.bytes)) {
        auto const via = static_cast<int>(stretch.content.via);
        if (via < 0 || via == to.place.index) {
            continue;
        }
        auto const* const fault = truth_.fault(Fault::What::host, via, to.place.index, copy.bytes);
        if (fault == nullptr) {
            return true;
        }
        if (fault->effect == Fault::Effect::scale) {
            auto cap = live.way.cap;
            for (auto const& use : live.way.uses) {
                cap = std::min(cap, truth_.network.capacity[static_cast<std::size_t>(use.link)] / use.weight);
            }
            live.way.cap = cap * fault->number;
        }
        return passes(live, fault, via, to.place.index);
    }
    return true;
}

void Engine::limit_together() {
    std::set<std::pair<int, int>> moving;
    auto const* collapse = static_cast<const Fault*>(nullptr);
    for (auto const& fault : truth_.faults) {
        collapse = fault.what == Fault::What::together ? &fault : collapse;
    }
    if (collapse == nullptr) {
        return;
    }
    for (auto const& [flow, op] : flow_owner_) {
        auto const& live = *live_.at(op);
        if (live.between.first >= 0) {
            moving.insert(live.between);
        }
    }
    auto const together = static_cast<int>(moving.size()) >= collapse->a;
    for (auto const& [flow, op] : flow_owner_) {
        auto const& live = *live_.at(op);
        if (live.between.first >= 0) {
            sharing_.set_cap(flow, together ? std::min(live.way.cap, collapse->number * 1e9) : live.way.cap);
        }
    }
}

}  // namespace peerlane::sim
