#pragma once
/// Access of kernels in place: transactions times what one costs, by width and distance.

#include <cstdint>
#include <optional>

#include <peerlane/profile.hpp>

namespace peerlane::model {

/// How a kernel walks over memory. scattered_bytes 0: in order, widest accesses; else pieces of so many bytes, each
/// anywhere.
struct Pattern {
    std::uint32_t scattered_bytes = 0;
    friend bool operator==(const Pattern&, const Pattern&) = default;
};

/// Least that one access moves: a sector of 32 bytes (4-byte reads 32 bytes apart reach an eighth of the rate of those
/// side by side: h200-pair, local and remote).
inline constexpr double sector_bytes = 32;

/// Seconds in which a kernel has asked for `bytes` once in this pattern. From the measured touches (in order), the
/// measured accesses of that width at the widest distance (scattered), or the transactions of the next wider or
/// narrower width measured. Empty when the costs hold nothing to tell it from.
std::optional<double> touch_seconds(const AccessCosts& costs, Pattern pattern, double bytes);

}  // namespace peerlane::model
