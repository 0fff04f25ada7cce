#pragma once
/// What one warp sees of lines that others write while it looks.

#include <algorithm>

#include <peerlane/message_slot.hpp>

#include "kernels/device.cuh"

namespace peerlane::cuda {

/// A line of 64 bytes as it came.
struct alignas(16) Line {
    uint4 parts[4];
    __device__ MessageOrder order() const {
        auto const joined = [](const uint4& part) { return std::uint64_t{part.z} << 32 | part.x; };
        MessageOrder found;
        found.to = joined(parts[0]);
        found.from = joined(parts[1]);
        found.flag = joined(parts[2]);
        found.bytes = parts[3].x;
        found.value = parts[3].z;
        return found;
    }
};

/// 16 bytes as they are now. The loads of one thread stay in order, and none waits for the one before.
__device__ inline uint4 load_now(const void* at) {
#if defined(__CUDACC__)
    uint4 got;
    asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(got.x), "=r"(got.y), "=r"(got.z), "=r"(got.w)
                 : "l"(at)
                 : "memory");
    return got;
#else
    return *static_cast<const uint4*>(at);
#endif
}

__device__ inline std::uint32_t component(const uint4& four, unsigned i) {
    return i == 0 ? four.x : i == 1 ? four.y : i == 2 ? four.z : four.w;
}

#if defined(__CUDACC__)
constexpr unsigned lanes = 32;
#else
constexpr unsigned lanes = 1;  // a device made of loops has no warps: one thread stands for all of its own
#endif

/// The same value in every lane of the warp: lane 0's.
template <class T>
__device__ T as_first(T value) {
#if defined(__CUDACC__)
    return __shfl_sync(~0U, value, 0);
#else
    return value;
#endif
}

/// What one warp loads at once, a lane 16 bytes: lines of 64 bytes side by side. Loads of one thread from one line of
/// host memory are answered one after the other (two H200: 4 us for four), those of one warp together.
class Look {
  public:
    static constexpr unsigned parts = 4;  ///< of a line
    Look() = default;
    __device__ explicit Look(const void* only) : Look(only, only, only, only, 1) {}
    __device__ Look(const void* line_0, const void* line_1, const void* line_2, const void* line_3,
                    unsigned count = 4) {
#if defined(__CUDACC__)
        auto const lane = threadIdx.x % lanes;
        auto const* const line = lane < 2 * parts   ? (lane < parts ? line_0 : line_1)
                                 : lane < 3 * parts ? line_2
                                                    : line_3;
        got_ = lane < count * parts ? load_now(static_cast<const unsigned char*>(line) + 16 * (lane % parts)) : uint4{};
#else
        const void* const lines[] = {line_0, line_1, line_2, line_3};
        for (unsigned i = 0; i < count * parts; ++i) {
            all_[i] = load_now(static_cast<const unsigned char*>(lines[i / parts]) + 16 * (i % parts));
        }
#endif
    }
    /// Word i of a line, in every lane.
    [[nodiscard]] __device__ std::uint32_t word(unsigned line, unsigned i) const {
#if defined(__CUDACC__)
        return __shfl_sync(~0U, component(got_, i % 4), static_cast<int>(line * parts + i / 4));
#else
        return component(all_[line * parts + i / 4], i % 4);
#endif
    }
    /// Every second word of the line is `number`.
    [[nodiscard]] __device__ bool is_message(unsigned line, std::uint32_t number) const {
#if defined(__CUDACC__)
        auto const right = __ballot_sync(~0U, got_.y == number && got_.w == number);
        return (right >> (line * parts) & 15U) == 15U;
#else
        return std::all_of(all_ + line * parts, all_ + (line + 1) * parts,
                           [number](const uint4& part) { return part.y == number && part.w == number; });
#endif
    }
    /// First word of the line that differs from those at `known`; 16 when none does.
    [[nodiscard]] __device__ unsigned first_changed(unsigned line, const std::uint32_t* known) const {
#if defined(__CUDACC__)
        auto const lane = threadIdx.x % lanes;
        auto const mine = lane / parts == line;
        auto const at = mine ? lane % parts * 4 : 0;
        auto const changed = mine ? first_in(got_, known + at) : 4U;
        auto const any = __ballot_sync(~0U, changed < 4);
        if (any == 0) {
            return 16;
        }
        auto const which = __ffs(static_cast<int>(any)) - 1;
        return __shfl_sync(~0U, at + changed, which);
#else
        for (unsigned part = 0; part < parts; ++part) {
            auto const changed = first_in(all_[line * parts + part], known + 4 * part);
            if (changed < 4) {
                return 4 * part + changed;
            }
        }
        return 16;
#endif
    }
    /// Every lane writes what it has of the line.
    __device__ void write(unsigned line, Line& to) const {
#if defined(__CUDACC__)
        auto const lane = threadIdx.x % lanes;
        if (lane / parts == line) {
            to.parts[lane % parts] = got_;
        }
#else
        std::copy_n(all_ + line * parts, parts, to.parts);
#endif
    }

  private:
    __device__ static unsigned first_in(const uint4& four, const std::uint32_t* known) {
        for (unsigned i = 0; i < 4; ++i) {
            if (component(four, i) != known[i]) {
                return i;
            }
        }
        return 4;
    }
#if defined(__CUDACC__)
    uint4 got_;
#else
    uint4 all_[4 * parts];
#endif
};

__device__ inline bool is_first_lane() {
    return threadIdx.x % lanes == 0;
}

}  // namespace peerlane::cuda
