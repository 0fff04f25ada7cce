#pragma once
#include <cstdint>

#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// Adds 1 to a 32-bit counter, `lanes` times at once in each of `rounds` rounds, by fetch-adds that are atomic for
/// every device of the machine. Sums wrap around at 2^32.
struct AddArguments {
    Address counter;  ///< a multiple of 4
    std::uint32_t lanes;
    std::uint32_t rounds;
};
extern const Kernel add_kernel;

}  // namespace peerlane
