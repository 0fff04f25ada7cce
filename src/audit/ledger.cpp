#include "audit/ledger.hpp"

#include <algorithm>

namespace peerlane::audit {

using trace::Grant;
using trace::host_device;
using trace::MemoryKind;

namespace {
/// Named pools by their name, default pools by their device.
std::uint64_t pool_key(Id pool, int device) {
    return pool == no_id ? std::uint64_t{1} << 40 | static_cast<std::uint32_t>(device) : std::uint64_t{pool};
}
}  // namespace

const Entry& Ledger::entry(Id memory) const {
    static const Entry unknown{};
    return memory < entries_.size() ? entries_[memory] : unknown;
}

Entry& Ledger::entry(Id memory) {
    if (memory >= entries_.size()) {
        entries_.resize(std::max<std::size_t>(memory + 1, entries_.size() * 2));
    }
    return entries_[memory];
}

StorageId Ledger::allocate(const trace::Alloc& alloc, std::uint64_t line) {
    if (unused_.empty()) {
        unused_.push_back(static_cast<StorageId>(storages_.size()));
        storages_.emplace_back();
    }
    const StorageId id = unused_.back();
    unused_.pop_back();
    Storage& storage = storages_[id];
    storage.name = alloc.memory;
    storage.device = alloc.device;
    storage.bytes = alloc.bytes;
    storage.kind = alloc.kind;
    storage.context = alloc.context;
    storage.pool = pool_key(alloc.pool, alloc.device);
    storage.line = line;
    storage.imports.clear();
    storage.grants.clear();
    Entry& entry = this->entry(alloc.memory);
    entry = {};
    entry.state = Entry::State::live;
    entry.storage = id;
    entry.line = line;
    entry.root = alloc.memory;
    return id;
}

void Ledger::free(Id memory, std::uint64_t line) {
    Entry& entry = this->entry(memory);
    if (entry.storage == no_storage) {
        return;
    }
    for (const Id name : storages_[entry.storage].imports) {
        Entry& import = this->entry(name);
        import.state = Entry::State::stale;
        import.storage = no_storage;
        import.end_line = line;
    }
    storages_[entry.storage].imports.clear();
    entry.state = Entry::State::freed;
    entry.storage = no_storage;
    entry.end_line = line;
}

void Ledger::recycle(StorageId storage) {
    unused_.push_back(storage);
}

void Ledger::import(const trace::Import& import, std::uint64_t line) {
    const Entry of = entry(import.of);
    Entry& entry = this->entry(import.memory);
    if (entry.imported && entry.opened > 0 && entry.root == of.root && entry.state == Entry::State::live) {
        ++entry.opened;
        return;
    }
    entry = {};
    entry.imported = true;
    entry.importer = import.device;
    entry.opened = 1;
    entry.line = line;
    entry.root = of.root;
    if (of.state == Entry::State::live) {
        entry.state = Entry::State::live;
        entry.storage = of.storage;
        storages_[of.storage].imports.push_back(import.memory);
    } else {
        entry.state = Entry::State::stale;
        entry.end_line = of.end_line;
    }
}

void Ledger::close(Id memory, std::uint64_t line) {
    Entry& entry = this->entry(memory);
    if (entry.opened == 0 || --entry.opened > 0) {
        return;
    }
    if (entry.storage != no_storage) {
        std::erase(storages_[entry.storage].imports, memory);
    }
    entry.state = Entry::State::closed;
    entry.storage = no_storage;
    entry.end_line = line;
}

void Ledger::enable(const trace::Enable& enable) {
    if (enable.result == trace::EnableResult::refused || enable.result == trace::EnableResult::limit ||
        enable.accessor == enable.owner) {
        return;
    }
    Mapping& mapping = enabled_[key(enable.accessor, enable.owner)];
    if (std::find(mapping.contexts.begin(), mapping.contexts.end(), enable.context) == mapping.contexts.end()) {
        mapping.contexts.push_back(enable.context);
    }
}

void Ledger::disable(const trace::Disable& disable) {
    const auto it = enabled_.find(key(disable.accessor, disable.owner));
    if (it == enabled_.end()) {
        return;
    }
    std::vector<Id>& contexts = it->second.contexts;
    if (std::erase(contexts, disable.context) == 0 && disable.context == no_id) {
        contexts.clear();  // no context said, and the primary one is not among them
    }
    if (contexts.empty()) {
        enabled_.erase(it);
    }
}

void Ledger::grant(const trace::GrantAccess& grant) {
    if (grant.pool != no_id) {
        pools_[pool_key(grant.pool, 0)][grant.accessor] = grant.access;
        return;
    }
    const Entry& entry = this->entry(grant.memory);
    if (entry.storage == no_storage) {
        return;
    }
    Storage& storage = storages_[entry.storage];
    if (storage.kind == MemoryKind::pool) {
        pools_[storage.pool][grant.accessor] = grant.access;  // the runtime opens pools, never parts of them
    } else {
        storage.grants[grant.accessor] = grant.access;
    }
}

Grant Ledger::granted(int accessor, const Storage& storage) const {
    const auto look = [&](const std::unordered_map<int, Grant>& grants) -> std::optional<Grant> {
        const auto it = grants.find(accessor);
        return it == grants.end() ? std::nullopt : std::optional(it->second);
    };
    std::optional<Grant> found;
    if (storage.kind == MemoryKind::pool) {
        const auto pool = pools_.find(storage.pool);
        // The owner's own access to a pool cannot be taken away.
        found = accessor == storage.device ? std::optional(Grant::readwrite)
                : pool == pools_.end()     ? std::nullopt
                                           : look(pool->second);
    } else {
        found = look(storage.grants);
        if (!found && accessor == storage.device) {
            found = Grant::readwrite;
        }
    }
    return found.value_or(Grant::none);
}

const Ledger::Mapping* Ledger::mapping(int accessor, int owner) const {
    const auto it = enabled_.find(key(accessor, owner));
    return it == enabled_.end() ? nullptr : &it->second;
}

bool Ledger::enabled_any(int accessor, int owner) const {
    return mapping(accessor, owner) != nullptr;
}

Fault Ledger::kernel_access(int accessor, Id context, const Entry& entry, bool write) const {
    switch (entry.state) {
        case Entry::State::live:
            break;
        case Entry::State::closed:
            return Fault::closed;
        case Entry::State::stale:
            return Fault::stale;
        case Entry::State::unknown:
        case Entry::State::freed:
            return Fault::use_after_free;
    }
    const Storage& storage = storages_[entry.storage];
    if (storage.device == host_device || storage.kind == MemoryKind::managed) {
        return Fault::none;
    }
    if (entry.imported && accessor == entry.importer) {
        return Fault::none;  // opening it mapped it there
    }
    if (storage.granted_kind()) {
        const Grant have = granted(accessor, storage);
        return have == Grant::readwrite || (have == Grant::read && !write) ? Fault::none : Fault::grant_missing;
    }
    if (accessor == storage.device) {
        return context == storage.context ? Fault::none : Fault::other_context;
    }
    const Mapping* mapping = this->mapping(accessor, storage.device);
    if (mapping == nullptr) {
        return enabled_any(storage.device, accessor) ? Fault::wrong_direction : Fault::unmapped;
    }
    // An enable names one context: the accessor's, or the owner's when the accessor uses its primary one.
    const auto serves = [&](Id named) {
        if (named == no_id) {
            return context == no_id && storage.context == no_id;
        }
        return named == context || (context == no_id && named == storage.context);
    };
    return std::any_of(mapping->contexts.begin(), mapping->contexts.end(), serves) ? Fault::none : Fault::other_context;
}

bool Ledger::copy_staged(const Entry& a, const Entry& b) const {
    if (a.storage == no_storage || b.storage == no_storage) {
        return false;
    }
    const Storage& x = storages_[a.storage];
    const Storage& y = storages_[b.storage];
    if (x.device == host_device || y.device == host_device || x.device == y.device || x.kind == MemoryKind::managed ||
        y.kind == MemoryKind::managed) {
        return false;
    }
    if ((a.imported && a.importer == y.device) || (b.imported && b.importer == x.device)) {
        return false;
    }
    // One of the devices has to reach the other's memory; enabling does not reach what is granted.
    const auto reaches = [&](int accessor, const Storage& storage) {
        return storage.granted_kind() ? granted(accessor, storage) != Grant::none
                                      : enabled_any(accessor, storage.device);
    };
    return !reaches(y.device, x) && !reaches(x.device, y);
}

bool Ledger::copy_refused(const Entry& entry, int current) const {
    if (entry.storage == no_storage) {
        return false;
    }
    const Storage& storage = storages_[entry.storage];
    return storage.device != host_device && storage.granted_kind() && storage.device != current &&
           !(entry.imported && entry.importer == current) && granted(current, storage) == Grant::none;
}

std::vector<Ledger::Peer> Ledger::peers(int accessor) const {
    std::vector<Peer> peers;
    for (const auto& entry : enabled_) {
        if (static_cast<int>(entry.first >> 32) == accessor) {
            peers.push_back({static_cast<int>(entry.first & 0xffffffff), entry.second.uses});
        }
    }
    std::sort(peers.begin(), peers.end(), [](const Peer& a, const Peer& b) { return a.owner < b.owner; });
    return peers;
}

void Ledger::used(int accessor, int owner) {
    if (const auto it = enabled_.find(key(accessor, owner)); it != enabled_.end()) {
        ++it->second.uses;
    }
}

}  // namespace peerlane::audit
