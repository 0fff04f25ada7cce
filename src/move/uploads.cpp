#include "move/uploads.hpp"

#include <algorithm>
#include <bit>

#include <peerlane/units.hpp>

namespace peerlane::move {

Uploads::Slot& Uploads::take(StreamView stream, std::uint64_t bytes) {
    auto const device = stream.device;
    auto const room = std::bit_ceil(std::max<std::uint64_t>(bytes, 64 * KiB));
    auto const made = [&](bool in_graph) {
        return Slot{Allocation(driver_, {host(), room, MemoryKind::pinned}), Allocation(driver_, {gpu(device), room}),
                    Event(driver_, device), in_graph, true};
    };
    if (driver_.capturing(stream)) {
        in_graphs_.push_back(made(true));
        return in_graphs_.back();
    }
    auto& ring = rings_[{device, room}];
    if (!ring.slots.empty()) {
        auto& oldest = ring.slots[ring.next % ring.slots.size()];
        auto const idle = !oldest.taken && driver_.query(oldest.used.view());
        if (idle || (!oldest.taken && ring.slots.size() >= most_slots)) {
            if (!idle) {
                driver_.synchronize(oldest.used.view());
            }
            ++ring.next;
            oldest.taken = true;
            return oldest;
        }
    }
    ring.slots.push_back(made(false));
    return ring.slots.back();
}

void Uploads::send(Slot& slot, StreamView stream, std::uint64_t bytes) {
    driver_.copy(stream, {slot.device.location(), slot.pinned.location(), bytes, CopyApi::automatic});
}

void Uploads::used(Slot& slot, StreamView stream) {
    slot.taken = false;
    if (!slot.in_graph) {
        driver_.record(slot.used.view(), stream);
    }
}

}  // namespace peerlane::move
