#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <peerlane/error.hpp>
#include <stdexcept>

#include "driver/cuda/driver.hpp"
#include "driver/cuda/host_pages.hpp"

namespace peerlane::cuda {
namespace {

bool lives_on_device(MemoryKind kind) {
    return kind == MemoryKind::plain || kind == MemoryKind::pool || kind == MemoryKind::virtual_memory ||
           kind == MemoryKind::managed;
}

void require_sense(const AllocationRequest& request) {
    if (request.bytes == 0) {
        throw std::invalid_argument("allocate: 0 bytes");
    }
    if (request.kind == MemoryKind::registered) {
        throw std::invalid_argument("allocate: kind registered is memory of the caller; use register_host");
    }
    if (lives_on_device(request.kind) != request.place.is_device()) {
        throw std::invalid_argument(
            fmt::format("allocate: {} memory does not live on {}", to_string(request.kind), to_string(request.place)));
    }
    if (request.context != ContextId{} && request.kind != MemoryKind::plain) {
        throw std::invalid_argument(fmt::format("allocate: {} memory has no context", to_string(request.kind)));
    }
}

MemoryRecord record_of(const AllocationRequest& request, Address base) {
    MemoryRecord record;
    record.base = base;
    record.bytes = request.bytes;
    record.kind = request.kind;
    record.place = request.place;
    record.context = request.context;
    return record;
}

/// A hint only: where it is not taken, the pages move at the first touch.
void prefer_device(void* base, std::uint64_t bytes, int device) {
#if CUDART_VERSION >= 13000
    cudaMemLocation location{};
    location.type = cudaMemLocationTypeDevice;
    location.id = device;
#else
    auto const location = device;
#endif
    if (cudaMemAdvise(base, bytes, cudaMemAdviseSetPreferredLocation, location) != cudaSuccess) {
        forget_last_error();
    }
}

[[noreturn]] void no_host_memory(const AllocationRequest& request) {
    fail(code::out_of_memory, "allocate", {},
         fmt::format("{} bytes of {} memory on {}", request.bytes, to_string(request.kind), to_string(request.place)));
}

}  // namespace

Address CudaDriver::allocate(const AllocationRequest& request) {
    require_sense(request);
    UncapturedScope const uncaptured;
    if (request.place.is_host()) {
        return allocate_host(request);
    }
    auto const device = request.place.index;
    require_device(device);
    Parties const parties{device, device};
    auto record = record_of(request, Address::null);
    void* base = nullptr;
    switch (request.kind) {
        case MemoryKind::virtual_memory:
            return allocate_virtual(request);
        case MemoryKind::pool: {
            auto const stream = request.stream.value_or(StreamView{device, StreamView::legacy});
            auto const pool = request.pool.value_or(default_pool(device));
            auto const known = ledger_.pool(pool);
            if (!known || known->device != device) {
                throw std::invalid_argument(
                    fmt::format("allocate: pool {:#x} is not one of gpu{}", pool.value, device));
            }
            auto const in_context = scope(stream);
            check(cudaMallocFromPoolAsync(&base, request.bytes, reinterpret_cast<cudaMemPool_t>(pool.value),
                                          native(stream)),
                  "cudaMallocFromPoolAsync", parties);
            record.pool = pool;
            break;
        }
        case MemoryKind::managed: {
            auto const in_context = primary_scope(device);
            check(cudaMallocManaged(&base, request.bytes, cudaMemAttachGlobal), "cudaMallocManaged", parties);
            prefer_device(base, request.bytes, device);
            break;
        }
        default: {
            ContextScope const in_context(context_of(request.context, device), device);
            check(cudaMalloc(&base, request.bytes), "cudaMalloc", parties);
        }
    }
    record.base = address_of(base);
    ledger_.add(record);
    return record.base;
}

Address CudaDriver::allocate_virtual(const AllocationRequest& request) {
    auto const device = request.place.index;
    Parties const parties{device, device};
    auto const in_context = primary_scope(device);
    auto const& api = driver_api();

    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    properties.requestedHandleTypes =
        request.exportable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
    std::size_t grain = 0;
    check(api.granularity(&grain, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM), "cuMemGetAllocationGranularity",
          parties);
    auto const bytes = (request.bytes + grain - 1) / grain * grain;
    if (bytes < request.bytes) {
        fail(code::out_of_memory, "cuMemCreate", parties);
    }

    CUmemGenericAllocationHandle handle{};
    check(api.memory_create(&handle, bytes, &properties, 0), "cuMemCreate", parties);
    CUdeviceptr base = 0;
    auto result = api.address_reserve(&base, bytes, 0, 0, 0);
    auto const* call = "cuMemAddressReserve";
    if (result == CUDA_SUCCESS) {
        result = api.memory_map(base, bytes, 0, handle, 0);
        call = "cuMemMap";
        if (result == CUDA_SUCCESS) {
            CUmemAccessDesc own{};
            own.location = properties.location;
            own.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            result = api.memory_set_access(base, bytes, &own, 1);
            call = "cuMemSetAccess";
            if (result != CUDA_SUCCESS) {
                static_cast<void>(api.memory_unmap(base, bytes));
            }
        }
        if (result != CUDA_SUCCESS) {
            static_cast<void>(api.address_free(base, bytes));
        }
    }
    // The mapping keeps the memory; without one it goes now.
    static_cast<void>(api.memory_release(handle));
    check(result, call, parties);

    auto record = record_of(request, Address{base});
    record.bytes = bytes;
    ledger_.add(record);
    return record.base;
}

Address CudaDriver::allocate_host(const AllocationRequest& request) {
    auto record = record_of(request, Address::null);
    auto const pinned = request.kind == MemoryKind::pinned;
    if (request.place.index != Place::any) {
        auto const pages = map_pages(request.bytes, request.place.index);
        if (pages.base == nullptr) {
            no_host_memory(request);
        }
        record.base = address_of(pages.base);
        record.mapped_bytes = pages.bytes;
        record.source = HostSource::mapping;
        record.place = pages.where == PagesOf::node ? request.place : host();
        if (pinned) {
            auto const in_context =
                primary_scope(0);  // registering needs some context; portable makes it count for all
            auto const result = cudaHostRegister(pages.base, pages.bytes, cudaHostRegisterPortable);
            if (result != cudaSuccess) {
                unmap_pages(pages.base, pages.bytes);
                check(result, "cudaHostRegister");
            }
        }
    } else if (pinned) {
        auto const in_context = primary_scope(0);
        void* base = nullptr;
        check(cudaHostAlloc(&base, request.bytes, cudaHostAllocPortable), "cudaHostAlloc");
        record.base = address_of(base);
        record.source = HostSource::runtime;
    } else {
        constexpr std::uint64_t alignment = 64;
        auto const rounded = (request.bytes + alignment - 1) / alignment * alignment;
        auto* const base = rounded < request.bytes ? nullptr : std::aligned_alloc(alignment, rounded);
        if (base == nullptr) {
            no_host_memory(request);
        }
        record.base = address_of(base);
        record.source = HostSource::heap;
    }
    ledger_.add(record);
    return record.base;
}

void CudaDriver::free(Address base, std::optional<StreamView> stream) {
    auto const record = ledger_.take(base);
    if (!record) {
        fail(code::invalid_value, "free", {},
             fmt::format("{:#x} is not the base of an allocation of this driver", static_cast<std::uint64_t>(base)));
    }
    UncapturedScope const uncaptured;
    if (record->place.is_host()) {
        free_host(*record);
    } else {
        free_device(*record, stream);
    }
}

void CudaDriver::free_device(const MemoryRecord& record, std::optional<StreamView> stream) {
    auto const device = record.place.index;
    Parties const parties{device, device};
    auto* const base = pointer_to(record.base);
    if (record.kind == MemoryKind::pool) {
        if (!stream) {  // whoever names no order wants the memory unused first; the runtime would not look
            synchronize_device(device);
        }
        auto const ordered_on = stream.value_or(StreamView{device, StreamView::legacy});
        auto const in_context = scope(ordered_on);
        check(cudaFreeAsync(base, native(ordered_on)), "cudaFreeAsync", parties);
        return;
    }
    if (record.kind == MemoryKind::virtual_memory) {
        // Unmapping does not wait for work that uses the range.
        for (auto const user : granted_devices(record.base)) {
            synchronize_device(user);
        }
        auto const in_context = primary_scope(device);
        check(driver_api().memory_unmap(device_pointer(record.base), record.bytes), "cuMemUnmap", parties);
        check(driver_api().address_free(device_pointer(record.base), record.bytes), "cuMemAddressFree", parties);
        return;
    }
    ContextScope const in_context(context_of(record.context, device), device);
    check(cudaFree(base), "cudaFree", parties);
}

void CudaDriver::free_host(const MemoryRecord& record) {
    auto* const base = pointer_to(record.base);
    if (record.kind == MemoryKind::pageable && ledger_.find_registration(record.base)) {
        unregister_host(record.base);  // the kernel must not hold pages of memory that is gone
    }
    switch (record.source) {
        case HostSource::runtime:
            check(cudaFreeHost(base), "cudaFreeHost");
            break;
        case HostSource::mapping:
            if (record.kind == MemoryKind::pinned) {
                check(cudaHostUnregister(base), "cudaHostUnregister");
            }
            unmap_pages(base, record.mapped_bytes);
            break;
        case HostSource::heap:
            std::free(base);
            break;
        case HostSource::none:
            break;
    }
}

void CudaDriver::register_host(Address base, std::uint64_t bytes) {
    if (base == Address::null || bytes == 0) {
        throw std::invalid_argument("register_host: no memory");
    }
    UncapturedScope const uncaptured;
    auto const in_context = primary_scope(0);
    check(cudaHostRegister(pointer_to(base), bytes, cudaHostRegisterPortable), "cudaHostRegister");
    ledger_.add_registration(base, bytes);
}

void CudaDriver::unregister_host(Address base) {
    UncapturedScope const uncaptured;
    auto const in_context = primary_scope(0);
    check(cudaHostUnregister(pointer_to(base)), "cudaHostUnregister");
    static_cast<void>(ledger_.take_registration(base));
}

std::uint64_t CudaDriver::free_bytes(int device) const {
    auto const in_context = primary_scope(device);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo", {device, device});
    return free;
}

PoolId CudaDriver::create_pool(int device) {
    auto const in_context = primary_scope(device);
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    // Other processes may then import what is allocated from it.
    int handles = 0;
    if (cudaDeviceGetAttribute(&handles, cudaDevAttrMemoryPoolSupportedHandleTypes, device) != cudaSuccess) {
        forget_last_error();
    }
    properties.handleTypes = (handles & cudaMemHandleTypePosixFileDescriptor) != 0
                                 ? cudaMemHandleTypePosixFileDescriptor
                                 : cudaMemHandleTypeNone;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    cudaMemPool_t pool = nullptr;
    check(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate", {device, device});
    PoolId const id{number_of(pool)};
    ledger_.add_pool(id, device, true);
    return id;
}

PoolId CudaDriver::default_pool(int device) const {
    auto const in_context = primary_scope(device);
    cudaMemPool_t pool = nullptr;
    check(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool", {device, device});
    PoolId const id{number_of(pool)};
    if (!ledger_.pool(id)) {
        ledger_.add_pool(id, device, false);
    }
    return id;
}

void CudaDriver::destroy_pool(PoolId pool) {
    auto const known = ledger_.pool(pool);
    if (!known || !known->ours) {
        throw std::invalid_argument(fmt::format("pool {:#x} is not one that this driver made", pool.value));
    }
    auto const in_context = primary_scope(known->device);
    check(cudaMemPoolDestroy(reinterpret_cast<cudaMemPool_t>(pool.value)), "cudaMemPoolDestroy",
          {known->device, known->device});
    ledger_.remove_pool(pool);
}

void CudaDriver::require_host(Address address, const char* what) const {
    auto const record = ledger_.find(address);
    if (record && record->place.is_device() && record->kind != MemoryKind::managed) {
        throw std::invalid_argument(fmt::format("{}: {:#x} is {} memory of {}", what,
                                                static_cast<std::uint64_t>(address), to_string(record->kind),
                                                to_string(record->place)));
    }
}

void CudaDriver::write_host(Address to, const void* from, std::uint64_t bytes) {
    require_host(to, "write_host");
    std::memcpy(pointer_to(to), from, bytes);
}

void CudaDriver::read_host(Address from, void* to, std::uint64_t bytes) const {
    require_host(from, "read_host");
    std::memcpy(to, pointer_to(from), bytes);
}

void CudaDriver::copy_host(Address to, Address from, std::uint64_t bytes) {
    require_host(to, "copy_host");
    require_host(from, "copy_host");
    std::memcpy(pointer_to(to), pointer_to(from), bytes);
}

void CudaDriver::fill_host(Address to, std::uint64_t bytes, Pattern pattern) {
    require_host(to, "fill_host");
    write_pattern(pattern, pointer_to(to), bytes);
}

CheckOutcome CudaDriver::check_host(Address at, std::uint64_t bytes, Pattern expected, Pattern poison) const {
    require_host(at, "check_host");
    return check_pattern(pointer_to(at), bytes, expected, poison);
}

}  // namespace peerlane::cuda
