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
    auto const record = ledger_.find(at);
    if (!record) {
        return {code::invalid_value, {}};
    }
    auto const plain = record->kind == MemoryKind::plain && record->context == ContextId{};
    if (!plain && record->kind != MemoryKind::virtual_memory) {
        return {code::not_supported, {}};
    }
    auto const device = record->place.index;
    Parties const parties{device, device};
    UncapturedScope const uncaptured;
    auto const in_context = primary_scope(device);
    ExportOutcome outcome;
    auto& handle = outcome.handle;
    handle.kind = record->kind;
    handle.process = ::getpid();
    handle.owner = device;
    handle.base = record->base;
    handle.bytes = record->bytes;
    handle.offset = at - record->base;
    if (plain) {
        cudaIpcMemHandle_t token{};
        auto const result = cudaIpcGetMemHandle(&token, pointer_to(record->base));
        if (result != cudaSuccess) {
            return {refusal(result, "cudaIpcGetMemHandle", parties), {}};
        }
        std::memcpy(handle.token.data(), &token, sizeof token);
        return outcome;
    }
    auto const& api = driver_api();
    CUmemGenericAllocationHandle memory{};
    auto result = api.memory_retain(&memory, pointer_to(record->base));
    if (result != CUDA_SUCCESS) {
        return {refusal(result, "cuMemRetainAllocationHandle", parties), {}};
    }
    int descriptor = -1;
    result = api.memory_export(&descriptor, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    static_cast<void>(api.memory_release(memory));
    if (result != CUDA_SUCCESS) {
        return {refusal(result, "cuMemExportToShareableHandle", parties), {}};
    }
    handle.descriptor = Descriptor(descriptor);
    return outcome;
}

ImportOutcome CudaDriver::import_memory(const SharedHandle& handle, int device) {
    require_device(device);
    if (handle.offset >= handle.bytes) {
        return {code::invalid_value, Address::null};
    }
    UncapturedScope const uncaptured;
    auto const in_context = primary_scope(device);
    return handle.kind == MemoryKind::plain            ? import_plain(handle, device)
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
    for (auto const user : granted_devices(record->base)) {  // unmapping does not wait for work that uses the range
        synchronize_device(user);
    }
    check(driver_api().memory_unmap(device_pointer(record->base), record->bytes), "cuMemUnmap", parties);
    check(driver_api().address_free(device_pointer(record->base), record->bytes), "cuMemAddressFree", parties);
}

}  // namespace peerlane::cuda
