#pragma once
/// For kernels: flags that other devices and the host see, and messages posted to the courier of the own device. Every
/// wait has a budget and returns whether it was met. Order of memory: docs/messages.md.
///
/// All functions are for one thread. What other threads of its CTA wrote or will read goes along when the CTA meets at
/// a barrier: before set_flag and post, after wait_flag and wait.

#include <cuda_runtime.h>

#include <cstdint>

#include <peerlane/message_slot.hpp>

namespace peerlane::device {

/// As flag_reached of message_slot.hpp, for devices.
__device__ inline bool reached(std::uint32_t seen, std::uint32_t at_least) {
    return seen - at_least < 0x80000000U;
}

/// Nanoseconds of a clock that all devices share; steps of up to a microsecond.
__device__ inline std::uint64_t now_ns() {
#if defined(__CUDACC__)
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
#else
    static std::uint64_t now = 0;
    return now += 1000;
#endif
}

/// Everything this thread did before is visible, to every device and the host, to whoever reads the value with
/// read_flag, wait_flag, a stream's wait or a host's poll.
__device__ inline void set_flag(std::uint32_t* flag, std::uint32_t value) {
#if defined(__CUDACC__)
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
#else
    *static_cast<volatile std::uint32_t*>(flag) = value;
#endif
}

/// The value now. What its setter did before setting it is visible from here on.
__device__ inline std::uint32_t read_flag(const std::uint32_t* flag) {
#if defined(__CUDACC__)
    std::uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
#else
    return *static_cast<const volatile std::uint32_t*>(flag);
#endif
}

/// Polls until the flag reaches `at_least` (reached), at most about so long. False when it did not; then nothing
/// is known of what its setter wrote. `seen` (or nullptr) gets the value seen last.
__device__ inline bool wait_flag(const std::uint32_t* flag, std::uint32_t at_least, std::uint64_t budget_ns,
                                 std::uint32_t* seen = nullptr) {
    constexpr unsigned looks_a_clock = 8;  // the clock stands between a look and the next one: asked now and then
    auto value = read_flag(flag);
    std::uint64_t start = 0;
    for (unsigned looks = 1; !reached(value, at_least) && budget_ns != 0; ++looks) {
        value = read_flag(flag);
        if (looks % looks_a_clock == 0) {
            auto const now = now_ns();
            start = start == 0 ? now : start;
            if (now - start >= budget_ns) {
                break;
            }
        }
    }
    if (seen != nullptr) {
        *seen = value;
    }
    return reached(value, at_least);
}

/// A message that a kernel posted.
struct Posted {
    bool accepted = false;  ///< false: the ring stayed full for the whole budget, nothing was posted
    std::uint32_t number = 0;
};

/// Posts a copy to the courier of this device; any thread of any kernel on it may. Waits while the ring is full, within
/// the budget. Nothing is checked: both ranges must be memory that the courier may touch (Courier::channel maps it),
/// and must not overlap. `flag` (or nullptr) is set to `value` when the bytes are visible at their destination.
/// The courier carries it while it is there: the host starts it (Courier::start).
__device__ inline Posted post(DeviceRing* ring, void* to, const void* from, std::uint32_t bytes, std::uint32_t* flag,
                              std::uint32_t value, std::uint64_t budget_ns) {
    auto const start = now_ns();
    auto posted = read_flag(&ring->posted);
    for (;;) {
        if (posted - read_flag(&ring->done) >= DeviceRing::slots) {
            if (now_ns() - start >= budget_ns) {
                return {};
            }
            posted = read_flag(&ring->posted);
            continue;
        }
        auto const seen = atomicCAS(&ring->posted, posted, posted + 1);
        if (seen == posted) {
            break;
        }
        posted = seen;
    }
    auto const number = posted + 1;
    auto* const slot = &ring->slot[(number - 1) & (DeviceRing::slots - 1)];
    auto const to_bits = reinterpret_cast<std::uint64_t>(to);
    auto const from_bits = reinterpret_cast<std::uint64_t>(from);
    auto const flag_bits = reinterpret_cast<std::uint64_t>(flag);
    std::uint32_t const words[8] = {static_cast<std::uint32_t>(to_bits),
                                    static_cast<std::uint32_t>(to_bits >> 32),
                                    static_cast<std::uint32_t>(from_bits),
                                    static_cast<std::uint32_t>(from_bits >> 32),
                                    static_cast<std::uint32_t>(flag_bits),
                                    static_cast<std::uint32_t>(flag_bits >> 32),
                                    bytes,
                                    value};
    __threadfence_system();  // what is to be copied comes before the order
    for (unsigned i = 0; i < 8; ++i) {
        auto const pair = (std::uint64_t{number} << 32) | words[i];
        *reinterpret_cast<volatile std::uint64_t*>(&slot->pairs[i]) = pair;
    }
    return {true, number};
}

/// True when the message is done; otherwise waits for it, at most about so long. False when it is not, or was never
/// accepted.
__device__ inline bool wait(const DeviceRing* ring, Posted message, std::uint64_t budget_ns) {
    return message.accepted && wait_flag(&ring->done, message.number, budget_ns);
}

}  // namespace peerlane::device
