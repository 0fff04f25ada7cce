#pragma once
/// Single 32-bit words in a device's memory, with poison all around them: what atomics and flags leave behind.

#include <cstdint>
#include <optional>
#include <vector>

#include <peerlane/verdicts.hpp>

#include "prove/bench.hpp"

namespace peerlane::prove {

/// Offset of a word from the start of the patch, a multiple of 4, and what it should hold.
struct ExpectedWord {
    std::uint64_t at = 0;
    std::uint32_t value = 0;
};

/// A patch of memory as its owner found it.
struct PatchSeen {
    std::vector<std::uint8_t> found{}, poison{};
    /// Empty when the words hold what they should and all else is poison. For the first word that does not: `offset`
    /// when its value stands in a place that changed, or a changed place differs from its poison as the word should;
    /// `zero`; `stale` when it is as before; else `flip`.
    [[nodiscard]] std::optional<WrongKind> wrong(const std::vector<ExpectedWord>& words) const;
    [[nodiscard]] std::uint32_t word(std::uint64_t at) const;
    /// Bytes that are not as they should be.
    [[nodiscard]] std::uint64_t bad_bytes(const std::vector<ExpectedWord>& words) const;
};

/// The patch at the start of a side's memory. Its poison holds numbers from 2^16 to 2^31 at the places of words, so
/// that tokens counted up from there are neither zero nor like their own complement.
class Patch {
  public:
    static constexpr std::uint64_t bytes = 4096;
    static constexpr std::uint64_t first = 1024, second = 2560;  ///< places of words

    /// The side of `owner` must exist. `name` makes its poison unlike that of other checks.
    Patch(Bench& bench, int owner, std::uint64_t seed, std::uint64_t name);
    [[nodiscard]] Address address(std::uint64_t at) const;
    [[nodiscard]] std::uint32_t before(std::uint64_t at) const;
    /// Submitted to the owner's stream.
    void poison();
    /// Waits. Throws TimeUp.
    [[nodiscard]] PatchSeen look();
    /// What the accessor reads at that word over its mapping; waits. Throws TimeUp, Error.
    [[nodiscard]] std::uint32_t read_by(int accessor, std::uint64_t at);

  private:
    Bench& bench_;
    int owner_;
    Pattern poison_{};
    std::vector<std::uint8_t> bytes_;
};

/// Turns `stale` into `mirror` where the accessor reads the expected value back. Never throws for what happens there.
WrongKind told_apart(Bench& bench, Patch& patch, int accessor, ExpectedWord word, WrongKind kind);

}  // namespace peerlane::prove
