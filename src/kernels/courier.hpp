#pragma once
#include <cstdint>

#include <peerlane/message_slot.hpp>
#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// Messages that streams post: each has an entry of its own, because streams get there in any order.
inline constexpr std::uint32_t stream_entries = 16;

/// So many messages of the host are carried before others have their turn.
inline constexpr std::uint32_t host_messages_in_a_row = 4;

/// Pinned memory of a courier, before its ring.
struct CourierShared {
    // Written by the courier.
    alignas(64) std::uint32_t done;  ///< number of the last message of the host's ring that is visible
    std::uint32_t left;              ///< last residence that said it leaves
    alignas(64) std::uint32_t stream_done[stream_entries];  ///< latest use of each entry that is visible
    // Written by the host.
    alignas(64) std::uint32_t leave;  ///< residence that is asked to leave
    MessageSlot stream_slot[stream_entries];
};

/// Memory of the courier's device. All zero at first.
struct CourierLocal {
    alignas(64) std::uint32_t taken;  ///< number of the last message of the host's ring that was done
    std::uint32_t device_taken;       ///< ... of the device's ring
    alignas(64) std::uint32_t doorbell[stream_entries];  ///< use of each entry that its stream has reached
    alignas(64) std::uint32_t claimed[stream_entries];   ///< use of each entry that somebody carries
    DeviceRing ring;
};

/// One residence of a courier: a single CTA that polls the rings, copies, sets flags and leaves. It leaves when nothing
/// came for idle_s, after stay_s even under load, or when asked; then it says so in `left` and still carries what was
/// posted before that could be seen (at most `slots` messages). Residences of one courier run one after the other, in
/// one stream.
/// With `entry` set it is no residence: it carries that message of a stream, if no residence did, and ends.
struct CourierArguments {
    Address shared;       ///< CourierShared
    Address ring;         ///< MessageSlot[slots], pinned; message n lies in slot (n - 1) % slots
    Address local;        ///< CourierLocal
    std::uint32_t slots;  ///< a power of two
    std::uint32_t residence;
    std::uint32_t entry;  ///< 0, or 1 + the entry
    std::uint32_t use;    ///< of the entry
    double idle_s, stay_s;
    /// 1: a fence behind the load of an order, as the memory model of the language wants it. 0: sources are read past
    /// the caches behind a barrier behind that load, which is enough for the devices known.
    std::uint32_t strict;
};
extern const Kernel courier_kernel;

}  // namespace peerlane
