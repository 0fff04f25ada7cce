#pragma once
/// How the real driver finds the device code of a kernel. Each NAME.cu ends with PEERLANE_DEVICE_CODE(NAME, ...); CMake
/// writes the table from the names of the files, because objects of a static library that register themselves are
/// dropped by the linker. Included by .cu files: no formatting library here (fmt 9 does not compile under nvcc 13).

#include <cuda_runtime_api.h>

#include <cstddef>

#include <peerlane/driver/work.hpp>

namespace peerlane::cuda {

/// Where a launch goes. The context of `stream` is current.
struct LaunchSite {
    cudaStream_t stream = nullptr;
    int multiprocessors = 1;
    LaunchShape shape{};
};

struct DeviceCode {
    const char* name;            ///< equal to Kernel::name
    std::size_t argument_bytes;  ///< equal to Kernel::argument_bytes
    /// Returns what the launch itself returned; never reads the runtime's last error, which may be somebody else's.
    cudaError_t (*launch)(const LaunchSite& site, const void* arguments);
    /// Loads the code into the current context, so that no later launch has to wait for the device.
    cudaError_t (*load)();
};

struct DeviceCodeTable {
    const DeviceCode* first;
    std::size_t count;
};
DeviceCodeTable device_code_table();  // in the generated file

}  // namespace peerlane::cuda
