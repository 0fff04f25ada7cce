#pragma once
#include <cstdint>

#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// Segment i: bytes[i] bytes from address from[i] to address to[i]. Any alignment; destinations must not overlap.
struct SegmentsArguments {
    Address to, from, bytes;  ///< arrays of `count` 64-bit words that the issuing device can read
    std::uint64_t count;
    std::uint64_t most_bytes;  ///< no segment is longer; 0: not known (a CTA a segment instead of a warp a piece)
};
extern const Kernel segments_kernel;

}  // namespace peerlane
