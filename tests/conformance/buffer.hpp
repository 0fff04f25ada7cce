#pragma once
/// Memory of any kind with one way of making it and giving it back.

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <peerlane/driver.hpp>
#include <peerlane/driver/owned.hpp>

namespace peerlane::conformance {

class Buffer {
  public:
    Buffer(Driver& driver, AllocationRequest request) : driver_(driver), kind_(request.kind) {
        // Nobody allocates registered memory: it is pageable memory that became known.
        if (kind_ == MemoryKind::registered) {
            request.kind = MemoryKind::pageable;
        }
        memory_ = Allocation(driver, request);
        if (kind_ == MemoryKind::registered) {
            driver.register_host(memory_.address(), memory_.bytes());
        }
    }
    Buffer(Driver& driver, Place place, MemoryKind kind, std::uint64_t bytes)
        : Buffer(driver, AllocationRequest{place, bytes, kind}) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (kind_ == MemoryKind::registered) {
            try {
                driver_.unregister_host(memory_.address());
            } catch (const std::exception&) {  // after a sticky error there is nothing left to give back
            }
        }
    }

    [[nodiscard]] MemoryKind kind() const { return kind_; }
    [[nodiscard]] std::uint64_t bytes() const { return memory_.bytes(); }
    [[nodiscard]] Address address() const { return memory_.address(); }
    [[nodiscard]] Location at(std::uint64_t offset = 0) const { return memory_.location(offset); }
    [[nodiscard]] Place place() const { return memory_.location().place; }
    [[nodiscard]] std::string text() const {
        return std::string(to_string(kind_)) + " memory of " + to_string(place());
    }

  private:
    Driver& driver_;
    MemoryKind kind_;
    Allocation memory_;
};

/// Kinds of memory that live on a device, as far as it has them.
inline std::vector<MemoryKind> device_kinds(const Driver& driver, int device) {
    auto const can = driver.capabilities(device);
    std::vector<MemoryKind> kinds{MemoryKind::plain};
    if (can.pools) {
        kinds.push_back(MemoryKind::pool);
    }
    if (can.virtual_memory) {
        kinds.push_back(MemoryKind::virtual_memory);
    }
    if (can.managed) {
        kinds.push_back(MemoryKind::managed);
    }
    return kinds;
}

inline const std::vector<MemoryKind> host_kinds{MemoryKind::pinned, MemoryKind::registered, MemoryKind::pageable};
/// Host memory that devices know.
inline const std::vector<MemoryKind> known_host_kinds{MemoryKind::pinned, MemoryKind::registered};

}  // namespace peerlane::conformance
