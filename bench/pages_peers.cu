#include "pages_peers.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include <peerlane/cuda.hpp>

namespace peerlane::bench {
namespace {

__global__ void select_rows(unsigned* out, const unsigned* in, const std::int32_t* index, std::uint64_t rows,
                            std::uint64_t words) {
    auto const stride = std::uint64_t{gridDim.x} * blockDim.x;
    for (auto i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * words; i += stride) {
        out[i] = in[static_cast<std::uint64_t>(index[i / words]) * words + i % words];
    }
}

__global__ void put_rows(unsigned* out, const unsigned* in, const std::int32_t* index, std::uint64_t rows,
                         std::uint64_t words) {
    auto const stride = std::uint64_t{gridDim.x} * blockDim.x;
    for (auto i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * words; i += stride) {
        out[static_cast<std::uint64_t>(index[i / words]) * words + i % words] = in[i];
    }
}

__global__ void multiply_add(float* scratch, std::uint64_t rounds) {
    float a = threadIdx.x, b = 1.0F + blockIdx.x, c = 0.5F, d = 0.25F;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        a = a * 0.999F + b;
        b = b * 0.998F + c;
        c = c * 0.997F + d;
        d = d * 0.996F + a;
    }
    scratch[std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x] = a + b + c + d;
}

class OnDevice {
  public:
    explicit OnDevice(int device) {
        cudaGetDevice(&before_);
        cudaSetDevice(device);
    }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
    ~OnDevice() { cudaSetDevice(before_); }

  private:
    int before_ = 0;
};

void check() {
    if (auto const error = cudaGetLastError(); error != cudaSuccess) {
        throw std::runtime_error(cudaGetErrorString(error));
    }
}

unsigned blocks(std::uint64_t elements) {
    return static_cast<unsigned>(std::min<std::uint64_t>((elements + 127) / 128, 132 * 8 * 4));
}

template <class T>
T* pointer(Address at) {
    return static_cast<T*>(pointer_to(at));
}

}  // namespace

void index_select(StreamView stream, Address out, Address in, Address index, std::uint64_t rows,
                  std::uint64_t row_bytes) {
    OnDevice const here(stream.device);
    select_rows<<<blocks(rows * row_bytes / 4), 128, 0, cuda::native_handle(stream)>>>(
        pointer<unsigned>(out), pointer<unsigned>(in), pointer<std::int32_t>(index), rows, row_bytes / 4);
    check();
}

void index_put(StreamView stream, Address out, Address in, Address index, std::uint64_t rows, std::uint64_t row_bytes) {
    OnDevice const here(stream.device);
    put_rows<<<blocks(rows * row_bytes / 4), 128, 0, cuda::native_handle(stream)>>>(
        pointer<unsigned>(out), pointer<unsigned>(in), pointer<std::int32_t>(index), rows, row_bytes / 4);
    check();
}

void compute(StreamView stream, Address scratch, std::uint64_t rounds, unsigned ctas) {
    OnDevice const here(stream.device);
    multiply_add<<<ctas, 256, 0, cuda::native_handle(stream)>>>(pointer<float>(scratch), rounds);
    check();
}

}  // namespace peerlane::bench
