#pragma once
#include <compare>
#include <cstdint>

#include <peerlane/place.hpp>

namespace peerlane {

/// A stream that somebody else owns: ours, the caller's (`handle` is then the native one), or the special ones.
struct StreamView {
    static constexpr std::uint64_t legacy = 1,
                                   per_thread = 2;  ///< as the runtime numbers them; legacy is the default stream
    int device = 0;
    std::uint64_t handle = legacy;
    friend constexpr auto operator<=>(const StreamView&, const StreamView&) = default;
};

struct EventView {
    int device = 0;
    std::uint64_t handle = 0;
    friend constexpr auto operator<=>(const EventView&, const EventView&) = default;
};

struct GraphId {
    std::uint64_t value = 0;
    friend constexpr auto operator<=>(const GraphId&, const GraphId&) = default;
};

/// A bounded wait for a flag that was not met.
struct ExpiredWait {
    Address flag = Address::null;
    std::uint32_t at_least = 0, seen = 0;
    double seconds = 0;  ///< waited
    int device = -1;     ///< whose kernel or stream waited; -1: the host
    friend constexpr auto operator<=>(const ExpiredWait&, const ExpiredWait&) = default;
};

/// blocking: ordered with the device's legacy stream; nonblocking: not; urgent: not, and CTAs of its kernels come
/// before those of other streams that wait for room on the device.
enum class StreamKind : std::uint8_t { nonblocking, blocking, urgent };

}  // namespace peerlane
