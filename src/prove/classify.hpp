#pragma once
/// What went wrong, from what the owner of the memory found in it. Pure.

#include <cstdint>
#include <optional>
#include <vector>

#include <peerlane/pattern.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane::prove {

/// Bytes that the owner copied out of its memory, at `at` bytes from the start of the range (negative: before it).
struct Window {
    std::int64_t at = 0;
    std::vector<std::uint8_t> bytes{};
};

/// One transfer into a range that lies between two guards, all of it poisoned before.
struct Observation {
    std::uint64_t bytes = 0;
    Pattern expected{};
    CheckOutcome payload{};  ///< of the range
    CheckOutcome before{};   ///< of the guards: anything but the poison is bad
    CheckOutcome after{};
    std::vector<Window> windows{};  ///< of a few places, where something was bad
    bool own_bytes_back = false;    ///< the accessor reads its own bytes where the owner does not see them
    [[nodiscard]] bool right() const { return payload.bad == 0 && before.bad == 0 && after.bad == 0; }
};

/// Empty when all is right. In this order: words of the pattern that stand elsewhere: offset. The accessor reads its
/// own bytes: mirror. Every wrong byte zero: zero. Every wrong byte as before: stale. Otherwise flip.
std::optional<WrongKind> classify(const Observation& seen);

/// True when the bytes hold words of the pattern that belong to another place than `at` bytes from its start.
bool holds_shifted_words(const Window& window, Pattern expected, std::uint64_t pattern_bytes);

/// Offset of the first wrong byte from the start of the range. A byte before the range counts as 0.
std::uint64_t first_bad_offset(const Observation& seen);

}  // namespace peerlane::prove
