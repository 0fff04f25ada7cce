#pragma once
#include <array>
#include <cstdint>

#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// Row (i, j), i < counts[1], j < counts[0]: row_bytes bytes at base + i * pitch[1] + j * pitch[0] on each side.
struct StridedArguments {
    Address to, from;
    std::uint64_t row_bytes;
    std::array<std::uint64_t, 2> counts;
    std::array<std::uint64_t, 2> to_pitch, from_pitch;
    unsigned unit;  ///< power of two that divides both addresses, all pitches and row_bytes: 1, 2, 4, 8 or 16
};
extern const Kernel strided_kernel;

}  // namespace peerlane
