#pragma once
#include <cstdint>

#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// One thread writes the numbers 0, 1, ... into the same 4-byte word, one store after the other: for measuring what
/// readers of that word pay.
struct ScribbleArguments {
    Address word;          ///< a multiple of 4
    std::uint32_t stores;  ///< at most most_stores
    static constexpr std::uint32_t most_stores = 1U << 26;
};
extern const Kernel scribble_kernel;

}  // namespace peerlane
