// Memory: what is allocated, imported, mapped and granted.
#include "driver/auditing/observer.hpp"

#include <algorithm>
#include <cstddef>

#include <unistd.h>

#include <fmt/format.h>
#include <peerlane/units.hpp>

namespace peerlane::auditing {
namespace {

trace::MemoryKind kind_of(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::plain:
            return trace::MemoryKind::plain;
        case MemoryKind::pool:
            return trace::MemoryKind::pool;
        case MemoryKind::virtual_memory:
            return trace::MemoryKind::virtual_memory;
        case MemoryKind::managed:
            return trace::MemoryKind::managed;
        case MemoryKind::pinned:
        case MemoryKind::registered:
            return trace::MemoryKind::pinned;
        case MemoryKind::pageable:
            return trace::MemoryKind::pageable;
    }
    return trace::MemoryKind::plain;
}

trace::EnableResult result_of(MappingOutcome::Kind kind) {
    switch (kind) {
        case MappingOutcome::Kind::done:
            return trace::EnableResult::ok;
        case MappingOutcome::Kind::already:
            return trace::EnableResult::already;
        case MappingOutcome::Kind::refused:
            return trace::EnableResult::refused;
        case MappingOutcome::Kind::no_slot:
            return trace::EnableResult::limit;
    }
    return trace::EnableResult::refused;
}

}  // namespace

void Observer::allocated(Address base, const AllocationRequest& request, std::uint64_t bytes) {
    auto const id = symbols_.memories.intern(fmt::format("{}{}", to_string(request.kind), ++named_));
    trace::Alloc alloc;
    alloc.memory = id;
    alloc.device = request.place.is_device() ? request.place.index : trace::host_device;
    alloc.bytes = bytes;
    alloc.kind = kind_of(request.kind);
    alloc.context = context(request.context);
    if (request.kind == MemoryKind::pool) {
        if (request.pool) {
            alloc.pool =
                pools_.try_emplace(request.pool->value, symbols_.pools.intern(fmt::format("p{}", request.pool->value)))
                    .first->second;
        }
        if (request.stream) {
            alloc.stream = stream(*request.stream);
        }
    }
    memory_[base] = {bytes, id, request, 0};
    deliver(alloc);
}

void Observer::freed(Address base, std::optional<trace::Id> in_stream) {
    auto const found = memory_.find(base);
    if (found == memory_.end()) {
        return;
    }
    deliver(trace::Free{found->second.memory, in_stream.value_or(trace::no_id)});
    flags_.erase(flags_.lower_bound(base), flags_.lower_bound(base + found->second.bytes));
    memory_.erase(found);
}

void Observer::registered(Address base, bool now) {
    auto const found = memory_.find(base);
    if (found == memory_.end()) {
        return;
    }
    // The trace knows no change of kind: the same bytes under a new name.
    auto request = found->second.request;
    auto const bytes = found->second.bytes;
    request.kind = now ? MemoryKind::registered : MemoryKind::pageable;
    freed(base, std::nullopt);
    allocated(base, request, bytes);
}

void Observer::imported(Address at, const SharedHandle& handle, int device) {
    auto const base = Address{static_cast<std::uint64_t>(at) - handle.offset};
    if (auto const open = memory_.find(base); open != memory_.end() && open->second.opened > 0) {
        ++open->second.opened;
        return;
    }
    auto of = trace::no_id;
    if (auto const own = memory_.find(handle.base); handle.process == ::getpid() && own != memory_.end()) {
        of = own->second.memory;
    } else if (auto const known = foreign_.find({handle.process, handle.base}); known != foreign_.end()) {
        of = known->second;
    } else {
        // Somebody else's memory: it exists from here on, as far as the trace can know.
        of = symbols_.memories.intern(fmt::format("foreign{}", ++named_));
        foreign_[{handle.process, handle.base}] = of;
        trace::Alloc alloc;
        alloc.memory = of;
        alloc.device = handle.owner < devices_ ? handle.owner : device;
        alloc.bytes = handle.bytes;
        alloc.kind = kind_of(handle.kind);
        deliver(alloc);
    }
    auto const id = symbols_.memories.intern(fmt::format("import{}", ++named_));
    memory_[base] = {handle.bytes, id, {}, 1};
    deliver(trace::Import{id, of, device});
}

void Observer::closed(Address at) {
    auto found = memory_.upper_bound(at);
    if (found == memory_.begin()) {
        return;
    }
    --found;
    auto& known = found->second;
    if (known.opened == 0 || at - found->first >= known.bytes || --known.opened > 0) {
        return;
    }
    deliver(trace::Close{known.memory});
    flags_.erase(flags_.lower_bound(found->first), flags_.lower_bound(found->first + known.bytes));
    memory_.erase(found);
}

Observer::Spot Observer::find(Address at) const {
    auto const next = memory_.upper_bound(at);
    if (next == memory_.begin()) {
        return {};
    }
    auto const& [base, known] = *std::prev(next);
    return at - base < known.bytes ? Spot{known.memory, at - base} : Spot{};
}

void Observer::enabled(const AccessEdge& edge, const MappingOutcome& outcome) {
    deliver(trace::Enable{edge.accessor, edge.owner, result_of(outcome.kind), context(edge.accessor_context)});
}

void Observer::disabled(const AccessEdge& edge) {
    deliver(trace::Disable{edge.accessor, edge.owner, context(edge.accessor_context)});
}

void Observer::granted(std::optional<PoolId> pool, Address at, int accessor, Access access) {
    trace::GrantAccess grant;
    if (pool) {
        grant.pool =
            pools_.try_emplace(pool->value, symbols_.pools.intern(fmt::format("p{}", pool->value))).first->second;
    } else {
        grant.memory = find(at).memory;
        if (grant.memory == trace::no_id) {
            return;
        }
    }
    grant.accessor = accessor;
    grant.access = access == Access::none   ? trace::Grant::none
                   : access == Access::read ? trace::Grant::read
                                            : trace::Grant::readwrite;
    deliver(grant);
}

}  // namespace peerlane::auditing
