#include "measure/bench.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "kernels/copy.hpp"
#include "kernels/kernel.hpp"

namespace peerlane::measuring {
namespace {

/// Nothing that was proven takes longer than at this rate, and the machine gets some seconds beside.
constexpr double slowest_gbs = 0.01;
constexpr double patience_s = 20;

constexpr std::uint64_t least_memory = MiB;

}  // namespace

Bench::Bench(Driver& driver, std::uint64_t most_bytes, std::function<bool()> stopped)
    : driver_(driver), most_bytes_(std::max(most_bytes, least_memory)), stopped_(std::move(stopped)) {}

Bench::~Bench() {
    if (usable_) {
        try {
            unmap_all();
        } catch (const std::exception&) {  // the process ends its mappings anyway
        }
    }
}

void Bench::unmap_all() {
    auto const ours = std::exchange(ours_, {});
    reached_.clear();
    for (auto const& [accessor, owner] : ours) {
        driver_.disable_access({accessor, owner});
    }
}

const Allocation& Bench::memory(Place place) {
    auto const found = memory_.find(place);
    if (found != memory_.end()) {
        return found->second;
    }
    auto bytes = most_bytes_;
    if (place.is_device()) {  // others may use the device
        auto const room = driver_.free_bytes(place.index) / 4;
        while (bytes > room && bytes > least_memory) {
            bytes /= 2;
        }
    }
    for (;; bytes /= 2) {
        try {
            auto const kind = place.is_device() ? MemoryKind::plain : MemoryKind::pinned;
            return memory_.emplace(place, Allocation(driver_, {place, bytes, kind})).first->second;
        } catch (const Error& error) {
            if (error.code() != code::out_of_memory || bytes <= least_memory) {
                throw;
            }
        }
    }
}

StreamView Bench::stream(int device, std::size_t lane) {
    auto found = streams_.find({device, lane});
    if (found == streams_.end()) {
        found = streams_.emplace(std::pair(device, lane), Stream(driver_, device)).first;
    }
    return found->second.view();
}

EventView Bench::timer(int device, std::size_t index) {
    auto found = timers_.find({device, index});
    if (found == timers_.end()) {
        found = timers_.emplace(std::pair(device, index), Event(driver_, device, true)).first;
    }
    return found->second.view();
}

bool Bench::map(int accessor, int owner) {
    auto const edge = std::pair(accessor, owner);
    if (accessor == owner || reached_.count(edge) > 0) {
        return true;
    }
    auto outcome = driver_.enable_access({accessor, owner});
    if (outcome.kind == MappingOutcome::Kind::no_slot) {  // slots that we hold for other peers are given back
        unmap_all();
        outcome = driver_.enable_access({accessor, owner});
    }
    if (outcome.kind == MappingOutcome::Kind::done) {  // "already" belongs to somebody else
        ours_.insert(edge);
    }
    if (outcome.usable()) {
        reached_.insert(edge);
    }
    return outcome.usable();
}

bool Bench::map(const Leg& leg) {
    if (!leg.from.is_device() || !leg.to.is_device() || leg.from == leg.to) {
        return true;
    }
    auto const issuer = leg.issuer.index;
    auto const other = leg.issuer == leg.from ? leg.to.index : leg.from.index;
    return map(issuer, other) || (leg.engine == Engine::copy && map(other, issuer));
}

void Bench::issue(const Leg& leg, StreamView stream, Location to, Location from, std::uint64_t bytes) {
    if (leg.engine == Engine::kernel) {
        CopyArguments const arguments{to.address, from.address, bytes, 16};
        driver_.launch(stream, copy_kernel, &arguments, {copy_ctas(bytes), 512});
        return;
    }
    auto const peers = to.place.is_device() && from.place.is_device() && to.place != from.place;
    driver_.copy(stream, {to, from, bytes, peers ? CopyApi::peer : CopyApi::automatic});
}

void Bench::finish(StreamView stream, std::uint64_t bytes) {
    auto found = done_.find(stream.device);
    if (found == done_.end()) {
        found = done_.emplace(stream.device, Event(driver_, stream.device)).first;
    }
    auto const done = found->second.view();
    driver_.record(done, stream);
    if (!driver_.wait_for(done, patience_s + static_cast<double>(bytes) / (slowest_gbs * 1e9))) {
        throw Lost{fmt::format("work on gpu{} did not end", stream.device)};
    }
}

void Bench::look() const {
    if (stopped_ && stopped_()) {
        throw Stopped{};
    }
}

std::vector<double> Bench::sampled(const StopRule& rule, const std::function<double()>& sample) const {
    std::vector<double> samples;
    while (!enough(samples, rule)) {
        look();
        samples.push_back(sample());
    }
    return samples;
}

void Bench::abandon() {
    usable_ = false;
    for (auto& [place, memory] : memory_) {
        memory.release();
    }
    for (auto& [key, stream] : streams_) {
        stream.release();
    }
    ours_.clear();
    reached_.clear();
}

}  // namespace peerlane::measuring
