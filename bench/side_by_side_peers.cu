#include "side_by_side_peers.hpp"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>

#include <peerlane/cuda.hpp>

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

/// The few functions of NCCL 2 that a send and a receive need.
class Nccl {
  public:
    Nccl() {
        library_ = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
        if (library_ == nullptr) {
            missing_ = "libnccl.so.2 is not installed";
            return;
        }
        auto const find = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library_, name));
            if (function == nullptr) {
                missing_ = std::string(name) + " is not in it";
            }
        };
        find(init_all_, "ncclCommInitAll");
        find(start_, "ncclGroupStart");
        find(end_, "ncclGroupEnd");
        find(send_, "ncclSend");
        find(receive_, "ncclRecv");
        std::array<int, 2> const devices{0, 1};
        if (missing_.empty() && init_all_(comms_.data(), 2, devices.data()) != 0) {
            missing_ = "it could not be initialised for devices 0 and 1";
        }
    }
    [[nodiscard]] const std::string& missing() const { return missing_; }
    void move(void* to, const void* from, std::size_t bytes, cudaStream_t source, cudaStream_t destination) {
        constexpr int one_byte = 1;  // ncclUint8
        auto result = start_();
        result = result != 0 ? result : send_(from, bytes, one_byte, 1, comms_[0], source);
        result = result != 0 ? result : receive_(to, bytes, one_byte, 0, comms_[1], destination);
        auto const end = end_();
        if (result != 0 || end != 0) {
            throw std::runtime_error("NCCL failed");
        }
    }

  private:
    void* library_ = nullptr;
    std::string missing_;
    std::array<void*, 2> comms_{};
    int (*init_all_)(void**, int, const int*) = nullptr;
    int (*start_)() = nullptr;
    int (*end_)() = nullptr;
    int (*send_)(const void*, std::size_t, int, int, void*, cudaStream_t) = nullptr;
    int (*receive_)(void*, std::size_t, int, int, void*, cudaStream_t) = nullptr;
};

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
        if (!nccl_) {
            nccl_ = std::make_unique<Nccl>();
            on(0);
        }
        return nccl_->missing();
    }
    void nccl(Location to, Location from, std::uint64_t bytes, StreamView source, StreamView destination) override {
        nccl_->move(pointer_to(to.address), pointer_to(from.address), bytes, cuda::native_handle(source),
                    cuda::native_handle(destination));
        wait(source);
        wait(destination);
    }

  private:
    std::unique_ptr<Nccl> nccl_;
};

}  // namespace

std::unique_ptr<Raw> raw_cuda() {
    return std::make_unique<RawCuda>();
}

}  // namespace peerlane::bench
