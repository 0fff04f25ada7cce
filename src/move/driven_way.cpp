#include "move/driven_way.hpp"

#include <algorithm>

#include <peerlane/units.hpp>

#include "move/executor.hpp"

namespace peerlane::move {
namespace {

constexpr std::uint64_t most_direct_chunk = 64 * MiB, most_staged_chunk = 16 * MiB;

}  // namespace

DrivenWay::DrivenWay(Driver& driver, Resources& resources, const Route& route) : driver_(driver), route_(route) {
    // The host looks only now and then: one chunk more than there are legs keeps every leg at work.
    auto depth = route.legs.size() + 2;
    chunk_ = route.legs.size() == 1 ? most_direct_chunk : most_staged_chunk;
    for (std::size_t i = 0; i + 1 < route.legs.size(); ++i) {
        auto* const ring = resources.staging().take(route.legs[i].to, chunk_ * depth, granule);
        if (ring == nullptr) {
            for (auto* const taken : rings_) {
                Staging::release(*taken);
            }
            rings_.clear();
            return;
        }
        rings_.push_back(ring);
        auto const slots = fit(ring->bytes(), chunk_, static_cast<int>(depth), granule);
        chunk_ = std::min(chunk_, slots.chunk);
        depth = std::min(depth, static_cast<std::size_t>(slots.buffers));
    }
    for (auto const& leg : route.legs) {
        resources.map(leg);
        streams_.emplace_back(driver, leg.issuer.index);
    }
    for (std::size_t i = 0; i < rings_.size(); ++i) {
        if (rings_[i]->released()) {
            driver.wait(streams_[i].view(), *rings_[i]->released());
        }
    }
    for (std::size_t slot = 0; slot < depth; ++slot) {
        auto& of_slot = events_.emplace_back();
        for (auto const& leg : route.legs) {
            of_slot.emplace_back(driver, leg.issuer.index);
        }
    }
    depth_ = depth;
    usable_ = true;
}

void DrivenWay::give_back(Resources& resources) {
    for (std::size_t i = 0; i < rings_.size(); ++i) {
        resources.staging().release(*rings_[i], streams_[i + 1].view());
    }
    rings_.clear();
    usable_ = false;
}

void DrivenWay::after(EventView event) {
    for (auto const& stream : streams_) {
        driver_.wait(stream.view(), event);
    }
}

void DrivenWay::submit(Range range, Location to, Location from) {
    auto const slot = next_slot_;
    next_slot_ = (next_slot_ + 1) % depth_;
    auto const& legs = route_.legs;
    for (std::size_t i = 0; i < legs.size(); ++i) {
        auto const buffer = [&](std::size_t ring) { return rings_[ring]->address() + slot * chunk_; };
        if (i > 0) {
            driver_.wait(streams_[i].view(), events_[slot][i - 1].view());
        }
        issue(driver_, legs[i], streams_[i].view(), i + 1 == legs.size() ? to.address + range.begin : buffer(i),
              i == 0 ? from.address + range.begin : buffer(i - 1), range.bytes, false);
        driver_.record(events_[slot][i].view(), streams_[i].view());
    }
    under_way_.push_back({range, slot, driver_.now()});
}

bool DrivenWay::reached(std::size_t leg, EventView event, double seconds) {
    try {
        return seconds > 0 ? driver_.wait_for(event, seconds) : driver_.query(event);
    } catch (const Error& error) {
        if (error.info().sticky) {
            throw;
        }
        if (!failure_) {
            failure_ = Failure{route_.legs[leg], error.info()};
        }
        return true;
    }
}

bool DrivenWay::wait(double seconds) {
    if (under_way_.empty()) {
        return true;
    }
    auto const& events = events_[under_way_.front().slot];
    return reached(route_.legs.size() - 1, events.back().view(), seconds);
}

std::uint64_t DrivenWay::reap() {
    std::uint64_t arrived = 0;
    while (!under_way_.empty() && !failure_) {
        auto const& chunk = under_way_.front();
        // In order: an error of an early leg is found before the late one is believed.
        for (std::size_t leg = 0; leg < route_.legs.size(); ++leg) {
            if (!reached(leg, events_[chunk.slot][leg].view(), 0) || failure_) {
                return arrived;
            }
        }
        auto const now = driver_.now();
        auto const began = std::max(chunk.start_s, latest_end_s_);
        if (now > began) {
            auto const seen = static_cast<double>(chunk.range.bytes) / (now - began);
            rate_ = rate_ == 0 ? seen : 0.5 * rate_ + 0.5 * seen;
        }
        latest_end_s_ = now;
        arrived += chunk.range.bytes;
        done_ += chunk.range.bytes;
        under_way_.pop_front();
    }
    return arrived;
}

std::optional<std::vector<Range>> DrivenWay::lost() {
    std::vector<Range> ranges;
    for (auto const& chunk : under_way_) {
        for (std::size_t leg = 0; leg < route_.legs.size(); ++leg) {
            if (!reached(leg, events_[chunk.slot][leg].view(), 0)) {
                return std::nullopt;
            }
        }
        ranges.push_back(chunk.range);
    }
    under_way_.clear();
    return ranges;
}

}  // namespace peerlane::move
