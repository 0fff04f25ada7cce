#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

#include "driver/cuda/driver.hpp"

namespace peerlane::cuda {
namespace {

/// What the driver says of an address; zeros where it says nothing.
struct Attributes {
    unsigned memory_type = 0;  ///< CUmemorytype; 0: unknown to the driver
    int device = 0;
    int is_managed = 0;
    CUcontext context = nullptr;
    CUmemoryPool pool = nullptr;
    CUdeviceptr start = 0;
    std::size_t bytes = 0;
};

Attributes attributes_of(Address address) {
    Attributes found;
    std::array which{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                     CU_POINTER_ATTRIBUTE_IS_MANAGED,     CU_POINTER_ATTRIBUTE_CONTEXT,
                     CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                     CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    std::array<void*, which.size()> into{&found.memory_type, &found.device, &found.is_managed, &found.context,
                                         &found.pool,        &found.start,  &found.bytes};
    auto const result =
        driver_api().pointer_get_attributes(which.size(), which.data(), into.data(), device_pointer(address));
    return result == CUDA_SUCCESS ? found : Attributes{};
}

std::vector<int> numbers_below(int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

std::vector<int> with(std::vector<int> devices, int one_more) {
    auto const at = std::lower_bound(devices.begin(), devices.end(), one_more);
    if (at == devices.end() || *at != one_more) {
        devices.insert(at, one_more);
    }
    return devices;
}

}  // namespace

std::vector<int> CudaDriver::granted_devices(PoolId pool) const {
    auto const known = ledger_.pool(pool);
    auto const in_context = primary_scope(known ? known->device : 0);
    std::vector<int> devices;
    for (int device = 0; device < device_count(); ++device) {
        cudaMemLocation location{};
        location.type = cudaMemLocationTypeDevice;
        location.id = device;
        auto flags = cudaMemAccessFlagsProtNone;
        if (cudaMemPoolGetAccess(&flags, reinterpret_cast<cudaMemPool_t>(pool.value), &location) != cudaSuccess) {
            forget_last_error();
        } else if (flags != cudaMemAccessFlagsProtNone) {
            devices.push_back(device);
        }
    }
    return devices;
}

std::vector<int> CudaDriver::granted_devices(Address virtual_memory) const {
    std::vector<int> devices;
    for (int device = 0; device < device_count(); ++device) {
        CUmemLocation location{};
        location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        location.id = device;
        unsigned long long flags = 0;
        auto const result = driver_api().memory_get_access(&flags, &location, device_pointer(virtual_memory));
        if (result == CUDA_SUCCESS && flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) {
            devices.push_back(device);
        }
    }
    return devices;
}

std::vector<int> CudaDriver::devices_reaching(const MemoryRecord& record) const {
    auto const owner = record.place.index;
    switch (record.kind) {
        case MemoryKind::plain: {
            // Memory of a further context is not in the primary context of its own device either.
            auto accessors = ledger_.accessors(owner, record.context);
            return record.context == ContextId{} ? with(std::move(accessors), owner) : accessors;
        }
        case MemoryKind::pool:
            return record.pool ? granted_devices(*record.pool) : std::vector<int>{owner};
        case MemoryKind::virtual_memory:
            return granted_devices(record.base);
        case MemoryKind::managed:
        case MemoryKind::pinned:
        case MemoryKind::registered:
            return numbers_below(device_count());
        case MemoryKind::pageable:
            break;
    }
    std::vector<int> devices;
    for (int device = 0; device < device_count(); ++device) {
        if (pageable_access_[static_cast<std::size_t>(device)]) {
            devices.push_back(device);
        }
    }
    return devices;
}

Provenance CudaDriver::provenance(Address address) const {
    UncapturedScope const uncaptured;
    auto record = ledger_.find_registration(address);
    if (!record) {
        record = ledger_.find(address);
    }
    if (!record) {
        record = ledger_.find_import(address);
        if (record && record->kind == MemoryKind::plain) {
            return {record->kind, record->place, record->base, record->bytes, {}, {}, {record->place.index}};
        }
    }
    if (!record) {
        return foreign_provenance(address);
    }
    return {record->kind,
            record->place,
            record->base,
            record->bytes,
            record->context,
            record->pool,
            devices_reaching(*record)};
}

Provenance CudaDriver::foreign_provenance(Address address) const {
    auto const found = attributes_of(address);
    MemoryRecord record;
    record.base = Address{found.start};
    record.bytes = found.bytes;
    if (found.is_managed != 0) {
        record.kind = MemoryKind::managed;
        record.place = gpu(found.device);
    } else if (found.memory_type == CU_MEMORYTYPE_HOST) {
        record.kind = MemoryKind::pinned;  // or registered: the driver does not tell them apart
        record.place = host();
    } else if (found.memory_type == CU_MEMORYTYPE_DEVICE && has_device(found.device)) {
        record.place = gpu(found.device);
        if (found.pool != nullptr) {
            record.kind = MemoryKind::pool;
            record.pool = PoolId{number_of(found.pool)};
        } else if (found.context == nullptr) {  // only virtual memory belongs to no context
            record.kind = MemoryKind::virtual_memory;
        } else {
            auto const of_primary =
                primaries_[static_cast<std::size_t>(found.device)].load(std::memory_order_acquire) == found.context ||
                !ledger_.device_of(ContextId{number_of(found.context)});
            record.context = of_primary ? ContextId{} : ContextId{number_of(found.context)};
        }
    } else {
        Provenance unknown;
        unknown.place = host();
        return unknown;
    }
    return {
        record.kind, record.place, record.base, record.bytes, record.context, record.pool, devices_reaching(record)};
}

Whereabouts CudaDriver::whereabouts(Address address) const {
    auto const known = ledger_.whereabouts(address);
    if (known.bytes != 0) {
        return known;
    }
    auto const found = attributes_of(address);  // which captures of any mode allow
    Whereabouts foreign{MemoryKind::pageable, host(), Address{found.start}, found.bytes, {}};
    if (found.is_managed != 0) {
        foreign.kind = MemoryKind::managed;
        foreign.place = gpu(found.device);
    } else if (found.memory_type == CU_MEMORYTYPE_HOST) {
        foreign.kind = MemoryKind::pinned;
    } else if (found.memory_type == CU_MEMORYTYPE_DEVICE && has_device(found.device)) {
        foreign.place = gpu(found.device);
        foreign.kind = found.pool != nullptr      ? MemoryKind::pool
                       : found.context == nullptr ? MemoryKind::virtual_memory
                                                  : MemoryKind::plain;
        if (foreign.kind == MemoryKind::plain &&
            primaries_[static_cast<std::size_t>(found.device)].load(std::memory_order_acquire) != found.context &&
            ledger_.device_of(ContextId{number_of(found.context)})) {
            foreign.context = ContextId{number_of(found.context)};
        }
    } else {
        return {};
    }
    return foreign;
}

}  // namespace peerlane::cuda
