#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <stdexcept>

#include "driver/cuda/driver.hpp"

namespace peerlane::cuda {
namespace {

/// What an enabling or granting call may answer without anything being broken.
MappingOutcome outcome(int result, const char* call, Parties parties) {
    switch (result) {
        case code::success:
            return {};
        case code::peer_access_already_enabled:
            return {MappingOutcome::Kind::already, 0};
        case code::too_many_peers:
            return {MappingOutcome::Kind::no_slot, result};
        default:
            break;
    }
    if (is_sticky(result)) {
        fail(result, call, parties);
    }
    return {MappingOutcome::Kind::refused, result};
}

MappingOutcome refused(int code) {
    return {MappingOutcome::Kind::refused, code};
}

}  // namespace

bool CudaDriver::can_access(int accessor, int owner) const {
    require_device(accessor);
    require_device(owner);
    int answer = 0;
    check(cudaDeviceCanAccessPeer(&answer, accessor, owner), "cudaDeviceCanAccessPeer", {accessor, owner});
    return answer != 0;
}

bool CudaDriver::native_atomics(int accessor, int owner) const {
    require_device(accessor);
    require_device(owner);
    if (accessor == owner) {
        return true;
    }
    int answer = 0;
    check(cudaDeviceGetP2PAttribute(&answer, cudaDevP2PAttrNativeAtomicSupported, accessor, owner),
          "cudaDeviceGetP2PAttribute", {accessor, owner});
    return answer != 0;
}

MappingOutcome CudaDriver::enable_or_disable(AccessEdge edge, bool enable) {
    // The runtime gives these two codes as well (tried on real devices); an unknown accessor it could not even be asked
    // of.
    if (!has_device(edge.accessor) || !has_device(edge.owner)) {
        return refused(code::invalid_device);
    }
    if (edge.accessor == edge.owner) {
        return refused(enable ? code::peer_access_unsupported : code::peer_access_not_enabled);
    }
    auto const both_primary = edge.accessor_context == ContextId{} && edge.owner_context == ContextId{};
    auto* const owner_context = context_of(edge.owner_context, edge.owner);
    UncapturedScope const uncaptured;
    ContextScope const scope(context_of(edge.accessor_context, edge.accessor), edge.accessor);
    Parties const parties{edge.accessor, edge.owner};
    int result = 0;
    if (both_primary) {
        result = enable ? cudaDeviceEnablePeerAccess(edge.owner, 0) : cudaDeviceDisablePeerAccess(edge.owner);
        if (result != code::success) {
            forget_last_error();
        }
    } else {
        result = enable ? driver_api().context_enable_peer(owner_context, 0)
                        : driver_api().context_disable_peer(owner_context);
    }
    auto const* const call = both_primary ? (enable ? "cudaDeviceEnablePeerAccess" : "cudaDeviceDisablePeerAccess")
                                          : (enable ? "cuCtxEnablePeerAccess" : "cuCtxDisablePeerAccess");
    return outcome(result, call, parties);
}

MappingOutcome CudaDriver::enable_access(AccessEdge edge) {
    auto const result = enable_or_disable(edge, true);
    if (result.usable()) {
        ledger_.add_edge(edge);
    }
    return result;
}

MappingOutcome CudaDriver::disable_access(AccessEdge edge) {
    auto const result = enable_or_disable(edge, false);
    if (result.usable() || result.code == code::peer_access_not_enabled) {
        ledger_.remove_edge(edge);
    }
    return result;
}

MappingOutcome CudaDriver::grant(PoolId pool, int accessor, Access access) {
    auto const known = ledger_.pool(pool);
    if (!known) {
        throw std::invalid_argument(fmt::format("pool {:#x} is not one of this driver", pool.value));
    }
    if (!has_device(accessor)) {
        return refused(code::invalid_device);
    }
    if (accessor == known->device) {
        return {};  // a pool is always open to its own device, and the runtime refuses to be told so
    }
    cudaMemAccessDesc wanted{};
    wanted.location.type = cudaMemLocationTypeDevice;
    wanted.location.id = accessor;
    wanted.flags = access == Access::none   ? cudaMemAccessFlagsProtNone
                   : access == Access::read ? cudaMemAccessFlagsProtRead
                                            : cudaMemAccessFlagsProtReadWrite;
    UncapturedScope const uncaptured;
    auto const scope = primary_scope(known->device);
    auto const result = cudaMemPoolSetAccess(reinterpret_cast<cudaMemPool_t>(pool.value), &wanted, 1);
    if (result != cudaSuccess) {
        forget_last_error();
    }
    return outcome(result, "cudaMemPoolSetAccess", {accessor, known->device});
}

MappingOutcome CudaDriver::grant(Address virtual_memory, int accessor, Access access) {
    auto record = ledger_.find(virtual_memory);
    if (!record) {
        record = ledger_.find_import(virtual_memory);
    }
    if (!record || record->kind != MemoryKind::virtual_memory) {
        throw std::invalid_argument(
            fmt::format("{:#x} is not in virtual memory of this driver", static_cast<std::uint64_t>(virtual_memory)));
    }
    if (!has_device(accessor)) {
        return refused(code::invalid_device);
    }
    // Mapping for a device needs a context there.
    static_cast<void>(primary(accessor));
    CUmemAccessDesc wanted{};
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    wanted.location.id = accessor;
    wanted.flags = access == Access::none   ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                   : access == Access::read ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                            : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    auto const scope = primary_scope(record->place.index);
    auto const result = driver_api().memory_set_access(device_pointer(record->base), record->bytes, &wanted, 1);
    return outcome(result, "cuMemSetAccess", {accessor, record->place.index});
}

ContextId CudaDriver::create_context(int device) {
    require_device(device);
    CUcontext context = nullptr;
    check(driver_api().context_create(&context, 0, device), "cuCtxCreate", {device, device});
    // Making one also makes it the thread's current one.
    CUcontext popped = nullptr;
    check(driver_api().context_pop(&popped), "cuCtxPopCurrent", {device, device});
    ContextId const id{number_of(context)};
    ledger_.add_context(id, device);
    load_device_code(context, device);
    return id;
}

void CudaDriver::destroy_context(ContextId context) {
    auto const device = ledger_.device_of(context);
    if (!device) {
        throw std::invalid_argument(fmt::format("context {:#x} is not one of this driver", context.value));
    }
    check(driver_api().context_destroy(reinterpret_cast<CUcontext>(context.value)), "cuCtxDestroy", {*device, *device});
    ledger_.remove_context(context);
}

}  // namespace peerlane::cuda
