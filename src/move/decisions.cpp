#include "move/decisions.hpp"

#include <algorithm>
#include <bit>

namespace peerlane::move {

Decisions::Decisions(const Machine& machine, Make make)
    : make_(std::move(make)), devices_(static_cast<int>(machine.devices.size())) {
    for (auto const& node : machine.graph.nodes) {
        if (node.kind == NodeKind::numa) {
            nodes_ = std::max(nodes_, node.index + 2);
        }
    }
    for (auto const& device : machine.devices) {
        nodes_ = std::max(nodes_, device.numa.value_or(-1) + 2);
    }
    places_ = static_cast<std::size_t>(devices_ + nodes_);
    rows_ = places_ * places_;
    table_ = std::make_unique<std::atomic<Decision*>[]>(rows_ * classes);
}

Decisions::~Decisions() = default;

std::size_t Decisions::class_of(std::uint64_t bytes) {
    if (bytes < 4) {
        return 0;
    }
    auto const octave = static_cast<unsigned>(std::bit_width(bytes)) - 1;
    return octave * 4 + ((bytes >> (octave - 2)) & 3U);
}

std::uint64_t Decisions::least_of(std::size_t of) {
    return of < 8 ? 1 : (4 + of % 4) << (of / 4 - 2);
}

Decision& Decisions::make(Place from, Place to, std::uint64_t bytes) {
    auto const row = row_of(from, to);
    auto const of = class_of(bytes);
    std::lock_guard const lock(mutex_);
    if (row < rows_) {
        if (auto* const known = table_[row * classes + of].load(std::memory_order_acquire)) {
            return *known;
        }
    }
    made_.push_back(make_(from, to, least_of(of)));
    auto* const decision = made_.back().get();
    if (row < rows_) {
        table_[row * classes + of].store(decision, std::memory_order_release);
    }
    return *decision;
}

void Decisions::for_each(const std::function<void(Decision&)>& visit) {
    std::lock_guard const lock(mutex_);
    for (auto const& decision : made_) {
        visit(*decision);
    }
}

}  // namespace peerlane::move
