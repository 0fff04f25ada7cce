#pragma once
#include <cstdint>

#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// What a posting kernel saw.
struct PostOutcome {
    std::uint32_t accepted = 0, met = 0;
    friend bool operator==(const PostOutcome&, const PostOutcome&) = default;
};

/// Posts `count` messages of `bytes` each to the courier of the issuing device, one behind the other on both sides, and
/// waits for each before the next; ends early when one is not accepted or not done within `budget_s` (up to 3600).
struct PostArguments {
    Address ring;  ///< DeviceRing
    Address to, from;
    Address flag;    ///< set to first_value, first_value + 1, …; null: none
    Address result;  ///< PostOutcome in pinned memory or the issuing device's own
    std::uint32_t bytes, count, first_value;
    double budget_s;  ///< of each post and each wait
};
extern const Kernel post_kernel;

}  // namespace peerlane
