#pragma once
#include <cstdint>

#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// Waits until a flag reaches `at_least`, at most `budget_s` (up to 3600), then stores what it saw and after that
/// whether it was met.
struct AwaitArguments {
    Address flag;
    Address result;  ///< two words: `met` or `expired`, and the value seen
    std::uint32_t at_least;
    std::uint32_t met, expired;  ///< stored in result
    double budget_s;
};
extern const Kernel await_kernel;

}  // namespace peerlane
