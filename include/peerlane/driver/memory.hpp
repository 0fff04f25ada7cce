#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <peerlane/driver/mappings.hpp>
#include <peerlane/driver/order_types.hpp>
#include <peerlane/pattern.hpp>
#include <peerlane/place.hpp>

namespace peerlane {

/// registered: host memory of the caller made known to the devices; pageable: host memory that is not.
enum class MemoryKind : std::uint8_t { plain, pool, virtual_memory, managed, pinned, registered, pageable };
const char* to_string(MemoryKind kind);

struct AllocationRequest {
    Place place;              ///< a device for plain, pool, virtual, managed; the host for pinned and pageable
    std::uint64_t bytes = 0;  ///< at least 1
    MemoryKind kind = MemoryKind::plain;
    std::optional<PoolId> pool{};        ///< kind pool: default pool of the device when empty
    std::optional<StreamView> stream{};  ///< kind pool: ordered on it; the device's legacy stream when empty
    ContextId context{};                 ///< kind plain: context that owns it
    bool exportable = false;             ///< kind virtual: other processes may import it; plain memory always may be
};

/// What is known of the memory behind an address.
struct Provenance {
    MemoryKind kind = MemoryKind::pageable;
    Place place;
    Address base = Address::null;  ///< of the allocation
    std::uint64_t bytes = 0;       ///< of the allocation
    ContextId context{};
    std::optional<PoolId> pool{};
    std::vector<int> kernel_access{};  ///< devices whose kernels (in the primary context) may touch it now, ascending
};

/// The part of a provenance that costs no question to the devices.
struct Whereabouts {
    MemoryKind kind = MemoryKind::pageable;
    Place place = host();
    Address base = Address::null;  ///< of the allocation
    std::uint64_t bytes = 0;       ///< of the allocation; 0 for an address that the driver does not know
    ContextId context{};
};

/// Sizes and contents of memory. Every function throws Error (device named) when the driver fails and
/// std::invalid_argument when a precondition is broken.
class MemoryOfDriver {
  public:
    virtual ~MemoryOfDriver() = default;
    /// Error code 2 when there is not enough. Contents are undefined.
    [[nodiscard]] virtual Address allocate(const AllocationRequest& request) = 0;
    /// Takes the base. Waits for work that uses it, as the driver's own free does; kind pool is freed in order of
    /// `stream`.
    virtual void free(Address base, std::optional<StreamView> stream = std::nullopt) = 0;
    virtual void register_host(Address base, std::uint64_t bytes) = 0;
    virtual void unregister_host(Address base) = 0;
    /// Kind pageable with bytes 0 for an address the driver does not know. Never throws for an address.
    [[nodiscard]] virtual Provenance provenance(Address address) const = 0;
    /// As `provenance`, for callers who ask at every copy.
    [[nodiscard]] virtual Whereabouts whereabouts(Address address) const {
        auto const found = provenance(address);
        return {found.kind, found.place, found.base, found.bytes, found.context};
    }
    [[nodiscard]] virtual std::uint64_t free_bytes(int device) const = 0;

    [[nodiscard]] virtual PoolId create_pool(int device) = 0;
    [[nodiscard]] virtual PoolId default_pool(int device) const = 0;
    virtual void destroy_pool(PoolId pool) = 0;

    /// Host memory of any kind, by the calling thread, at once.
    virtual void write_host(Address to, const void* from, std::uint64_t bytes) = 0;
    virtual void read_host(Address from, void* to, std::uint64_t bytes) const = 0;
    /// Between host memory of any kinds that do not overlap, by the calling thread, at once.
    virtual void copy_host(Address to, Address from, std::uint64_t bytes) {
        std::vector<unsigned char> some(std::min<std::uint64_t>(bytes, 1U << 20));
        for (std::uint64_t done = 0; done < bytes; done += some.size()) {
            auto const part = std::min<std::uint64_t>(some.size(), bytes - done);
            read_host(from + done, some.data(), part);
            write_host(to + done, some.data(), part);
        }
    }
    virtual void fill_host(Address to, std::uint64_t bytes, Pattern pattern) = 0;
    [[nodiscard]] virtual CheckOutcome check_host(Address at, std::uint64_t bytes, Pattern expected,
                                                  Pattern poison) const = 0;
};

}  // namespace peerlane
