#pragma once
/// Who may touch what: enabled pairs, grants, contexts, allocations and imports, as the calls so far left them.

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "audit/deed.hpp"

namespace peerlane::audit {

enum class Fault : std::uint8_t {
    none,
    unmapped,         ///< neither direction is enabled
    wrong_direction,  ///< only the opposite one is
    grant_missing,    ///< pool or virtual memory not open to this accessor (or for reading only)
    other_context,
    use_after_free,
    closed,  ///< an import that was closed
    stale,   ///< an import of memory that was freed
};

struct Storage {
    Id name = no_id;
    int device = trace::host_device;
    std::uint64_t bytes = 0;
    trace::MemoryKind kind = trace::MemoryKind::plain;
    Id context = no_id;
    std::uint64_t pool = 0;  ///< key of its pool, kind pool
    std::uint64_t line = 0;
    std::vector<Id> imports{};                       ///< open ones
    std::unordered_map<int, trace::Grant> grants{};  ///< kind virtual, by accessor
    [[nodiscard]] bool granted_kind() const {
        return kind == trace::MemoryKind::pool || kind == trace::MemoryKind::virtual_memory;
    }
};

/// What a name stands for.
struct Entry {
    enum class State : std::uint8_t { unknown, live, freed, closed, stale };
    State state = State::unknown;
    bool imported = false;
    StorageId storage = no_storage;
    int importer = -1;
    std::uint32_t opened = 0;    ///< imports may be opened several times
    std::uint64_t line = 0;      ///< of alloc or (first) import
    std::uint64_t end_line = 0;  ///< of the free or close
    Id root = no_id;             ///< name of the allocation behind an import
};

/// Precondition of all: ids and devices were checked. Nothing throws.
class Ledger {
  public:
    StorageId allocate(const trace::Alloc& alloc, std::uint64_t line);
    /// The name is free from now on; imports of it become stale. The storage stays until `recycle`.
    void free(Id memory, std::uint64_t line);
    void recycle(StorageId storage);
    void import(const trace::Import& import, std::uint64_t line);
    /// One opening less. Empty when it was the last one or was not open.
    void close(Id memory, std::uint64_t line);
    void enable(const trace::Enable& enable);
    void disable(const trace::Disable& disable);
    void grant(const trace::GrantAccess& grant);

    [[nodiscard]] const Entry& entry(Id memory) const;
    Entry& entry(Id memory);
    [[nodiscard]] const Storage& storage(StorageId id) const { return storages_[id]; }
    [[nodiscard]] std::size_t storages() const { return storages_.size(); }
    [[nodiscard]] std::size_t names() const { return entries_.size(); }

    /// May a kernel of this device, in this context, touch the memory.
    [[nodiscard]] Fault kernel_access(int accessor, Id context, const Entry& entry, bool write) const;
    /// Would the driver stage a copy between the two for lack of any mapping.
    [[nodiscard]] bool copy_staged(const Entry& a, const Entry& b) const;
    /// Pool or virtual memory that a default copy issued by `current` may not name.
    [[nodiscard]] bool copy_refused(const Entry& entry, int current) const;
    [[nodiscard]] bool enabled_any(int accessor, int owner) const;
    /// Owners that the accessor has enabled, with the number of kernel accesses that used each.
    struct Peer {
        int owner = 0;
        std::uint64_t uses = 0;
    };
    [[nodiscard]] std::vector<Peer> peers(int accessor) const;
    void used(int accessor, int owner);
    [[nodiscard]] trace::Grant granted(int accessor, const Storage& storage) const;

  private:
    struct Mapping {
        std::vector<Id> contexts{};  ///< no_id: the primary one
        std::uint64_t uses = 0;
    };
    static std::uint64_t key(int accessor, int owner) {
        return static_cast<std::uint64_t>(accessor) << 32 | static_cast<std::uint32_t>(owner);
    }
    [[nodiscard]] const Mapping* mapping(int accessor, int owner) const;

    std::vector<Entry> entries_{};
    std::vector<Storage> storages_{};
    std::vector<StorageId> unused_{};
    std::unordered_map<std::uint64_t, Mapping> enabled_{};
    std::unordered_map<std::uint64_t, std::unordered_map<int, trace::Grant>> pools_{};
};

}  // namespace peerlane::audit
