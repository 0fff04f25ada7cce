// The memory part of the seam.

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/error.hpp>

#include "driver/sim/sim_driver.hpp"

namespace peerlane::sim {
namespace {

void check_on_host(const Block& block, const char* call) {
    if (!block.place.is_host() && block.kind != MemoryKind::managed) {
        throw Error({code::invalid_value, call, -1, block.place.index, "the host cannot touch device memory"});
    }
}

}  // namespace

Address SimDriver::allocate(const AllocationRequest& request) {
    Lock lock(mutex_);
    check_alive();
    auto const& figures = engine_.truth().figures;
    charge(figures.allocate_s +
           (request.kind == MemoryKind::pinned ? figures.pinned_s_per_byte * static_cast<double>(request.bytes) : 0.0));
    if (request.stream) {
        (void)stream_of(*request.stream, "allocate");
    }
    return engine_.memory().allocate(request).base;
}

void SimDriver::free(Address base, std::optional<StreamView> stream) {
    Lock lock(mutex_);
    auto const* const block = engine_.memory().find(base);
    if (block == nullptr || block->base != base) {
        throw Error({code::invalid_value, "free", -1, -1, "the address is not the base of an allocation"});
    }
    if (engine_.fault()) {
        engine_.memory().free(base);
        return;
    }
    charge(engine_.truth().figures.allocate_s);
    // The driver's own free waits for the device; a pool's only for its stream. Work that will never end is not waited
    // for.
    auto const place = block->place;
    if (stream && block->kind == MemoryKind::pool) {
        auto const key = key_of(*stream);
        (void)stream_of(*stream, "free");
        engine_.advance([&] { return stream_done(key) || engine_.fault(); });
    } else {
        engine_.advance([&] {
            return engine_.fault() || std::all_of(streams_.begin(), streams_.end(), [&](const auto& entry) {
                       return (place.is_device() && entry.second.device != place.index) || stream_done(entry.first);
                   });
        });
    }
    if (engine_.memory().find(base) != nullptr) {
        engine_.memory().free(base);
    }
    changed_.notify_all();
}

void SimDriver::register_host(Address base, std::uint64_t bytes) {
    Lock const lock(mutex_);
    check_alive();
    auto& block = engine_.memory().covering(base, bytes, "register_host");
    if (block.kind != MemoryKind::pageable || block.base != base) {
        throw Error(
            {code::invalid_value, "register_host", -1, -1, "only pageable memory can be registered, from its base"});
    }
    charge(16e-3 * static_cast<double>(bytes) / (256.0 * 1024 * 1024));
    block.kind = MemoryKind::registered;
}

void SimDriver::unregister_host(Address base) {
    Lock const lock(mutex_);
    check_alive();
    auto* const block = engine_.memory().find(base);
    if (block == nullptr || block->kind != MemoryKind::registered || block->base != base) {
        throw Error({code::invalid_value, "unregister_host", -1, -1, "not registered"});
    }
    block->kind = MemoryKind::pageable;
}

Provenance SimDriver::provenance(Address address) const {
    Lock const lock(mutex_);
    charge(engine_.truth().figures.provenance_s);
    return engine_.memory().provenance(address);
}

std::uint64_t SimDriver::free_bytes(int device) const {
    Lock const lock(mutex_);
    engine_.memory().check_device(device, "free_bytes");
    return engine_.memory().free_bytes(gpu(device));
}

PoolId SimDriver::create_pool(int device) {
    Lock const lock(mutex_);
    check_alive();
    return engine_.memory().create_pool(device);
}

PoolId SimDriver::default_pool(int device) const {
    Lock const lock(mutex_);
    engine_.memory().check_device(device, "default_pool");
    return engine_.memory().default_pool(device);
}

void SimDriver::destroy_pool(PoolId pool) {
    Lock const lock(mutex_);
    engine_.memory().destroy_pool(pool);
}

void SimDriver::write_host(Address to, const void* from, std::uint64_t bytes) {
    Lock const lock(mutex_);
    charge(0);
    if (bytes == 0) {
        return;
    }
    auto& block = engine_.memory().covering(to, bytes, "write_host");
    check_on_host(block, "write_host");
    if (engine_.watched()) {  // who polls this memory sees the write now, not at some moment that is long past
        progress_to(clock(), [] { return false; });
    }
    block.stored->contents.write(to - block.base, bytes, Content::of(from, bytes));
    engine_.memory_changed(to, bytes);
    changed_.notify_all();
}

void SimDriver::read_host(Address from, void* to, std::uint64_t bytes) const {
    Lock const lock(mutex_);
    charge(0);
    if (bytes == 0) {
        return;
    }
    auto& block = engine_.memory().covering(from, bytes, "read_host");
    check_on_host(block, "read_host");
    block.stored->contents.read(from - block.base, to, bytes);
}

void SimDriver::fill_host(Address to, std::uint64_t bytes, Pattern pattern) {
    Lock const lock(mutex_);
    charge(0);
    if (bytes == 0) {
        return;
    }
    auto& block = engine_.memory().covering(to, bytes, "fill_host");
    check_on_host(block, "fill_host");
    block.stored->contents.write(to - block.base, bytes, Content::of(pattern));
    engine_.memory_changed(to, bytes);
    changed_.notify_all();
}

CheckOutcome SimDriver::check_host(Address at, std::uint64_t bytes, Pattern expected, Pattern poison) const {
    Lock const lock(mutex_);
    charge(0);
    if (bytes == 0) {
        return {};
    }
    auto& block = engine_.memory().covering(at, bytes, "check_host");
    check_on_host(block, "check_host");
    return block.stored->contents.check(at - block.base, bytes, expected, poison);
}

}  // namespace peerlane::sim
