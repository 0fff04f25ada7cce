#pragma once
/// What the poster of a message and the courier that carries it share, in pinned memory of the host or in memory of a
/// device. Plain structs: the device header includes this.

#include <cstdint>

namespace peerlane {

/// Flags and numbers of messages compare as clocks do: met when `seen` is at most 2^31 - 1 ahead of `at_least`.
constexpr bool flag_reached(std::uint32_t seen, std::uint32_t at_least) {
    return seen - at_least < 0x80000000U;
}

/// What a courier does for one message.
struct MessageOrder {
    std::uint64_t to = 0, from = 0;
    std::uint64_t flag = 0;  ///< set to `value` when the bytes are visible; 0: none
    std::uint32_t bytes = 0;
    std::uint32_t value = 0;
};

/// One order as eight words, each beside the number of its message. 8 bytes never arrive in parts, whoever reads them
/// and in whatever order: an order is whole when all eight numbers are the expected one. 64 bytes are one line of a
/// cache, which a poller has in one trip over PCIe, number and all.
struct alignas(64) MessageSlot {
    struct Pair {
        std::uint32_t word, number;
    };
    Pair pairs[8];
};

/// Where kernels of the courier's own device post. In memory of that device.
struct DeviceRing {
    static constexpr std::uint32_t slots = 64;
    alignas(64) std::uint32_t posted;  ///< number of the last message that has a slot
    alignas(64) std::uint32_t done;    ///< number of the last message that is visible at its destination
    MessageSlot slot[slots];           ///< message n lies in slot (n - 1) % slots
};

}  // namespace peerlane
