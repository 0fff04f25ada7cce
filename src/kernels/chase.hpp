#pragma once
#include <cstdint>

#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// One thread reads 4-byte words of a range, each in a place that is only known when the word before has come: for
/// measuring how long one load takes. Goes round at the end of the range; keeps nothing.
struct ChaseArguments {
    Address from;                                          ///< a multiple of 4
    std::uint64_t bytes;                                   ///< at least 4
    std::uint64_t stride;                                  ///< a multiple of 4, at least 4
    std::uint32_t loads;                                   ///< at most most_loads
    static constexpr std::uint32_t most_loads = 1U << 24;  ///< seconds at most, over any link
};
extern const Kernel chase_kernel;

}  // namespace peerlane
