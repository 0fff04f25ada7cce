#include "driver/sim/memory.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

namespace peerlane::sim {
namespace {

constexpr std::uint64_t device_space = std::uint64_t{0x7000}
                                       << 32;  ///< first address of device 0; 1 TiB for each device
constexpr std::uint64_t space_of_one = std::uint64_t{1} << 40;
constexpr std::uint64_t host_space = std::uint64_t{0x100000000000};
constexpr std::uint64_t device_granule = 512;
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t big_page = 2 << 20;  ///< of virtual memory

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t granule) {
    return (bytes + granule - 1) / granule * granule;
}

Place home(Place place) {
    return place.is_host() ? host(place.index == Place::any ? 0 : place.index) : place;
}

bool on_device(MemoryKind kind) {
    return kind == MemoryKind::plain || kind == MemoryKind::pool || kind == MemoryKind::virtual_memory ||
           kind == MemoryKind::managed;
}

void set_grant(std::set<int>& read, std::set<int>& write, int accessor, Access access) {
    read.erase(accessor);
    write.erase(accessor);
    if (access != Access::none) {
        read.insert(accessor);
    }
    if (access == Access::read_write) {
        write.insert(accessor);
    }
}

}  // namespace

SimMemory::SimMemory(const Truth& truth) : truth_(truth), next_pool_(truth.machine.devices.size() + 1) {
    for (std::size_t d = 0; d < truth.machine.devices.size(); ++d) {
        pools_[d + 1] = Pool{static_cast<int>(d), {}, {}};
    }
}

void SimMemory::check_device(int device, const char* what) const {
    if (device < 0 || device >= static_cast<int>(truth_.machine.devices.size())) {
        throw std::invalid_argument(
            fmt::format("{}: no device {}; this machine has {}", what, device, truth_.machine.devices.size()));
    }
}

std::uint64_t SimMemory::capacity(Place place) const {
    if (place.is_host()) {
        return static_cast<std::uint64_t>(truth_.figures.host_memory_bytes);
    }
    auto const& stated = truth_.machine.devices[static_cast<std::size_t>(place.index)].memory_bytes;
    return stated ? *stated : static_cast<std::uint64_t>(truth_.figures.device_memory_bytes);
}

std::uint64_t SimMemory::free_bytes(Place place) const {
    auto const found = used_.find(home(place));
    return capacity(place) - (found == used_.end() ? 0 : found->second);
}

Block& SimMemory::allocate(const AllocationRequest& request) {
    auto place = home(request.place);
    if (request.bytes == 0) {
        throw std::invalid_argument("allocate: bytes must be at least 1");
    }
    if (on_device(request.kind) != place.is_device()) {
        throw std::invalid_argument(
            fmt::format("allocate: {} memory does not lie at {}", to_string(request.kind), to_string(place)));
    }
    if (request.kind == MemoryKind::registered) {
        throw std::invalid_argument("allocate: registered memory is allocated as pageable and then registered");
    }
    if (place.is_device()) {
        check_device(place.index, "allocate");
    }
    auto pool = request.pool;
    if (request.kind == MemoryKind::pool) {
        pool = pool ? pool : std::optional<PoolId>(default_pool(place.index));
        auto const known = pools_.find(pool->value);
        if (known == pools_.end() || known->second.device != place.index) {
            throw std::invalid_argument(
                fmt::format("allocate: pool {} is no pool of device {}", pool->value, place.index));
        }
    }
    if (request.context.value != 0 && context_device(request.context, -1) != place.index) {
        throw std::invalid_argument("allocate: the context is not one of that device");
    }
    auto const size = request.kind == MemoryKind::virtual_memory ? rounded(request.bytes, big_page) : request.bytes;
    auto const charged = rounded(size, place.is_device() ? device_granule : page);
    if (charged > free_bytes(place)) {
        throw Error({code::out_of_memory, "allocate", place.is_device() ? place.index : -1, -1,
                     fmt::format("{} asked of {}, {} free", size_text(request.bytes), to_string(place),
                                 size_text(free_bytes(place)))});
    }
    used_[place] += charged;
    auto const granule = request.kind == MemoryKind::virtual_memory ? big_page
                         : place.is_device()                        ? device_granule
                                                                    : page;
    auto const base = next_base(place, granule, charged);
    ++numbers_;
    auto const garbage = Pattern{pattern_key(truth_.seed, 0x6172626167650000ULL, numbers_), 0};
    Block block;
    block.base = base;
    block.bytes = size;
    block.place = place;
    block.kind = request.kind;
    block.context = request.context;
    block.pool = pool;
    block.number = numbers_;
    block.stored = std::make_shared<Stored>(Extents(size, garbage));
    block.charged = charged;
    block.exportable = request.exportable;
    return blocks_.emplace(static_cast<std::uint64_t>(base), std::move(block)).first->second;
}

Address SimMemory::next_base(Place place, std::uint64_t granule, std::uint64_t charged) {
    auto const first = place.is_device() ? device_space + static_cast<std::uint64_t>(place.index) * space_of_one
                                         : host_space + static_cast<std::uint64_t>(place.index) * 16 * space_of_one;
    auto& next = next_.try_emplace(place, first).first->second;
    auto base = rounded(next, granule);
    // The spaces are wide, but nodes of the host may have any number, and addresses are not used twice.
    for (auto after = blocks_.lower_bound(base + charged + granule); after != blocks_.begin();) {
        auto const& block = std::prev(after)->second;
        auto const end = static_cast<std::uint64_t>(block.base) + block.bytes;
        if (end <= base) {
            break;
        }
        base = rounded(end + granule, granule);
        after = blocks_.lower_bound(base + charged + granule);
    }
    next = base + charged + granule;  // a gap, so that a range which leaves its allocation meets nothing
    return Address{base};
}

void SimMemory::free(Address base) {
    auto const found = blocks_.find(static_cast<std::uint64_t>(base));
    if (found == blocks_.end() || found->second.imported_by) {
        throw Error({code::invalid_value, "free", -1, -1, "the address is not the base of an allocation"});
    }
    erase(found);
}

void SimMemory::erase(std::map<std::uint64_t, Block>::iterator block) {
    auto const gone = std::move(block->second);
    blocks_.erase(block);
    used_[gone.place] -= gone.charged;
    if (gone.stored.use_count() == 1) {
        return;
    }
    for (auto entry = blocks_.begin(); entry != blocks_.end();) {
        auto& other = entry->second;
        if (other.stored != gone.stored) {
            ++entry;
        } else if (gone.kind == MemoryKind::virtual_memory) {  // its memory lives as long as something maps it
            other.charged += gone.charged;
            used_[gone.place] += gone.charged;
            return;
        } else if (gone.imported_by) {
            return;
        } else {  // whoever touches these from now on is found out
            stale_[entry->first] = other.bytes;
            entry = blocks_.erase(entry);
        }
    }
}

const Block* SimMemory::find(Address at) const {
    auto next = blocks_.upper_bound(static_cast<std::uint64_t>(at));
    if (next == blocks_.begin()) {
        return nullptr;
    }
    auto const& block = std::prev(next)->second;
    return at - block.base < block.bytes ? &block : nullptr;
}

Block* SimMemory::find(Address at) {
    return const_cast<Block*>(std::as_const(*this).find(at));
}

Block& SimMemory::covering(Address at, std::uint64_t bytes, const char* call) {
    auto* const block = find(at);
    if (block == nullptr || bytes > block->bytes - (at - block->base)) {
        throw Error({code::invalid_value, call, block != nullptr && block->place.is_device() ? block->place.index : -1,
                     -1,
                     block == nullptr ? fmt::format("no allocation at address {:#x}", static_cast<std::uint64_t>(at))
                                      : fmt::format("{} from offset {} leave their allocation of {}", size_text(bytes),
                                                    at - block->base, size_text(block->bytes))});
    }
    return *block;
}

MappingOutcome SimMemory::enable(AccessEdge edge) {
    using Kind = MappingOutcome::Kind;
    auto const devices = static_cast<int>(truth_.machine.devices.size());
    if (edge.accessor < 0 || edge.owner < 0 || edge.accessor >= devices || edge.owner >= devices) {
        return {Kind::refused, code::invalid_device};
    }
    if (edge.accessor == edge.owner || !truth_.claims(edge.accessor, edge.owner)) {
        return {Kind::refused, code::peer_access_unsupported};
    }
    if (auto const* fault = truth_.fault(Fault::What::map, edge.accessor, edge.owner);
        fault != nullptr && fault->effect == Fault::Effect::error) {
        return {Kind::refused, static_cast<int>(fault->number)};
    }
    if (enabled(edge)) {
        return {Kind::already, 0};
    }
    if (auto const limit = truth_.slot_limit(edge.accessor)) {
        auto const taken = std::count_if(edges_.begin(), edges_.end(),
                                         [&](const AccessEdge& e) { return e.accessor == edge.accessor; });
        if (taken >= *limit) {
            return {Kind::no_slot, code::too_many_peers};
        }
    }
    edges_.insert(edge);
    return {};
}

MappingOutcome SimMemory::disable(AccessEdge edge) {
    return edges_.erase(edge) != 0 ? MappingOutcome{}
                                   : MappingOutcome{MappingOutcome::Kind::refused, code::peer_access_not_enabled};
}

MappingOutcome SimMemory::grant(PoolId pool, int accessor, Access access) {
    auto const found = pools_.find(pool.value);
    if (found == pools_.end() || accessor < 0 || accessor >= static_cast<int>(truth_.machine.devices.size())) {
        return {MappingOutcome::Kind::refused, found == pools_.end() ? code::invalid_value : code::invalid_device};
    }
    auto& p = found->second;
    if (accessor == p.device) {
        return {};  // the owner's own access is never taken away
    }
    if (access != Access::none && !truth_.claims(accessor, p.device)) {
        return {MappingOutcome::Kind::refused, code::invalid_device};
    }
    set_grant(p.granted_read, p.granted_write, accessor, access);
    return {};
}

MappingOutcome SimMemory::grant(Address at, int accessor, Access access) {
    auto* const block = find(at);
    if (block == nullptr || block->kind != MemoryKind::virtual_memory || accessor < 0 ||
        accessor >= static_cast<int>(truth_.machine.devices.size())) {
        return {MappingOutcome::Kind::refused, code::invalid_value};
    }
    if (accessor != block->place.index && access != Access::none && !truth_.claims(accessor, block->place.index)) {
        return {MappingOutcome::Kind::refused, code::invalid_device};
    }
    if (accessor != block->place.index || block->imported_by) {
        set_grant(block->granted_read, block->granted_write, accessor, access);
    }
    return {};
}

bool SimMemory::copies_direct(int a, int b) const {
    return enabled({a, b, {}, {}}) || enabled({b, a, {}, {}});
}

ContextId SimMemory::create_context(int device) {
    check_device(device, "create_context");
    contexts_[next_context_] = device;
    return {next_context_++};
}

void SimMemory::destroy_context(ContextId context) {
    if (contexts_.erase(context.value) == 0) {
        throw Error({code::invalid_context, "destroy_context", -1, -1, "no such context"});
    }
    for (auto entry = blocks_.begin(); entry != blocks_.end();) {
        auto const& block = entry->second;
        if (block.context == context) {
            used_[block.place] -= block.charged;
            entry = blocks_.erase(entry);
        } else {
            ++entry;
        }
    }
    for (auto edge = edges_.begin(); edge != edges_.end();) {
        edge =
            edge->accessor_context == context || edge->owner_context == context ? edges_.erase(edge) : std::next(edge);
    }
}

int SimMemory::context_device(ContextId context, int primary_device) const {
    if (context.value == 0) {
        return primary_device;
    }
    auto const found = contexts_.find(context.value);
    if (found == contexts_.end()) {
        throw Error({code::invalid_context, "context", -1, -1, "no such context"});
    }
    return found->second;
}

PoolId SimMemory::create_pool(int device) {
    check_device(device, "create_pool");
    pools_[next_pool_] = Pool{device, {}, {}};
    return {next_pool_++};
}

void SimMemory::destroy_pool(PoolId pool) {
    if (pool.value <= truth_.machine.devices.size() || pools_.erase(pool.value) == 0) {
        throw Error({code::invalid_value, "destroy_pool", -1, -1, "not a pool that create_pool made"});
    }
}

bool SimMemory::kernel_may(int device, ContextId context, const Block& block, bool write) const {
    switch (block.kind) {
        case MemoryKind::pinned:
        case MemoryKind::registered:
        case MemoryKind::managed:
            return true;
        case MemoryKind::pageable:
            return false;
        case MemoryKind::plain:
            if (block.imported_by) {
                return *block.imported_by == device && context.value == 0;
            }
            if (block.place.index == device) {
                return block.context == context;
            }
            return enabled({device, block.place.index, context, block.context});
        case MemoryKind::pool: {
            if (block.imported_by) {
                return *block.imported_by == device;
            }
            auto const pool = pools_.find(block.pool->value);
            return block.place.index == device ||
                   (pool != pools_.end() &&
                    (write ? pool->second.granted_write : pool->second.granted_read).count(device) != 0);
        }
        case MemoryKind::virtual_memory:
            return (block.place.index == device && !block.imported_by) ||
                   (write ? block.granted_write : block.granted_read).count(device) != 0;
    }
    return false;
}

bool SimMemory::copy_may(int device, const Block& block) const {
    return (block.kind != MemoryKind::pool && block.kind != MemoryKind::virtual_memory) ||
           kernel_may(device, {}, block, false);
}

Provenance SimMemory::provenance(Address at) const {
    auto const* const block = find(at);
    if (block == nullptr) {
        return {};
    }
    Provenance found{block->kind, block->place, block->base, block->bytes, block->context, block->pool, {}};
    for (auto const& device : truth_.machine.devices) {
        if (kernel_may(device.id, {}, *block, false)) {
            found.kernel_access.push_back(device.id);
        }
    }
    return found;
}

}  // namespace peerlane::sim
