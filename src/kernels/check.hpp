#pragma once
#include <cstdint>

#include <peerlane/pattern.hpp>
#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// Compares a range with a pattern and stores a CheckOutcome at `result` (pinned host memory or the issuing device's
/// own, 8-byte aligned, set up by the kernel itself). Run on the owner of the range, it says what the owner sees.
struct CheckArguments {
    Address from;
    std::uint64_t bytes;
    Pattern expected;
    Pattern poison;
    Address result;
};
extern const Kernel check_kernel;

}  // namespace peerlane
