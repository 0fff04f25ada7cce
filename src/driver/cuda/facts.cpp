#include <fmt/format.h>

#include <stdexcept>

#include "driver/cuda/driver.hpp"
#include "kernels/device_code.hpp"

namespace peerlane::cuda {
namespace {

std::string uuid_text(const cudaUUID_t& uuid) {
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text += '-';
        }
        text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
    }
    return text;
}

Device describe(int id, const cudaDeviceProp& properties) {
    Device device;
    device.id = id;
    device.model = properties.name;
    device.bus = fmt::format("{:04x}:{:02x}:{:02x}.0", static_cast<unsigned>(properties.pciDomainID),
                             static_cast<unsigned>(properties.pciBusID), static_cast<unsigned>(properties.pciDeviceID));
    device.uuid = uuid_text(properties.uuid);
    device.compute_capability = properties.major * 10 + properties.minor;
    device.memory_bytes = properties.totalGlobalMem;
    return device;
}

int attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute", {device, device});
    return value;
}

bool driver_attribute(CUdevice_attribute which, int device) {
    int value = 0;
    check(driver_api().device_get_attribute(&value, which, device), "cuDeviceGetAttribute", {device, device});
    return value != 0;
}

Capabilities abilities(int device, const cudaDeviceProp& properties) {
    Capabilities can;
    can.copy_engines = properties.asyncEngineCount;
    can.multiprocessors = properties.multiProcessorCount;
    can.memory_bytes = properties.totalGlobalMem;
    can.pools = attribute(cudaDevAttrMemoryPoolsSupported, device) != 0;
    can.virtual_memory = driver_attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device);
    can.managed = attribute(cudaDevAttrManagedMemory, device) != 0;
    // Of the second version of these calls, the one used here: every device has them; the attribute left is of one
    // mode.
    can.stream_memory_operations = true;
    return can;
}

std::string version_text(int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

CudaDriver::CudaDriver(int devices) : primaries_(static_cast<std::size_t>(devices)) {
    static_cast<void>(driver_api());
    machine_.origin.kind = "live";
    for (int id = 0; id < devices; ++id) {
        cudaDeviceProp properties{};
        check(cudaGetDeviceProperties(&properties, id), "cudaGetDeviceProperties", {id, id});
        machine_.devices.push_back(describe(id, properties));
        capabilities_.push_back(abilities(id, properties));
        pageable_access_.push_back(attribute(cudaDevAttrPageableMemoryAccess, id) != 0);
    }
    for (int accessor = 0; accessor < devices; ++accessor) {
        for (int owner = 0; owner < devices; ++owner) {
            if (accessor != owner) {
                Pair pair;
                pair.accessor = accessor;
                pair.owner = owner;
                pair.claim = can_access(accessor, owner);
                machine_.pairs.push_back(std::move(pair));
            }
        }
    }
    int driver = 0, runtime = 0;
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    description_ = fmt::format("CUDA driver {}, runtime {}, {} device{}", version_text(driver), version_text(runtime),
                               devices, devices == 1 ? "" : "s");
}

Capabilities CudaDriver::capabilities(int device) const {
    require_device(device);
    return capabilities_[static_cast<std::size_t>(device)];
}

void CudaDriver::require_device(int device) const {
    if (!has_device(device)) {
        throw std::invalid_argument(
            fmt::format("no device {}: this process sees {} (numbered from 0)", device, device_count()));
    }
}

CUcontext CudaDriver::primary(int device) const {
    require_device(device);
    auto& slot = primaries_[static_cast<std::size_t>(device)];
    auto context = slot.load(std::memory_order_acquire);
    if (context == nullptr) {
        // Two threads may both get here: both are given the same context, and one count more keeps it no longer.
        check(driver_api().primary_context_retain(&context, device), "cuDevicePrimaryCtxRetain", {device, device});
        load_device_code(context, device);
        slot.store(context, std::memory_order_release);
    }
    return context;
}

void CudaDriver::load_device_code(CUcontext context, int device) {
    UncapturedScope const uncaptured;
    ContextScope const in_context(context, device);
    auto const table = device_code_table();
    for (std::size_t i = 0; i < table.count; ++i) {
        if (table.first[i].load() != cudaSuccess) {
            forget_last_error();  // a device too old or new for this build: its launches will say so, copies work
        }
    }
}

CUcontext CudaDriver::context_of(ContextId context, int device) const {
    if (context == ContextId{}) {
        return primary(device);
    }
    auto const of = ledger_.device_of(context);
    if (!of || *of != device) {
        throw std::invalid_argument(fmt::format("context {:#x} is not one of device {}", context.value, device));
    }
    return reinterpret_cast<CUcontext>(context.value);
}

CUcontext CudaDriver::context_of(StreamView stream) const {
    if (is_special(stream)) {
        return primary(stream.device);
    }
    require_device(stream.device);
    CUcontext context = nullptr;
    auto const result = driver_api().stream_get_context(native(stream), &context);
    if (result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) {
        // A broken capture answers nothing until it is ended, and the call that ends it comes through here. Seen with
        // driver 580.
        return primary(stream.device);
    }
    check(result, "cuStreamGetCtx", {stream.device});
    return context;
}

}  // namespace peerlane::cuda
