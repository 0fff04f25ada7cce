// What arrives where: the effects of faults on contents.

#include <algorithm>

#include "driver/sim/live.hpp"

namespace peerlane::sim {
namespace {

constexpr std::uint64_t displacement = 64;

std::uint64_t shift_of(std::uint64_t bytes) {
    return std::min<std::uint64_t>(displacement, bytes / 2);
}

/// Right bytes in the wrong place: the range turned by `shift`.
std::vector<Stretch> turned(const std::vector<Stretch>& what, std::uint64_t bytes) {
    auto const shift = shift_of(bytes);
    std::vector<Stretch> out;
    for (auto const& stretch : what) {
        auto const cut = bytes - shift;  // what lies behind it comes first
        auto const first = stretch.offset < cut ? std::min(stretch.bytes, cut - stretch.offset) : 0;
        if (first != 0) {
            out.push_back({stretch.offset + shift, first, stretch.content});
        }
        if (first != stretch.bytes) {
            out.push_back({stretch.offset + first - cut, stretch.bytes - first, stretch.content.after(first)});
        }
    }
    return out;
}

using Ranges = std::map<std::uint64_t, std::uint64_t>;  ///< begin -> end, apart from each other

void cut(Ranges& ranges, std::uint64_t begin, std::uint64_t end) {
    Ranges kept;
    for (auto const& [first, last] : ranges) {
        if (first < std::min(last, begin)) {
            kept[first] = std::min(last, begin);
        }
        if (std::max(first, end) < last) {
            kept[std::max(first, end)] = last;
        }
    }
    ranges = std::move(kept);
}

bool leaves_old_bytes(Fault::Effect effect) {
    return effect == Fault::Effect::stale || effect == Fault::Effect::mirror;
}

}  // namespace

std::vector<Stretch> Engine::read_bytes(const Way& way, Block& block, Address from, std::uint64_t bytes) {
    auto const offset = from - block.base;
    auto const mirrored = way.fault != nullptr && !way.write && way.fault->effect == Fault::Effect::mirror;
    if (mirrored) {
        if (auto const found = block.stored->mirror.find(way.mirror_accessor); found != block.stored->mirror.end()) {
            return found->second.read(offset, bytes);
        }
    }
    auto const own = block.stored->unseen.find(way.mirror_accessor);
    if (way.write || own == block.stored->unseen.end() || own->second.empty()) {
        return block.stored->contents.read(offset, bytes);
    }
    Extents seen(bytes, {});
    seen.write(0, block.stored->contents.read(offset, bytes));
    for (auto const& [first, last] : own->second) {
        auto const begin = std::max(first, offset);
        auto const end = std::min(last, offset + bytes);
        if (begin < end) {
            seen.write(begin - offset, block.stored->mirror.at(way.mirror_accessor).read(begin, end - begin));
        }
    }
    return seen.read(0, bytes);
}

void Engine::write_bytes(const Way& way, Block& block, Address to, std::uint64_t bytes, std::vector<Stretch> what) {
    auto offset = to - block.base;
    if (way.mirror_accessor >= 0 && way.write) {
        auto const garbage = Pattern{pattern_key(truth_.seed, 0x6d6972726f720000ULL, block.number), 0};
        block.stored->mirror.try_emplace(way.mirror_accessor, Extents(block.bytes, garbage))
            .first->second.write(offset, what);
    }
    auto const effect = way.fault == nullptr ? Fault::Effect::none : way.fault->effect;
    if (effect == Fault::Effect::zero) {
        what = {{0, bytes, Content::repeat(0)}};
    } else if (effect == Fault::Effect::flip) {
        for (auto& stretch : what) {
            stretch.content.inverted = !stretch.content.inverted;
        }
    } else if (effect == Fault::Effect::offset) {
        if (block.bytes - offset - bytes >= displacement) {
            offset += displacement;
        } else if (offset >= displacement) {
            offset -= displacement;
        } else {  // nowhere else to go
            what = turned(what, bytes);
        }
    }
    for (auto& unseen : block.stored->unseen) {
        cut(unseen.second, offset, offset + bytes);
    }
    if (effect == Fault::Effect::mirror && way.write && way.mirror_accessor >= 0) {
        block.stored->unseen[way.mirror_accessor][offset] = offset + bytes;
    }
    auto const reads_mirror = effect == Fault::Effect::mirror && !way.write && !block.stored->mirror.empty();
    if (!leaves_old_bytes(effect) || (effect == Fault::Effect::mirror && !way.write) || reads_mirror) {
        block.stored->contents.write(offset, what);
    }
    memory_changed(block.base + offset, bytes);
}

void Engine::move_bytes(const Way& way, Address to, Address from, std::uint64_t bytes, int device) {
    auto* const target = memory_.find(to);
    auto* const source = memory_.find(from);
    if (target == nullptr || source == nullptr) {
        return;  // freed meanwhile; the driver's own free waits, so this is a pool freed out of order
    }
    auto what = read_bytes(way, *source, from, bytes);
    auto carried = way;
    for (auto& stretch : what) {
        auto const via = stretch.content.via;
        stretch.content.via = -1;
        if (target->place.is_host() && source->place.is_device()) {
            stretch.content.via =
                static_cast<std::int16_t>(device == source->place.index ? device : source->place.index);
        } else if (target->place.is_host()) {
            stretch.content.via = via;
        } else if (source->place.is_host() && via >= 0 && via != target->place.index) {
            // Bytes of one device on their way to another through host memory.
            if (auto const* fault = truth_.fault(Fault::What::host, via, target->place.index, bytes)) {
                carried.fault = fault;
            }
        }
    }
    if (carried.fault != nullptr && carried.fault->what == Fault::What::host) {
        carried.write = true;
        carried.mirror_accessor = -1;
    }
    write_bytes(carried, *target, to, bytes, std::move(what));
}

}  // namespace peerlane::sim
