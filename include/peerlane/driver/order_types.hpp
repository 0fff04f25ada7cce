#pragma once
#include <compare>
#include <cstdint>

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

/// blocking: ordered with the device's legacy stream; nonblocking: not.
enum class StreamKind : std::uint8_t { nonblocking, blocking };

}  // namespace peerlane
