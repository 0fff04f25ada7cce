#pragma once
/// Allocations, contexts, pools and mappings of a simulated machine, with CUDA's rules as observed
/// (docs/architecture.md names the rows). No time passes here; the driver charges for the calls.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <peerlane/driver.hpp>

#include "driver/sim/extents.hpp"
#include "driver/sim/truth.hpp"

namespace peerlane::sim {

/// What an allocation holds; shared by every address range that maps it.
struct Stored {
    explicit Stored(Extents what) : contents(std::move(what)) {}
    Extents contents;
    std::map<int, Extents> mirror{};  ///< what each accessor believes it wrote, where a mirror fault wants it
    /// Of that, what never arrived and nobody wrote over since (begin, end): the accessor reads it back by any path.
    std::map<int, std::map<std::uint64_t, std::uint64_t>> unseen{};
};

struct Block {
    Address base = Address::null;
    std::uint64_t bytes = 0;
    Place place;
    MemoryKind kind = MemoryKind::plain;
    ContextId context{};
    std::optional<PoolId> pool{};
    std::uint64_t number = 0;                       ///< running number, never reused
    std::set<int> granted_read{}, granted_write{};  ///< kind virtual: devices besides the owner
    std::shared_ptr<Stored> stored{};
    std::uint64_t charged = 0;         ///< bytes of the place that this range holds
    bool exportable = false;           ///< kind virtual
    std::optional<int> imported_by{};  ///< a device, where this is an import of another allocation
    int opened = 0;                    ///< times imported and not closed
};

/// A pool of a device and the grants on it.
struct Pool {
    int device = 0;
    std::set<int> granted_read{}, granted_write{};
};

class SimMemory {
  public:
    explicit SimMemory(const Truth& truth);

    Block& allocate(const AllocationRequest& request);
    void free(Address base);
    /// nullptr when no allocation covers the address.
    [[nodiscard]] Block* find(Address at);
    [[nodiscard]] const Block* find(Address at) const;
    /// The allocation that covers the whole range; throws Error 1 with `call` otherwise.
    Block& covering(Address at, std::uint64_t bytes, const char* call);
    [[nodiscard]] std::uint64_t free_bytes(Place place) const;

    MappingOutcome enable(AccessEdge edge);
    MappingOutcome disable(AccessEdge edge);
    MappingOutcome grant(PoolId pool, int accessor, Access access);
    MappingOutcome grant(Address at, int accessor, Access access);
    [[nodiscard]] bool enabled(AccessEdge edge) const { return edges_.count(edge) != 0; }
    /// Copy engines go direct between two devices when either direction is enabled (primary contexts).
    [[nodiscard]] bool copies_direct(int a, int b) const;
    ContextId create_context(int device);
    void destroy_context(ContextId context);
    [[nodiscard]] int context_device(ContextId context, int primary_device) const;
    PoolId create_pool(int device);
    [[nodiscard]] PoolId default_pool(int device) const { return PoolId{static_cast<std::uint64_t>(device) + 1}; }
    void destroy_pool(PoolId pool);

    /// May a kernel of `device`, in `context`, touch this block?
    [[nodiscard]] bool kernel_may(int device, ContextId context, const Block& block, bool write) const;
    /// May the automatic copy call, issued by `device`, use this block? (Plain memory always: the driver stages.)
    [[nodiscard]] bool copy_may(int device, const Block& block) const;
    [[nodiscard]] Provenance provenance(Address at) const;

    /// The simulated machine plays the other process too: an import is another range over the same bytes.
    [[nodiscard]] ExportOutcome export_from(Address at) const;
    ImportOutcome import(const SharedHandle& handle, int device);
    void close(Address at);

    void check_device(int device, const char* what) const;

  private:
    [[nodiscard]] std::uint64_t capacity(Place place) const;
    Address next_base(Place place, std::uint64_t granule, std::uint64_t charged);
    void erase(std::map<std::uint64_t, Block>::iterator block);
    const Truth& truth_;
    std::map<std::uint64_t, Block> blocks_;         ///< by base
    std::map<std::uint64_t, std::uint64_t> stale_;  ///< imports, open, of memory that is freed: base, bytes
    std::map<Place, std::uint64_t> used_;
    std::map<Place, std::uint64_t>
        next_;  ///< address space of each place: never reused, so that a stale address is found out
    std::set<AccessEdge> edges_;
    std::map<std::uint64_t, int> contexts_;
    std::map<std::uint64_t, Pool> pools_;
    std::uint64_t numbers_ = 0;
    std::uint64_t next_context_ = 1;
    std::uint64_t next_pool_;
};

}  // namespace peerlane::sim
