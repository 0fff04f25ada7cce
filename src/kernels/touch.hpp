#pragma once
#include <cstdint>

#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// Reads one word in every `stride` bytes of a range, `rounds` times over, and keeps nothing: for measuring what access
/// costs.
struct TouchArguments {
    Address from;  ///< a multiple of `width`
    std::uint64_t bytes;
    std::uint64_t stride;  ///< a multiple of `width`
    std::uint32_t rounds;
    unsigned width;  ///< of a word: 4, 8 or 16 bytes
};
extern const Kernel touch_kernel;

}  // namespace peerlane
