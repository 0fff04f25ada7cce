#include "driver/cuda/driver_api.hpp"

#include <fmt/format.h>

#include "driver/cuda/check.hpp"

namespace peerlane::cuda {
namespace {

using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

/// The driver's own look-up (as of 12.0): it takes a version for each function, which the runtime's does since 12.5
/// only.
GetProcAddress get_proc_address() {
    void* found = nullptr;
    auto status = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    check(cudaGetDriverEntryPointByVersion("cuGetProcAddress", &found, 12000, cudaEnableDefault, &status),
          "cudaGetDriverEntryPointByVersion(cuGetProcAddress)");
#else
    check(cudaGetDriverEntryPoint("cuGetProcAddress", &found, cudaEnableDefault, &status),
          "cudaGetDriverEntryPoint(cuGetProcAddress)");
#endif
    if (status != cudaDriverEntryPointSuccess || found == nullptr) {
        fail(cudaErrorCallRequiresNewerDriver, "cuGetProcAddress");
    }
    return reinterpret_cast<GetProcAddress>(found);
}

class Finder {
  public:
    /// `version`: the newest toolkit whose signature of that name is the one of `function`.
    template <class Function>
    void operator()(Function*& function, const char* name, int version = 12000) const {
        void* found = nullptr;
        auto status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        auto const result = find_(name, &found, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status);
        if (result != CUDA_SUCCESS || status != CU_GET_PROC_ADDRESS_SUCCESS || found == nullptr) {
            fail(cudaErrorCallRequiresNewerDriver, "cuGetProcAddress", {},
                 fmt::format(
                     "the driver gave no {} of version {} (result {}, status {}); it must be of CUDA 12.4 or newer",
                     name, version, static_cast<int>(result), static_cast<int>(status)));
        }
        function = reinterpret_cast<Function*>(found);
    }

  private:
    GetProcAddress find_ = get_proc_address();
};

DriverApi look_up() {
    DriverApi api;
    Finder const find;
    find(api.device_get_attribute, "cuDeviceGetAttribute");
    find(api.primary_context_retain, "cuDevicePrimaryCtxRetain");
    find(api.context_create, "cuCtxCreate", 11000);  // 11.4 and 12.5 added parameters
    find(api.context_destroy, "cuCtxDestroy");
    find(api.context_get_current, "cuCtxGetCurrent");
    find(api.context_push, "cuCtxPushCurrent");
    find(api.context_pop, "cuCtxPopCurrent");
    find(api.context_enable_peer, "cuCtxEnablePeerAccess");
    find(api.context_disable_peer, "cuCtxDisablePeerAccess");
    find(api.thread_exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
    find(api.stream_get_context, "cuStreamGetCtx");
    find(api.stream_is_capturing, "cuStreamIsCapturing");
    find(api.stream_write_value_32, "cuStreamWriteValue32");
    find(api.stream_wait_value_32, "cuStreamWaitValue32");
    find(api.copy_peer_async, "cuMemcpyPeerAsync");
    find(api.pointer_get_attributes, "cuPointerGetAttributes");
    find(api.granularity, "cuMemGetAllocationGranularity");
    find(api.address_reserve, "cuMemAddressReserve");
    find(api.address_free, "cuMemAddressFree");
    find(api.memory_create, "cuMemCreate");
    find(api.memory_retain, "cuMemRetainAllocationHandle");
    find(api.memory_export, "cuMemExportToShareableHandle");
    find(api.memory_import, "cuMemImportFromShareableHandle");
    find(api.memory_release, "cuMemRelease");
    find(api.memory_map, "cuMemMap");
    find(api.memory_unmap, "cuMemUnmap");
    find(api.memory_set_access, "cuMemSetAccess");
    find(api.memory_get_access, "cuMemGetAccess");
    return api;
}

}  // namespace

const DriverApi& driver_api() {
    static const DriverApi api = look_up();  // a look-up that throws is tried again by the next call
    return api;
}

}  // namespace peerlane::cuda
