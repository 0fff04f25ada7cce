#pragma once
/// Functions of the CUDA driver, looked up when first needed: nothing links against libcuda, so that one binary starts
/// on a machine without it. The versions asked for are those of the signatures written here, whatever the toolkit's
/// headers call by the same name.

#include <cuda.h>

#include <cstddef>

namespace peerlane::cuda {

struct DriverApi {
    CUresult (*device_get_attribute)(int*, CUdevice_attribute, CUdevice) = nullptr;
    CUresult (*primary_context_retain)(CUcontext*, CUdevice) = nullptr;
    CUresult (*context_create)(CUcontext*, unsigned, CUdevice) = nullptr;
    CUresult (*context_destroy)(CUcontext) = nullptr;
    CUresult (*context_get_current)(CUcontext*) = nullptr;
    CUresult (*context_push)(CUcontext) = nullptr;
    CUresult (*context_pop)(CUcontext*) = nullptr;
    CUresult (*context_enable_peer)(CUcontext, unsigned) = nullptr;
    CUresult (*context_disable_peer)(CUcontext) = nullptr;
    CUresult (*thread_exchange_capture_mode)(CUstreamCaptureMode*) = nullptr;
    CUresult (*stream_get_context)(CUstream, CUcontext*) = nullptr;
    CUresult (*stream_is_capturing)(CUstream, CUstreamCaptureStatus*) = nullptr;
    CUresult (*stream_write_value_32)(CUstream, CUdeviceptr, unsigned, unsigned) = nullptr;
    CUresult (*stream_wait_value_32)(CUstream, CUdeviceptr, unsigned, unsigned) = nullptr;
    CUresult (*copy_peer_async)(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t, CUstream) = nullptr;
    CUresult (*pointer_get_attributes)(unsigned, CUpointer_attribute*, void**, CUdeviceptr) = nullptr;
    CUresult (*granularity)(std::size_t*, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) = nullptr;
    CUresult (*address_reserve)(CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr, unsigned long long) = nullptr;
    CUresult (*address_free)(CUdeviceptr, std::size_t) = nullptr;
    CUresult (*memory_create)(CUmemGenericAllocationHandle*, std::size_t, const CUmemAllocationProp*,
                              unsigned long long) = nullptr;
    CUresult (*memory_retain)(CUmemGenericAllocationHandle*, void*) = nullptr;
    CUresult (*memory_export)(void*, CUmemGenericAllocationHandle, CUmemAllocationHandleType,
                              unsigned long long) = nullptr;
    CUresult (*memory_import)(CUmemGenericAllocationHandle*, void*, CUmemAllocationHandleType) = nullptr;
    CUresult (*memory_release)(CUmemGenericAllocationHandle) = nullptr;
    CUresult (*memory_map)(CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle,
                           unsigned long long) = nullptr;
    CUresult (*memory_unmap)(CUdeviceptr, std::size_t) = nullptr;
    CUresult (*memory_set_access)(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) = nullptr;
    CUresult (*memory_get_access)(unsigned long long*, const CUmemLocation*, CUdeviceptr) = nullptr;
};

/// Throws Error (code 36, the function named) when the driver is older than a function needs.
const DriverApi& driver_api();

}  // namespace peerlane::cuda
