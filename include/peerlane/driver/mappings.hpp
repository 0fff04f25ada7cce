#pragma once
#include <cstdint>
#include <string>

#include <peerlane/place.hpp>

namespace peerlane {

/// A context of a device; 0 is the primary one, which every call uses unless told otherwise.
struct ContextId {
    std::uint64_t value = 0;
    friend constexpr auto operator<=>(const ContextId&, const ContextId&) = default;
};

struct PoolId {
    std::uint64_t value = 0;
    friend constexpr auto operator<=>(const PoolId&, const PoolId&) = default;
};

/// A directed edge: kernels of `accessor` reach plain memory of `owner`.
struct AccessEdge {
    int accessor = 0;
    int owner = 0;
    ContextId accessor_context{};
    ContextId owner_context{};
    friend constexpr auto operator<=>(const AccessEdge&, const AccessEdge&) = default;
};

/// Expected outcomes of a mapping call. None of them is left behind as the runtime's last error.
struct MappingOutcome {
    enum class Kind : std::uint8_t { done, already, refused, no_slot };
    Kind kind = Kind::done;
    int code = 0;  ///< of the driver, where it refused; 0 otherwise
    [[nodiscard]] bool usable() const { return kind == Kind::done || kind == Kind::already; }
    friend bool operator==(const MappingOutcome&, const MappingOutcome&) = default;
};

enum class Access : std::uint8_t { none, read, read_write };

class MappingsOfDriver {
  public:
    virtual ~MappingsOfDriver() = default;
    /// The driver's claim, nothing more. Throws std::invalid_argument for an unknown device.
    [[nodiscard]] virtual bool can_access(int accessor, int owner) const = 0;
    /// The driver's claim that fetch-adds of the accessor's kernels on the owner's memory are atomic for the owner too.
    /// Links over PCIe have none. Throws std::invalid_argument for an unknown device.
    [[nodiscard]] virtual bool native_atomics(int accessor, int owner) const = 0;
    /// Maps all plain memory of the owner's context, existing and future. An unknown device or accessor == owner is
    /// `refused` (codes 101 and 217). Takes about 10 ms a direction on real devices.
    virtual MappingOutcome enable_access(AccessEdge edge) = 0;
    /// `refused` with code 705 when it was not enabled.
    virtual MappingOutcome disable_access(AccessEdge edge) = 0;
    /// Memory that enabling does not cover: all of a pool, or one virtual allocation (any address inside it).
    virtual MappingOutcome grant(PoolId pool, int accessor, Access access) = 0;
    virtual MappingOutcome grant(Address virtual_memory, int accessor, Access access) = 0;
    /// A further context of a device. Memory and streams made in it belong to it; enabling names it on either side.
    virtual ContextId create_context(int device) = 0;
    virtual void destroy_context(ContextId context) = 0;
};

}  // namespace peerlane
