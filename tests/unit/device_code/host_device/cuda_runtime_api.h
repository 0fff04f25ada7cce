#pragma once
/// A device made of loops, as far as the kernels of this project need one: CTAs one after the other, threads of a CTA
/// one after the other. So a barrier means nothing here, and kernels with one run with one thread a CTA.

#include <cstddef>
#include <cstdint>
#include <utility>

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
struct CUstream_st;
using cudaStream_t = CUstream_st*;

struct dim3 {
    dim3(unsigned of_x = 1) : x(of_x) {}
    unsigned x;
};
inline dim3 gridDim, blockDim, blockIdx, threadIdx;

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    cudaStream_t stream = nullptr;
};
struct cudaFuncAttributes {};
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*) {
    return cudaSuccess;
}

/// CTAs of every launch since the test last looked.
inline unsigned ctas_of_last_launch = 0;

template <class... Parameters, class... Values>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...), Values... values) {
    ctas_of_last_launch = config->gridDim.x;
    gridDim = config->gridDim;
    blockDim = config->blockDim;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) {
            kernel(values...);
        }
    }
    return cudaSuccess;
}
