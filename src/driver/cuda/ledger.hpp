#pragma once
/// What a driver object allocated, mapped and made. The runtime tells an address's device, but not the pool, the kind
/// or who may reach it; so the driver writes it down. Safe to use from several threads. No vendor type in here.

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <vector>

#include <peerlane/driver/memory.hpp>

namespace peerlane::cuda {

/// Who must give host memory back.
enum class HostSource : std::uint8_t { none, runtime, heap, mapping };

struct MemoryRecord {
    Address base = Address::null;
    std::uint64_t bytes = 0;  ///< usable
    MemoryKind kind = MemoryKind::plain;
    Place place;
    ContextId context{};
    std::optional<PoolId> pool{};
    HostSource source = HostSource::none;
    std::uint64_t mapped_bytes = 0;  ///< reserved behind it, where more than `bytes`
};

class Ledger {
  public:
    void add(const MemoryRecord& record);
    /// The allocation that begins here, forgotten.
    std::optional<MemoryRecord> take(Address base);
    /// The allocation around an address.
    [[nodiscard]] std::optional<MemoryRecord> find(Address inside) const;

    /// An import that is mapped: base and place are the importer's. The same range may be added several times.
    void add_import(const MemoryRecord& record);
    /// The latest import around an address, forgotten.
    std::optional<MemoryRecord> take_import(Address inside);
    [[nodiscard]] std::optional<MemoryRecord> find_import(Address inside) const;

    /// Registration, allocation or import around an address, in this order, under one lock.
    [[nodiscard]] Whereabouts whereabouts(Address inside) const;

    void add_registration(Address base, std::uint64_t bytes);
    bool take_registration(Address base);
    /// Base and bytes of the registered range around an address.
    [[nodiscard]] std::optional<MemoryRecord> find_registration(Address inside) const;

    void add_edge(AccessEdge edge);
    void remove_edge(AccessEdge edge);
    /// Devices whose primary context was given access to a context of `owner`, ascending.
    [[nodiscard]] std::vector<int> accessors(int owner, ContextId owner_context) const;

    void add_context(ContextId context, int device);
    [[nodiscard]] std::optional<int> device_of(ContextId context) const;
    /// Forgets the context, its edges and the memory that goes with it.
    void remove_context(ContextId context);
    /// False as long as only primary contexts are in use, which is the usual case.
    [[nodiscard]] bool has_contexts() const { return has_contexts_.load(std::memory_order_acquire); }

    void add_pool(PoolId pool, int device, bool ours);
    struct Pool {
        int device = 0;
        bool ours = false;  ///< made here; else a device's default pool
    };
    [[nodiscard]] std::optional<Pool> pool(PoolId pool) const;
    void remove_pool(PoolId pool);

  private:
    mutable std::shared_mutex mutex_;
    std::map<Address, MemoryRecord> memory_;
    std::vector<MemoryRecord> imports_;
    std::map<Address, std::uint64_t> registrations_;
    std::set<AccessEdge> edges_;
    std::map<ContextId, int> contexts_;
    std::atomic<bool> has_contexts_ = false;
    std::map<PoolId, Pool> pools_;
};

}  // namespace peerlane::cuda
