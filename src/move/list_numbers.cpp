// Numbers of pages: where they lie, and how they get to the device that reads them.

#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "move/list_mover.hpp"
#include "move/reach.hpp"

namespace peerlane::move {

ListMover::Numbers ListMover::read(PageIndices given, std::uint64_t count) const {
    Numbers numbers;
    numbers.given = given;
    if (given.at == nullptr) {
        numbers.values = PageNumbers(given, count);
        return numbers;
    }
    auto const found = driver_.provenance(address_of(given.at));
    if (found.bytes == 0 || found.kind == MemoryKind::pageable) {
        numbers.values = PageNumbers(given, count);
    } else if (found.place.is_device()) {
        if (count * given.bytes > found.bytes - (address_of(given.at) - found.base)) {
            throw std::invalid_argument(
                fmt::format("copy_pages: {} numbers of pages are not inside their allocation", count));
        }
        numbers.device = found.place;
    } else {
        std::vector<unsigned char> raw(count * given.bytes);
        driver_.read_host(address_of(given.at), raw.data(), raw.size());
        numbers.values = PageNumbers(std::move(raw), given.bytes);
    }
    return numbers;
}

bool ListMover::reads_in_place(int issuer, const Numbers& list) {
    if (list.device->index == issuer) {
        return true;
    }
    if (!may_use(ready_, {*list.device, gpu(issuer), Engine::kernel, gpu(issuer)})) {
        return false;
    }
    map(issuer, address_of(list.given.at));
    return true;
}

ListMover::Readable ListMover::readable(const Numbers& to, const Numbers& from, std::uint64_t count,
                                        StreamView stream) {
    Readable lists;
    auto const* const on_device = to.device ? &to : from.device ? &from : nullptr;
    // Host lists go over as they are: other numbers are written only where the two sides differ in width.
    auto const wide = [](const Numbers& list) {
        return !list.device && !list.values.counting() && list.values.width() == 8;
    };
    lists.index_bytes = on_device != nullptr ? on_device->given.bytes : wide(to) || wide(from) ? 8 : 4;
    if (to.device && from.device && to.given.bytes != from.given.bytes) {
        throw std::invalid_argument("copy_pages: both lists of numbers on devices must have one width");
    }
    for (auto const* list : {&to, &from}) {
        if (lists.index_bytes == 4 && wide(*list) && list->values.most() > std::numeric_limits<std::int32_t>::max()) {
            throw std::invalid_argument(
                "copy_pages: the list on a device has numbers of 4 bytes, and one of the host's does not fit them");
        }
    }
    auto const bytes = count * lists.index_bytes;
    auto const write = [&](const Uploads::Slot& slot, std::uint64_t offset, const Numbers& list) {
        auto const to_there = slot.pinned.address() + offset;
        if (lists.index_bytes == list.values.width()) {
            driver_.write_host(to_there, list.values.at(), bytes);
        } else {
            driver_.write_host(to_there, list.values.in_width(lists.index_bytes).data(), bytes);
        }
    };
    auto const of_host = [](const Numbers& list) { return list.given.at != nullptr && !list.device; };
    if (of_host(to) && of_host(from)) {  // both in one copy
        auto& slot = uploads_.take(stream, 2 * bytes);
        lists.slots.push_back(&slot);
        write(slot, 0, to);
        write(slot, bytes, from);
        uploads_.send(slot, stream, 2 * bytes);
        lists.to_index = slot.device.address();
        lists.from_index = slot.device.address() + bytes;
        return lists;
    }
    auto const put = [&](const Numbers& list) -> Address {
        if (list.given.at == nullptr) {
            return Address::null;
        }
        if (list.device && reads_in_place(stream.device, list)) {
            return address_of(list.given.at);
        }
        auto& slot = uploads_.take(stream, bytes);
        lists.slots.push_back(&slot);
        if (list.device) {
            auto const api = driver_.capturing(stream) ? CopyApi::automatic : CopyApi::peer;
            driver_.copy(stream, {slot.device.location(), {*list.device, address_of(list.given.at)}, bytes, api});
            return slot.device.address();
        }
        write(slot, 0, list);
        uploads_.send(slot, stream, bytes);
        return slot.device.address();
    };
    lists.to_index = put(to);
    lists.from_index = put(from);
    return lists;
}

void ListMover::release(const Readable& lists, StreamView stream) {
    for (auto* const slot : lists.slots) {
        uploads_.used(*slot, stream);
    }
}

}  // namespace peerlane::move
