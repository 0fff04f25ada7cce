#pragma once
/// Streams and events of the CUDA runtime as views, and back. The only header of the library that needs CUDA's own. A
/// view owns nothing: whoever made the stream or event still destroys it.

#include <cuda_runtime_api.h>

#include <cstdint>

#include <peerlane/driver/order_types.hpp>

namespace peerlane::cuda {

/// `device`: of the stream. The null stream is the device's legacy stream.
inline StreamView from_native_handle(cudaStream_t stream, int device) {
    auto const handle = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(stream));
    return {device, handle == 0 ? StreamView::legacy : handle};
}

inline EventView from_native_handle(cudaEvent_t event, int device) {
    return {device, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(event))};
}

inline cudaStream_t native_handle(StreamView stream) {
    return reinterpret_cast<cudaStream_t>(static_cast<std::uintptr_t>(stream.handle));
}

inline cudaEvent_t native_handle(EventView event) {
    return reinterpret_cast<cudaEvent_t>(static_cast<std::uintptr_t>(event.handle));
}

}  // namespace peerlane::cuda
