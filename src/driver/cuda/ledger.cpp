#include "driver/cuda/ledger.hpp"

#include <algorithm>

namespace peerlane::cuda {
namespace {

using Reading = std::shared_lock<std::shared_mutex>;
using Writing = std::unique_lock<std::shared_mutex>;

/// The entry whose key is the last one not after `address`; end() when there is none.
template <class Map>
typename Map::const_iterator at_or_before(const Map& map, Address address) {
    auto after = map.upper_bound(address);
    return after == map.begin() ? map.end() : std::prev(after);
}

}  // namespace

void Ledger::add(const MemoryRecord& record) {
    Writing const lock(mutex_);
    memory_[record.base] = record;
}

std::optional<MemoryRecord> Ledger::take(Address base) {
    Writing const lock(mutex_);
    auto const found = memory_.find(base);
    if (found == memory_.end()) {
        return std::nullopt;
    }
    auto record = found->second;
    memory_.erase(found);
    return record;
}

std::optional<MemoryRecord> Ledger::find(Address inside) const {
    Reading const lock(mutex_);
    auto const found = at_or_before(memory_, inside);
    if (found == memory_.end() || inside - found->first >= std::max(found->second.bytes, found->second.mapped_bytes)) {
        return std::nullopt;
    }
    return found->second;
}

void Ledger::add_registration(Address base, std::uint64_t bytes) {
    Writing const lock(mutex_);
    registrations_[base] = bytes;
}

bool Ledger::take_registration(Address base) {
    Writing const lock(mutex_);
    return registrations_.erase(base) != 0;
}

std::optional<MemoryRecord> Ledger::find_registration(Address inside) const {
    Reading const lock(mutex_);
    auto const found = at_or_before(registrations_, inside);
    if (found == registrations_.end() || inside - found->first >= found->second) {
        return std::nullopt;
    }
    return MemoryRecord{found->first, found->second, MemoryKind::registered, host(), {}, {}, HostSource::none, 0};
}

void Ledger::add_import(const MemoryRecord& record) {
    Writing const lock(mutex_);
    imports_.push_back(record);
}

std::optional<MemoryRecord> Ledger::take_import(Address inside) {
    Writing const lock(mutex_);
    auto const found = std::find_if(imports_.rbegin(), imports_.rend(), [&](const MemoryRecord& import) {
        return inside >= import.base && inside - import.base < import.bytes;
    });
    if (found == imports_.rend()) {
        return std::nullopt;
    }
    auto const record = *found;
    imports_.erase(std::next(found).base());
    return record;
}

std::optional<MemoryRecord> Ledger::find_import(Address inside) const {
    Reading const lock(mutex_);
    auto const found = std::find_if(imports_.rbegin(), imports_.rend(), [&](const MemoryRecord& import) {
        return inside >= import.base && inside - import.base < import.bytes;
    });
    return found == imports_.rend() ? std::nullopt : std::optional<MemoryRecord>(*found);
}

Whereabouts Ledger::whereabouts(Address inside) const {
    Reading const lock(mutex_);
    if (!registrations_.empty()) {
        auto const found = at_or_before(registrations_, inside);
        if (found != registrations_.end() && inside - found->first < found->second) {
            return {MemoryKind::registered, host(), found->first, found->second, {}};
        }
    }
    auto const found = at_or_before(memory_, inside);
    if (found != memory_.end() && inside - found->first < std::max(found->second.bytes, found->second.mapped_bytes)) {
        auto const& record = found->second;
        return {record.kind, record.place, record.base, record.bytes, record.context};
    }
    for (auto import = imports_.rbegin(); import != imports_.rend(); ++import) {
        if (inside >= import->base && inside - import->base < import->bytes) {
            return {import->kind, import->place, import->base, import->bytes, import->context};
        }
    }
    return {};
}

void Ledger::add_edge(AccessEdge edge) {
    Writing const lock(mutex_);
    edges_.insert(edge);
}

void Ledger::remove_edge(AccessEdge edge) {
    Writing const lock(mutex_);
    edges_.erase(edge);
}

std::vector<int> Ledger::accessors(int owner, ContextId owner_context) const {
    Reading const lock(mutex_);
    std::vector<int> devices;
    for (auto const& edge : edges_) {  // sorted by accessor
        if (edge.owner == owner && edge.owner_context == owner_context && edge.accessor_context == ContextId{}) {
            devices.push_back(edge.accessor);
        }
    }
    return devices;
}

void Ledger::add_context(ContextId context, int device) {
    Writing const lock(mutex_);
    contexts_[context] = device;
    has_contexts_.store(true, std::memory_order_release);
}

std::optional<int> Ledger::device_of(ContextId context) const {
    Reading const lock(mutex_);
    auto const found = contexts_.find(context);
    return found == contexts_.end() ? std::nullopt : std::optional<int>(found->second);
}

void Ledger::remove_context(ContextId context) {
    Writing const lock(mutex_);
    contexts_.erase(context);
    has_contexts_.store(!contexts_.empty(), std::memory_order_release);
    std::erase_if(memory_, [&](const auto& entry) { return entry.second.context == context; });
    std::erase_if(edges_, [&](const AccessEdge& edge) {
        return edge.accessor_context == context || edge.owner_context == context;
    });
}

void Ledger::add_pool(PoolId pool, int device, bool ours) {
    Writing const lock(mutex_);
    pools_[pool] = {device, ours};
}

std::optional<Ledger::Pool> Ledger::pool(PoolId pool) const {
    Reading const lock(mutex_);
    auto const found = pools_.find(pool);
    return found == pools_.end() ? std::nullopt : std::optional<Pool>(found->second);
}

void Ledger::remove_pool(PoolId pool) {
    Writing const lock(mutex_);
    pools_.erase(pool);
}

}  // namespace peerlane::cuda
