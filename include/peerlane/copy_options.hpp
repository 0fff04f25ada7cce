#pragma once
#include <cstdint>
#include <optional>

#include <peerlane/place.hpp>

namespace peerlane {

/// Of copies and messages: `{.then_set = flag, .value = v}`.
struct CopyOptions {
    /// Set when the bytes are visible at their destination: a 32-bit value in memory of a device or pinned (flag.hpp).
    std::optional<Location> then_set{};
    std::uint32_t value = 1;
};

}  // namespace peerlane
