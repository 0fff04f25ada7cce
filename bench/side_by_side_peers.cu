#include "side_by_side_peers.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>

#include <peerlane/cuda.hpp>

#include "nccl.hpp"

namespace peerlane::bench {
namespace {

__global__ void __launch_bounds__(512) copy_by_grid(uint4* to, const uint4* from, std::uint64_t units, char* last_to,
                                                    const char* last_from, unsigned rest) {
    auto const stride = std::uint64_t{gridDim.x} * blockDim.x;
    auto const first = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    auto i = first;
    for (; i + 3 * stride < units; i += 4 * stride) {
        auto const a = from[i], b = from[i + stride], c = from[i + 2 * stride], d = from[i + 3 * stride];
        to[i] = a;
        to[i + stride] = b;
        to[i + 2 * stride] = c;
        to[i + 3 * stride] = d;
    }
    for (; i < units; i += stride) {
        to[i] = from[i];
    }
    if (first < rest) {
        last_to[first] = last_from[first];
    }
}

void check(cudaError_t result) {
    if (result != cudaSuccess) {
        throw std::runtime_error(cudaGetErrorString(result));
    }
}

class RawCuda final : public Raw {
  public:
    void on(int device) override { check(cudaSetDevice(device)); }
    void peer(Location to, Location from, std::uint64_t bytes, StreamView stream) override {
        check(cudaMemcpyPeerAsync(pointer_to(to.address), to.place.index, pointer_to(from.address), from.place.index,
                                  bytes, cuda::native_handle(stream)));
    }
    void plain(Location to, Location from, std::uint64_t bytes, StreamView stream) override {
        check(cudaMemcpyAsync(pointer_to(to.address), pointer_to(from.address), bytes, cudaMemcpyDefault,
                              cuda::native_handle(stream)));
    }
    void kernel(Location to, Location from, std::uint64_t bytes, StreamView stream) override {
        auto* const out = static_cast<char*>(pointer_to(to.address));
        auto const* const in = static_cast<const char*>(pointer_to(from.address));
        auto const units = bytes / 16;
        auto const blocks = std::clamp<std::uint64_t>((units + 2047) / 2048, 1, 132);
        copy_by_grid<<<static_cast<unsigned>(blocks), 512, 0, cuda::native_handle(stream)>>>(
            reinterpret_cast<uint4*>(out), reinterpret_cast<const uint4*>(in), units, out + units * 16, in + units * 16,
            static_cast<unsigned>(bytes % 16));
        check(cudaGetLastError());
    }
    Address foreign(int device, std::uint64_t bytes) override {
        void* memory = nullptr;
        check(cudaSetDevice(device));
        check(cudaMalloc(&memory, bytes));
        check(cudaSetDevice(0));
        return address_of(memory);
    }
    void wait(StreamView stream) override { check(cudaStreamSynchronize(cuda::native_handle(stream))); }
    double now() override {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    std::string nccl_missing() override {
        std::string reason;
        if (!nccl_) {
            nccl_ = NcclGroup::open(2, reason);
            on(0);
        }
        return reason;
    }
    void nccl(Location to, Location from, std::uint64_t bytes, StreamView source, StreamView destination) override {
        nccl_->send({{0, 1, from.address, to.address, bytes}}, {source, destination});
        wait(source);
        wait(destination);
    }

  private:
    std::unique_ptr<NcclGroup> nccl_;
};

}  // namespace

std::unique_ptr<Raw> raw_cuda() {
    return std::make_unique<RawCuda>();
}

}  // namespace peerlane::bench
