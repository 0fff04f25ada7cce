// Export and import between processes: legacy handles for plain memory, file descriptors for virtual memory.

#include <cstring>
#include <stdexcept>

#include <unistd.h>

#include <fmt/format.h>
#include <peerlane/error.hpp>

#include "driver/cuda/driver.hpp"

namespace peerlane::cuda {
namespace {

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(SharedHandle::token));
static_assert(sizeof(cudaMemPoolPtrExportData) == sizeof(SharedHandle::token));
static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(SharedEventOutcome::token));

/// A refusal is a value; a sticky failure is not.
int refusal(int result, const char* call, Parties parties) {
    if (is_sticky(result)) {
        fail(result, call, parties);
    }
    forget_last_error();
    return result;
}

}  // namespace

ExportOutcome CudaDriver::export_memory(Address at) {
    auto const found = provenance(at);  // of others' allocations, too: those of a framework
    auto const pooled = found.kind == MemoryKind::pool && found.pool;
    auto const plain = found.kind == MemoryKind::plain && found.context == ContextId{};
    if (found.bytes == 0 || ledger_.find_import(at)) {
        return {found.bytes == 0 ? code::invalid_value : code::not_supported, {}};
    }
    if (!found.place.is_device() || (!plain && !pooled && found.kind != MemoryKind::virtual_memory)) {
        return {code::not_supported, {}};
    }
    auto const device = found.place.index;
    UncapturedScope const uncaptured;
    auto const in_context = primary_scope(device);
    ExportOutcome outcome;
    auto& handle = outcome.handle;
    handle.kind = found.kind;
    handle.process = ::getpid();
    handle.owner = device;
    handle.base = found.base;
    handle.bytes = found.bytes;
    handle.offset = at - found.base;
    outcome.code = plain ? export_plain(handle) : pooled ? export_pooled(handle, *found.pool) : export_virtual(handle);
    return outcome;
}

int CudaDriver::export_plain(SharedHandle& handle) const {
    cudaIpcMemHandle_t token{};
    auto const result = cudaIpcGetMemHandle(&token, pointer_to(handle.base));
    if (result != cudaSuccess) {
        return refusal(result, "cudaIpcGetMemHandle", {handle.owner, handle.owner});
    }
    std::memcpy(handle.token.data(), &token, sizeof token);
    return 0;
}

int CudaDriver::export_virtual(SharedHandle& handle) const {
    Parties const parties{handle.owner, handle.owner};
    auto const& api = driver_api();
    CUmemGenericAllocationHandle memory{};
    auto result = api.memory_retain(&memory, pointer_to(handle.base));
    if (result != CUDA_SUCCESS) {
        return refusal(result, "cuMemRetainAllocationHandle", parties);
    }
    int descriptor = -1;
    result = api.memory_export(&descriptor, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    static_cast<void>(api.memory_release(memory));
    if (result != CUDA_SUCCESS) {
        return refusal(result, "cuMemExportToShareableHandle", parties);
    }
    handle.descriptor = Descriptor(descriptor);
    return 0;
}

int CudaDriver::export_pooled(SharedHandle& handle, PoolId pool) const {
    Parties const parties{handle.owner, handle.owner};
    int descriptor = -1;
    auto result = cudaMemPoolExportToShareableHandle(&descriptor, reinterpret_cast<cudaMemPool_t>(pool.value),
                                                     cudaMemHandleTypePosixFileDescriptor, 0);
    if (result != cudaSuccess) {  // a pool that was not made for it, the one that a device comes with among them
        static_cast<void>(refusal(result, "cudaMemPoolExportToShareableHandle", parties));
        return code::not_supported;
    }
    handle.descriptor = Descriptor(descriptor);
    cudaMemPoolPtrExportData token{};
    result = cudaMemPoolExportPointer(&token, pointer_to(handle.base));
    if (result != cudaSuccess) {
        return refusal(result, "cudaMemPoolExportPointer", parties);
    }
    std::memcpy(handle.token.data(), &token, sizeof token);
    return 0;
}

ImportOutcome CudaDriver::import_memory(const SharedHandle& handle, int device) {
    require_device(device);
    if (handle.offset >= handle.bytes) {
        return {code::invalid_value, Address::null};
    }
    UncapturedScope const uncaptured;
    auto const in_context = primary_scope(device);
    return handle.kind == MemoryKind::plain            ? import_plain(handle, device)
           : handle.kind == MemoryKind::pool           ? import_pooled(handle, device)
           : handle.kind == MemoryKind::virtual_memory ? import_virtual(handle, device)
                                                       : ImportOutcome{code::not_supported, Address::null};
}

ImportOutcome CudaDriver::import_plain(const SharedHandle& handle, int device) {
    cudaIpcMemHandle_t token{};
    std::memcpy(&token, handle.token.data(), sizeof token);
    void* base = nullptr;
    auto const result = cudaIpcOpenMemHandle(&base, token, cudaIpcMemLazyEnablePeerAccess);
    if (result != cudaSuccess) {
        return {refusal(result, "cudaIpcOpenMemHandle", {device, -1}), Address::null};
    }
    MemoryRecord record;
    record.base = address_of(base);
    record.bytes = handle.bytes;
    record.kind = MemoryKind::plain;
    record.place = gpu(device);  // the runtime, too, names the importer's device for such an address
    ledger_.add_import(record);
    return {0, record.base + handle.offset};
}

ImportOutcome CudaDriver::import_virtual(const SharedHandle& handle, int device) {
    auto const& api = driver_api();
    Parties const parties{device, -1};
    CUmemGenericAllocationHandle memory{};
    auto result =
        api.memory_import(&memory, reinterpret_cast<void*>(static_cast<std::intptr_t>(handle.descriptor.number())),
                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (result != CUDA_SUCCESS) {
        return {refusal(result, "cuMemImportFromShareableHandle", parties), Address::null};
    }
    CUdeviceptr base = 0;
    auto const* call = "cuMemAddressReserve";
    result = api.address_reserve(&base, handle.bytes, 0, 0, 0);
    if (result == CUDA_SUCCESS) {
        call = "cuMemMap";
        result = api.memory_map(base, handle.bytes, 0, memory, 0);
        if (result == CUDA_SUCCESS) {
            CUmemAccessDesc wanted{};
            wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
            wanted.location.id = device;
            wanted.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            call = "cuMemSetAccess";
            result = api.memory_set_access(base, handle.bytes, &wanted, 1);
            if (result != CUDA_SUCCESS) {
                static_cast<void>(api.memory_unmap(base, handle.bytes));
            }
        }
        if (result != CUDA_SUCCESS) {
            static_cast<void>(api.address_free(base, handle.bytes));
        }
    }
    static_cast<void>(api.memory_release(memory));  // the mapping keeps the memory
    if (result != CUDA_SUCCESS) {
        return {refusal(result, call, parties), Address::null};
    }
    MemoryRecord record;
    record.base = Address{base};
    record.bytes = handle.bytes;
    record.kind = MemoryKind::virtual_memory;
    record.place = gpu(device);
    ledger_.add_import(record);
    return {0, record.base + handle.offset};
}

ImportOutcome CudaDriver::import_pooled(const SharedHandle& handle, int device) {
    Parties const parties{device, -1};
    cudaMemPool_t pool = nullptr;
    auto result = cudaMemPoolImportFromShareableHandle(
        &pool, reinterpret_cast<void*>(static_cast<std::intptr_t>(handle.descriptor.number())),
        cudaMemHandleTypePosixFileDescriptor, 0);
    if (result != cudaSuccess) {
        return {refusal(result, "cudaMemPoolImportFromShareableHandle", parties), Address::null};
    }
    auto const give_up = [&](const char* call) {
        auto const refused = refusal(result, call, parties);
        static_cast<void>(cudaMemPoolDestroy(pool));
        forget_last_error();
        return ImportOutcome{refused, Address::null};
    };
    cudaMemAccessDesc wanted{};
    wanted.location.type = cudaMemLocationTypeDevice;
    wanted.location.id = device;
    wanted.flags = cudaMemAccessFlagsProtReadWrite;
    auto flags = cudaMemAccessFlagsProtNone;
    if (cudaMemPoolGetAccess(&flags, pool, &wanted.location) != cudaSuccess) {
        forget_last_error();
    }
    if (flags != cudaMemAccessFlagsProtReadWrite) {  // a pool is open to its own device, and refuses to be told so
        result = cudaMemPoolSetAccess(pool, &wanted, 1);
        if (result != cudaSuccess) {
            return give_up("cudaMemPoolSetAccess");
        }
    }
    cudaMemPoolPtrExportData token{};
    std::memcpy(&token, handle.token.data(), sizeof token);
    void* base = nullptr;
    result = cudaMemPoolImportPointer(&base, pool, &token);
    if (result != cudaSuccess) {
        return give_up("cudaMemPoolImportPointer");
    }
    MemoryRecord record;
    record.base = address_of(base);
    record.bytes = handle.bytes;
    record.kind = MemoryKind::pool;
    record.place = gpu(device);
    record.pool = PoolId{number_of(pool)};
    ledger_.add_pool(*record.pool, device, false);
    ledger_.add_import(record);
    return {0, record.base + handle.offset};
}

void CudaDriver::close_import(Address at) {
    auto const record = ledger_.take_import(at);
    if (!record) {
        fail(code::invalid_value, "close_import", {},
             fmt::format("{:#x} is not in an open import", static_cast<std::uint64_t>(at)));
    }
    auto const device = record->place.index;
    Parties const parties{device, -1};
    UncapturedScope const uncaptured;
    synchronize_device(device);
    auto const in_context = primary_scope(device);
    if (record->kind == MemoryKind::plain) {
        check(cudaIpcCloseMemHandle(pointer_to(record->base)), "cudaIpcCloseMemHandle", parties);
        return;
    }
    if (record->kind == MemoryKind::pool) {
        check(cudaFree(pointer_to(record->base)), "cudaFree", parties);
        ledger_.remove_pool(*record->pool);
        check(cudaMemPoolDestroy(reinterpret_cast<cudaMemPool_t>(record->pool->value)), "cudaMemPoolDestroy", parties);
        return;
    }
    for (auto const user : granted_devices(record->base)) {  // unmapping does not wait for work that uses the range
        synchronize_device(user);
    }
    check(driver_api().memory_unmap(device_pointer(record->base), record->bytes), "cuMemUnmap", parties);
    check(driver_api().address_free(device_pointer(record->base), record->bytes), "cuMemAddressFree", parties);
}

SharedEventOutcome CudaDriver::create_shared_event(int device) {
    require_device(device);
    UncapturedScope const uncaptured;
    auto const in_context = primary_scope(device);
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess), "cudaEventCreateWithFlags",
          {device});
    cudaIpcEventHandle_t token{};
    auto const result = cudaIpcGetEventHandle(&token, event);
    if (result != cudaSuccess) {
        auto const refused = refusal(result, "cudaIpcGetEventHandle", {device});
        static_cast<void>(cudaEventDestroy(event));
        return {.code = refused};
    }
    SharedEventOutcome outcome{0, {device, number_of(event)}, {}};
    std::memcpy(outcome.token.data(), &token, sizeof token);
    return outcome;
}

SharedEventOutcome CudaDriver::import_event(const std::array<std::uint8_t, 64>& token, int device) {
    require_device(device);
    UncapturedScope const uncaptured;
    auto const in_context = primary_scope(device);
    cudaIpcEventHandle_t handle{};
    std::memcpy(&handle, token.data(), sizeof handle);
    cudaEvent_t event = nullptr;
    auto const result = cudaIpcOpenEventHandle(&event, handle);
    if (result != cudaSuccess) {
        return {.code = refusal(result, "cudaIpcOpenEventHandle", {device})};
    }
    return {0, {device, number_of(event)}, token};
}

}  // namespace peerlane::cuda
