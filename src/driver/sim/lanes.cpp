#include "driver/sim/lanes.hpp"

#include <algorithm>

namespace peerlane::sim {
namespace {

/// Of a queue: however long it is, a copy that ends costs no more.
constexpr std::size_t looked_at = 16;

}  // namespace

Lanes::Lanes(std::size_t devices, int engines)
    : devices_(devices), engines_(engines), free_(devices, engines), no_engine_(devices) {}

bool Lanes::take_engine(Copy copy, int device) {
    auto const at = static_cast<std::size_t>(device);
    if (free_[at] == 0) {
        no_engine_[at].push_back(copy);
        return false;
    }
    --free_[at];
    return true;
}

bool Lanes::join(Copy copy, int device, Taken lanes) {
    auto& ticket = tickets_[copy] = {device, lanes, 0};
    for (auto const lane : lanes) {
        if (lane != 0) {
            auto& queue = queues_[lane];
            ticket.behind += queue.empty() ? 0 : 1;
            queue.push_back(copy);
        }
    }
    return ticket.behind == 0 && take_engine(copy, device);
}

void Lanes::keep_with(std::deque<Copy>& queue, int device) {
    auto const end = queue.begin() + static_cast<std::ptrdiff_t>(std::min(queue.size(), looked_at));
    auto const mine = std::find_if(queue.begin(), end, [&](Copy copy) {
        auto const& ticket = tickets_.at(copy);
        return ticket.device == device && ticket.behind == 1;
    });
    if (mine != end) {
        std::rotate(queue.begin(), mine, mine + 1);
    }
}

void Lanes::leave(Copy copy, std::vector<Copy>& next) {
    auto const found = tickets_.find(copy);
    if (found == tickets_.end()) {
        return;
    }
    auto const ticket = found->second;
    tickets_.erase(found);
    auto const at = static_cast<std::size_t>(ticket.device);
    ++free_[at];
    if (!no_engine_[at].empty()) {
        --free_[at];
        next.push_back(no_engine_[at].front());
        no_engine_[at].pop_front();
    }
    for (auto const lane : ticket.lanes) {
        if (lane == 0) {
            continue;
        }
        auto& queue = queues_[lane];
        queue.pop_front();
        if (queue.empty()) {
            continue;
        }
        keep_with(queue, ticket.device);
        auto const first = queue.front();
        auto& waiting = tickets_.at(first);
        if (--waiting.behind == 0 && take_engine(first, waiting.device)) {
            next.push_back(first);
        }
    }
}

void Lanes::clear() {
    queues_.clear();
    tickets_.clear();
    free_.assign(devices_, engines_);
    for (auto& waiting : no_engine_) {
        waiting.clear();
    }
}

}  // namespace peerlane::sim
