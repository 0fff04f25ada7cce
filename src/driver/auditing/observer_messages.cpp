// Messages of couriers: what is posted, and what a residence carries.
#include "driver/auditing/observer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/kernel.hpp"

namespace peerlane::auditing {

bool Observer::message_posted(Address at, const void* from, std::uint64_t bytes) {
    if (bytes != sizeof(MessageSlot)) {
        return false;
    }
    for (auto const& [a, in] : couriers_) {
        auto const in_ring = at - a.ring < a.slots * sizeof(MessageSlot);
        auto const entries = a.shared + offsetof(CourierShared, stream_slot);
        auto const in_entries = at - entries < stream_entries * sizeof(MessageSlot);
        if (!in_ring && !in_entries) {
            continue;
        }
        MessageSlot slot;
        std::memcpy(&slot, from, sizeof slot);
        if (in_entries) {
            entries_[at] = slot;  // carried when its stream gets there: the launch in that stream says so
        } else {
            carried(in, slot, a.shared + offsetof(CourierShared, done));
        }
        return true;
    }
    return false;
}

void Observer::courier_launched(StreamView view, const CourierArguments& arguments) {
    if (arguments.entry != 0) {
        auto const entry = std::uint64_t{arguments.entry - 1};
        auto const found =
            entries_.find(arguments.shared + offsetof(CourierShared, stream_slot) + entry * sizeof(MessageSlot));
        if (found != entries_.end()) {
            carried(view, found->second, arguments.shared + offsetof(CourierShared, stream_done) + 4 * entry);
        }
        return;
    }
    auto const same = [&](const Ring& known) { return known.arguments.ring == arguments.ring; };
    couriers_.erase(std::remove_if(couriers_.begin(), couriers_.end(), same), couriers_.end());
    couriers_.push_back({arguments, view});
}

void Observer::carried(StreamView in, const MessageSlot& slot, Address done) {
    auto const& pairs = slot.pairs;
    auto const joined = [&](std::size_t i) {
        return Address{(std::uint64_t{pairs[i + 1].word} << 32) | pairs[i].word};
    };
    auto const to = joined(0), from = joined(2), set = joined(4);
    std::uint64_t const bytes = pairs[6].word;
    auto const value = pairs[7].word, number = pairs[0].number;
    std::vector<trace::Step> steps;
    auto const access = [&](trace::Step::Kind kind, Address where) {
        if (auto const spot = find(where); spot.memory != trace::no_id && bytes != 0) {
            steps.push_back(
                {kind, false, trace::Scope::system, trace::Order::relaxed, spot.memory, spot.offset, bytes});
        }
    };
    auto const signal = [&](Address where, std::uint32_t to_value) {
        if (where != Address::null && find(where).memory != trace::no_id) {
            steps.push_back({trace::Step::Kind::signal, false, trace::Scope::system, trace::Order::release, flag(where),
                             to_value, 0});
        }
    };
    access(trace::Step::Kind::read, from);
    access(trace::Step::Kind::write, to);
    signal(set, value);
    signal(done, number);
    trace::Launch launch;
    launch.stream = stream(in);
    launch.name = symbols_.words.intern("message");
    push(launch, steps);
}

}  // namespace peerlane::auditing
