#include "prove/bench.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

namespace peerlane::prove {

Bench::~Bench() {
    if (!usable_) {
        return;
    }
    try {
        unmap();
    } catch (const std::exception&) {  // the process ends its mappings anyway
    }
}

void Bench::unmap() {
    auto const mapped = std::exchange(mapped_, {});
    for (auto const& [edge, outcome] : mapped) {
        if (outcome.kind == MappingOutcome::Kind::done) {  // "already" belongs to somebody else
            driver_.disable_access({edge.first, edge.second});
        }
    }
}

void Bench::focus(const std::set<int>& devices) {
    if (devices_ == devices) {
        return;
    }
    unmap();
    devices_ = devices;
    ring_ = {};
    ring_of_ = {-1, -1};
    for (auto at = sides_.begin(); at != sides_.end();) {
        at = devices.count(at->first) != 0 ? std::next(at) : sides_.erase(at);
    }
}

const MappingOutcome& Bench::map(int accessor, int owner) {
    auto const edge = std::pair(accessor, owner);
    auto const known = mapped_.find(edge);
    if (known != mapped_.end()) {
        return known->second;
    }
    return mapped_.emplace(edge, driver_.enable_access({accessor, owner})).first->second;
}

Side& Bench::side(int device, std::uint64_t bytes) {
    auto& side = sides_[device];
    if (side.memory.bytes() == 0 && side.stream.view().handle == StreamView::legacy) {
        side.stream = Stream(driver_, device);
        side.done = Event(driver_, device);
        side.start = Event(driver_, device, true);
        side.end = Event(driver_, device, true);
    }
    if (side.memory.bytes() < bytes) {
        side.memory = {};  // first, so that the two never count together
        try {
            side.memory = Allocation(driver_, {gpu(device), bytes});
        } catch (const Error& error) {
            if (error.code() != code::out_of_memory) {
                throw;
            }
            throw NotTried{fmt::format("device {} has no {} left", device, size_text(bytes))};
        }
    }
    return side;
}

Ring& Bench::ring(int source, int destination) {
    if (ring_of_ != std::pair(source, destination)) {
        ring_of_ = {-1, -1};
        ring_.filled.clear();
        ring_.drained.clear();
        if (ring_.memory.bytes() == 0) {
            ring_.memory = Allocation(driver_, {host(), Ring::chunk * Ring::slots, MemoryKind::pinned});
        }
        for (int i = 0; i < Ring::slots; ++i) {
            ring_.filled.emplace_back(driver_, source);
            ring_.drained.emplace_back(driver_, destination);
        }
        ring_of_ = {source, destination};
    }
    return ring_;
}

Address Bench::pinned() {
    if (pinned_.bytes() == 0) {
        pinned_ = Allocation(driver_, {host(), pinned_bytes, MemoryKind::pinned});
    }
    return pinned_.address();
}

void Bench::wait(int device) {
    auto& side = sides_.at(device);
    driver_.record(side.done.view(), side.stream.view());
    if (!driver_.wait_for(side.done.view(), std::max(0.0, deadline_ - driver_.now()))) {
        throw TimeUp{};
    }
}

void Bench::abandon() {
    usable_ = false;
    for (auto& entry : sides_) {
        entry.second.stream.release();
        entry.second.memory.release();
    }
    pinned_.release();
    ring_.memory.release();
    mapped_.clear();
}

}  // namespace peerlane::prove
