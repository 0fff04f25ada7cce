// Export and import. The simulated machine plays both processes: an import is another address range of the same driver
// over the same bytes, with its own mapping rules and its own end.

#include <algorithm>
#include <cstring>

#include <unistd.h>

#include <fmt/format.h>
#include <peerlane/error.hpp>

#include "driver/sim/sim_driver.hpp"

namespace peerlane::sim {

ExportOutcome SimMemory::export_from(Address at) const {
    auto const* const block = find(at);
    if (block == nullptr) {
        return {code::invalid_value, {}};
    }
    auto const plain = block->kind == MemoryKind::plain && block->context.value == 0;
    // Pools that come with a device are not exportable, those that were made are.
    auto const pooled = block->kind == MemoryKind::pool && block->pool->value > truth_.machine.devices.size();
    if (block->imported_by || (!plain && !pooled && block->kind != MemoryKind::virtual_memory)) {
        return {code::not_supported, {}};
    }
    if (block->kind == MemoryKind::virtual_memory && !block->exportable) {
        return {code::invalid_value, {}};
    }
    ExportOutcome outcome;
    auto& handle = outcome.handle;
    handle.kind = block->kind;
    handle.process = ::getpid();
    handle.owner = block->place.index;
    handle.base = block->base;
    handle.bytes = block->bytes;
    handle.offset = at - block->base;
    std::memcpy(handle.token.data(), &block->number, sizeof block->number);
    return outcome;
}

ImportOutcome SimMemory::import(const SharedHandle& handle, int device) {
    std::uint64_t number = 0;
    std::memcpy(&number, handle.token.data(), sizeof number);
    auto const* const exported = find(handle.base);
    if (handle.process != ::getpid() || exported == nullptr || exported->number != number ||
        exported->kind != handle.kind || exported->imported_by || handle.offset >= exported->bytes) {
        return {code::invalid_value, Address::null};
    }
    auto const owner = exported->place.index;
    auto const plain = handle.kind == MemoryKind::plain;
    if (device != owner && !truth_.claims(device, owner)) {
        return {plain ? code::peer_access_unsupported : code::invalid_device, Address::null};
    }
    if (plain) {
        // Opening maps as enabling does, and is refused where that is.
        if (auto const* fault = device == owner ? nullptr : truth_.fault(Fault::What::map, device, owner);
            fault != nullptr && fault->effect == Fault::Effect::error) {
            return {static_cast<int>(fault->number), Address::null};
        }
        for (auto& [base, block] : blocks_) {  // a second opening gives the first one's address
            if (block.stored == exported->stored && block.imported_by == device) {
                ++block.opened;
                return {0, Address{base} + handle.offset};
            }
        }
    }
    Block import = *exported;
    constexpr std::uint64_t granule = std::uint64_t{2} << 20;
    auto const within = static_cast<std::uint64_t>(exported->base) % granule;  // of a pool's memory, mapped as a whole
    import.base = next_base(exported->place, granule, exported->bytes + within) + within;
    import.number = ++numbers_;
    import.granted_read = import.granted_write = {};
    if (handle.kind == MemoryKind::virtual_memory) {
        import.granted_read = import.granted_write = {device};
    }
    import.charged = 0;
    import.imported_by = device;
    import.opened = 1;
    auto const base = import.base;
    blocks_.emplace(static_cast<std::uint64_t>(base), std::move(import));
    return {0, base + handle.offset};
}

void SimMemory::close(Address at) {
    auto* const block = find(at);
    if (block != nullptr && block->imported_by) {
        if (--block->opened == 0) {
            erase(blocks_.find(static_cast<std::uint64_t>(block->base)));
        }
        return;
    }
    auto const value = static_cast<std::uint64_t>(at);
    auto const stale = std::find_if(stale_.begin(), stale_.end(), [&](const auto& range) {
        return value >= range.first && value - range.first < range.second;
    });
    if (stale == stale_.end()) {
        throw Error({code::invalid_value, "close_import", -1, -1,
                     fmt::format("{:#x} is not in an open import", static_cast<std::uint64_t>(at))});
    }
    stale_.erase(stale);
}

ExportOutcome SimDriver::export_memory(Address at) {
    Lock const lock(mutex_);
    check_alive();
    charge(engine_.truth().figures.provenance_s);
    return engine_.memory().export_from(at);
}

ImportOutcome SimDriver::import_memory(const SharedHandle& handle, int device) {
    Lock const lock(mutex_);
    check_alive();
    engine_.memory().check_device(device, "import_memory");
    constexpr double open_s = 2.2e-3;  // facts of the pair: opening for the first time
    charge(open_s);
    return engine_.memory().import(handle, device);
}

void SimDriver::close_import(Address at) {
    Lock const lock(mutex_);
    if (!engine_.fault()) {
        charge(engine_.truth().figures.allocate_s);
        engine_.advance([&] {
            return engine_.fault() || std::all_of(streams_.begin(), streams_.end(),
                                                  [&](const auto& entry) { return stream_done(entry.first); });
        });
    }
    engine_.memory().close(at);
    changed_.notify_all();
}

}  // namespace peerlane::sim
