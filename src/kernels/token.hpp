#pragma once
#include <cstdint>

#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// What one side of a hand-over saw.
struct TokenOutcome {
    std::uint32_t met = 0;   ///< tokens that came as they should, one after the other
    std::uint32_t seen = 0;  ///< what the flag held when this side last looked
    friend bool operator==(const TokenOutcome&, const TokenOutcome&) = default;
};

/// One side of a token that goes back and forth `rounds` times between two resident kernels; round i passes the number
/// first + i. The side that starts signals before it waits, the other one after. A side ends early when a token does
/// not come within `budget_s` or when another number comes. Flags are 32-bit words (multiples of 4) that hold less than
/// `first` before; signals and waits are for every device of the machine to see.
struct TokenArguments {
    Address waited_for;
    Address signalled;
    Address result;  ///< a TokenOutcome in pinned memory or the issuing device's own
    std::uint32_t first;
    std::uint32_t rounds;
    std::uint32_t starts;  ///< 1: this side starts
    double budget_s;       ///< of each wait
};
extern const Kernel token_kernel;

}  // namespace peerlane
