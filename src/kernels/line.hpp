#pragma once
#include <cstdint>

#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// One thread reads the same 4-byte word again and again, for every device of the machine to have written it: `batch`
/// reads are under way at once, then all of them have come. Keeps nothing.
struct LineArguments {
    Address word;           ///< a multiple of 4
    std::uint32_t batches;  ///< at most most_batches
    static constexpr std::uint32_t batch = 16;
    static constexpr std::uint32_t most_batches = 1U << 22;
};
extern const Kernel line_kernel;

}  // namespace peerlane
