#pragma once
/// Memory that enabling does not cover.

#include <exception>
#include <memory>
#include <vector>

#include "conformance/fixture.hpp"

namespace peerlane::conformance {

/// A pool of its own, given back at the end; its memory must be given back before. Closed to all but its device: a real
/// pool may inherit the peers of a destroyed one (the case about that asks for one `as_it_comes`).
class Pool {
  public:
    enum class State { closed, as_it_comes };
    Pool(Driver& driver, int device, State state = State::closed)
        : driver_(driver), device_(device), id_(driver.create_pool(device)) {
        for (int other = 0; state == State::closed && other < driver.device_count(); ++other) {
            if (other != device && driver.can_access(other, device)) {
                driver.grant(id_, other, Access::none);
            }
        }
    }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool() {
        try {
            driver_.destroy_pool(id_);
        } catch (const std::exception&) {  // after a sticky error there is nothing left to give back
        }
    }
    [[nodiscard]] PoolId id() const { return id_; }
    [[nodiscard]] Buffer take(std::uint64_t bytes) const {
        return Buffer(driver_, AllocationRequest{gpu(device_), bytes, MemoryKind::pool, id_});
    }

  private:
    Driver& driver_;
    int device_;
    PoolId id_;
};

/// Memory of a device that needs a grant: of a pool of its own, or virtual.
class Closed {
  public:
    Closed(Driver& driver, int device, MemoryKind kind, std::uint64_t bytes)
        : driver_(driver),
          pool_(kind == MemoryKind::pool ? std::make_unique<Pool>(driver, device) : nullptr),
          memory_(driver,
                  AllocationRequest{gpu(device), bytes, kind, pool_ ? std::optional(pool_->id()) : std::nullopt}) {}
    [[nodiscard]] const Buffer& memory() const { return memory_; }
    MappingOutcome grant(int accessor, Access access = Access::read_write) {
        return pool_ ? driver_.grant(pool_->id(), accessor, access)
                     : driver_.grant(memory_.address(), accessor, access);
    }

  private:
    Driver& driver_;
    std::unique_ptr<Pool> pool_;
    Buffer memory_;
};

/// One of every kind that the device has.
inline std::vector<std::unique_ptr<Closed>> closed_memory(Driver& driver, int device, std::uint64_t bytes = 64 * KiB) {
    auto const can = driver.capabilities(device);
    std::vector<std::unique_ptr<Closed>> all;
    for (auto const kind : {MemoryKind::pool, MemoryKind::virtual_memory}) {
        if (kind == MemoryKind::pool ? can.pools : can.virtual_memory) {
            all.push_back(std::make_unique<Closed>(driver, device, kind, bytes));
        }
    }
    return all;
}

}  // namespace peerlane::conformance
