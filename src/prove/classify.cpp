#include "prove/classify.hpp"

#include <algorithm>
#include <cstring>

namespace peerlane::prove {
namespace {

/// Where byte `at` of a window would stand in the pattern if the word there is one of it: bytes from the pattern's
/// start.
std::optional<std::int64_t> home_of_word(const std::uint8_t* word_bytes, Pattern expected,
                                         std::uint64_t pattern_bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, word_bytes, 8);
    auto const index = unmix64(word) - expected.key;
    auto const first = expected.offset / 8;
    if (index < first || index - first > pattern_bytes / 8) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(index * 8) - static_cast<std::int64_t>(expected.offset);
}

}  // namespace

bool holds_shifted_words(const Window& window, Pattern expected, std::uint64_t pattern_bytes) {
    auto const& bytes = window.bytes;
    // Of 2^64 words about 2^21 belong to a pattern of 16 MiB: one window in 10^9 holds such a word by chance.
    for (std::size_t i = 0; i + 8 <= bytes.size(); ++i) {
        auto const home = home_of_word(bytes.data() + i, expected, pattern_bytes);
        if (home && *home != window.at + static_cast<std::int64_t>(i)) {
            return true;
        }
    }
    return false;
}

std::optional<WrongKind> classify(const Observation& seen) {
    if (seen.right()) {
        return std::nullopt;
    }
    if (std::any_of(seen.windows.begin(), seen.windows.end(),
                    [&](const Window& window) { return holds_shifted_words(window, seen.expected, seen.bytes); })) {
        return WrongKind::offset;
    }
    if (seen.own_bytes_back) {
        return WrongKind::mirror;
    }
    if (seen.before.bad != 0 || seen.after.bad != 0) {
        return WrongKind::flip;
    }
    if (seen.payload.zero == seen.payload.bad) {
        return WrongKind::zero;
    }
    return seen.payload.old == seen.payload.bad ? WrongKind::stale : WrongKind::flip;
}

std::uint64_t first_bad_offset(const Observation& seen) {
    if (seen.before.bad != 0) {
        return 0;
    }
    return seen.payload.bad != 0 ? seen.payload.first_bad : seen.bytes + seen.after.first_bad;
}

}  // namespace peerlane::prove
