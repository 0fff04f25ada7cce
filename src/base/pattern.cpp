#include <peerlane/pattern.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace peerlane {

static_assert(std::endian::native == std::endian::little, "pattern words are little endian");

void write_pattern(Pattern pattern, void* out, std::uint64_t bytes) {
    auto* at = static_cast<unsigned char*>(out);
    auto position = pattern.offset;
    auto left = bytes;
    while (left != 0) {
        auto const word = pattern_word(pattern.key, position / 8);
        auto const skip = position % 8;
        auto const n = std::min<std::uint64_t>(8 - skip, left);
        std::memcpy(at, reinterpret_cast<const unsigned char*>(&word) + skip, n);
        at += n;
        position += n;
        left -= n;
    }
}

CheckOutcome check_pattern(const void* data, std::uint64_t bytes, Pattern expected, Pattern poison) {
    CheckOutcome outcome;
    auto const* at = static_cast<const unsigned char*>(data);
    std::uint64_t i = 0;
    while (i < bytes) {
        auto const position = expected.offset + i;
        if (position % 8 == 0 && bytes - i >= 8) {  // whole words are the common case, and nearly always right
            std::uint64_t found = 0;
            std::memcpy(&found, at + i, 8);
            if (found == pattern_word(expected.key, position / 8)) {
                i += 8;
                continue;
            }
        }
        auto const n = std::min<std::uint64_t>(8 - position % 8, bytes - i);
        for (auto const end = i + n; i < end; ++i) {
            if (at[i] == pattern_byte(expected, i)) {
                continue;
            }
            outcome.first_bad = std::min(outcome.first_bad, i);
            ++outcome.bad;
            outcome.zero += at[i] == 0;
            outcome.old += at[i] == pattern_byte(poison, i);
        }
    }
    return outcome;
}

void add_outcome(CheckOutcome& sum, CheckOutcome later, std::uint64_t offset) {
    if (later.first_bad != CheckOutcome::none) {
        sum.first_bad = std::min(sum.first_bad, later.first_bad + offset);
    }
    sum.bad += later.bad;
    sum.zero += later.zero;
    sum.old += later.old;
}

}  // namespace peerlane
