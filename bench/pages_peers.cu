#include "pages_peers.hpp"

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <peerlane/cuda.hpp>

namespace peerlane::bench {
namespace {

template <class Element>
__global__ void select_rows(Element* out, const Element* in, const std::int32_t* index, std::uint64_t rows,
                            std::uint64_t words) {
    auto const stride = std::uint64_t{gridDim.x} * blockDim.x;
    for (auto i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * words; i += stride) {
        out[i] = in[static_cast<std::uint64_t>(index[i / words]) * words + i % words];
    }
}

template <class Element>
__global__ void put_rows(Element* out, const Element* in, const std::int32_t* index, std::uint64_t rows,
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

#if CUDART_VERSION >= 12080
/// The driver's call as CUDA `version` declared it; null where the driver has none.
void* batch_call_of(unsigned version) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult status{};
    auto const result = cudaGetDriverEntryPointByVersion("cuMemcpyBatchAsync", &found, version, 0, &status);
    if (result != cudaSuccess || status != cudaDriverEntryPointSuccess) {
        (void)cudaGetLastError();
        return nullptr;
    }
    return found;
}

struct Batch {
    Batch(std::vector<void*>& targets, std::vector<const void*>& sources, std::vector<std::size_t>& lengths)
        : to(reinterpret_cast<CUdeviceptr*>(targets.data())),
          from(reinterpret_cast<CUdeviceptr*>(sources.data())),
          sizes(lengths.data()),
          count(lengths.size()) {
        attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    }
    CUdeviceptr *to, *from;
    std::size_t* sizes;
    std::size_t count;
    CUmemcpyAttributes attributes{};
    std::size_t first = 0;
};

void check(CUresult result) {
    if (result != CUDA_SUCCESS) {
        throw std::runtime_error("the batch call failed with code " + std::to_string(static_cast<int>(result)));
    }
}
#endif

template <class T>
T* pointer(Address at) {
    return static_cast<T*>(pointer_to(at));
}

}  // namespace

void index_select(StreamView stream, Address out, Address in, Address index, std::uint64_t rows,
                  std::uint64_t row_bytes, unsigned element) {
    OnDevice const here(stream.device);
    auto const run = [&](auto* of_type) {
        using Element = std::remove_pointer_t<decltype(of_type)>;
        auto const words = row_bytes / sizeof(Element);
        select_rows<<<blocks(rows * words), 128, 0, cuda::native_handle(stream)>>>(
            pointer<Element>(out), pointer<Element>(in), pointer<std::int32_t>(index), rows, words);
    };
    element == 2 ? run(static_cast<std::uint16_t*>(nullptr)) : run(static_cast<unsigned*>(nullptr));
    check();
}

void index_put(StreamView stream, Address out, Address in, Address index, std::uint64_t rows, std::uint64_t row_bytes,
               unsigned element) {
    OnDevice const here(stream.device);
    auto const run = [&](auto* of_type) {
        using Element = std::remove_pointer_t<decltype(of_type)>;
        auto const words = row_bytes / sizeof(Element);
        put_rows<<<blocks(rows * words), 128, 0, cuda::native_handle(stream)>>>(
            pointer<Element>(out), pointer<Element>(in), pointer<std::int32_t>(index), rows, words);
    };
    element == 2 ? run(static_cast<std::uint16_t*>(nullptr)) : run(static_cast<unsigned*>(nullptr));
    check();
}

bool batch_12_8([[maybe_unused]] StreamView stream, [[maybe_unused]] std::vector<void*>& to,
                [[maybe_unused]] std::vector<const void*>& from, [[maybe_unused]] std::vector<std::size_t>& sizes) {
#if CUDART_VERSION >= 12080
    using Call = CUresult (*)(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, CUmemcpyAttributes*, std::size_t*,
                              std::size_t, std::size_t*, CUstream);
    static auto const call = reinterpret_cast<Call>(batch_call_of(12080));
    if (call != nullptr) {
        OnDevice const here(stream.device);
        Batch batch(to, from, sizes);
        std::size_t failed = 0;
        check(call(batch.to, batch.from, batch.sizes, batch.count, &batch.attributes, &batch.first, 1, &failed,
                   cuda::native_handle(stream)));
        return true;
    }
#endif
    return false;
}

bool batch_13([[maybe_unused]] StreamView stream, [[maybe_unused]] std::vector<void*>& to,
              [[maybe_unused]] std::vector<const void*>& from, [[maybe_unused]] std::vector<std::size_t>& sizes) {
#if CUDART_VERSION >= 12080
    using Call = CUresult (*)(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, CUmemcpyAttributes*, std::size_t*,
                              std::size_t, CUstream);
    static auto const call = reinterpret_cast<Call>(batch_call_of(13000));
    if (call != nullptr) {
        OnDevice const here(stream.device);
        Batch batch(to, from, sizes);
        check(call(batch.to, batch.from, batch.sizes, batch.count, &batch.attributes, &batch.first, 1,
                   cuda::native_handle(stream)));
        return true;
    }
#endif
    return false;
}

void compute(StreamView stream, Address scratch, std::uint64_t rounds, unsigned ctas) {
    OnDevice const here(stream.device);
    multiply_add<<<ctas, 256, 0, cuda::native_handle(stream)>>>(pointer<float>(scratch), rounds);
    check();
}

}  // namespace peerlane::bench
