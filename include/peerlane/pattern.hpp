#pragma once
/// The bytes that proofs and verified copies send: a different word at every offset, and a different sequence for every
/// key. The word function is a bijection, so that a word found in the wrong place tells where it belongs.

#include <cstdint>
#include <optional>

#ifdef __CUDACC__
#define PEERLANE_HOST_DEVICE __host__ __device__
#else
#define PEERLANE_HOST_DEVICE
#endif

namespace peerlane {

/// Byte i of a range filled with {key, offset} is byte (offset + i) % 8, little endian, of word (offset + i) / 8.
struct Pattern {
    std::uint64_t key = 0;
    std::uint64_t offset = 0;
    friend constexpr bool operator==(const Pattern&, const Pattern&) = default;
};

/// Finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection of 64-bit words that passes avalanche tests.
PEERLANE_HOST_DEVICE constexpr std::uint64_t mix64(std::uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebULL;
    x ^= x >> 31;
    return x;
}

/// The inverse of mix64.
constexpr std::uint64_t unmix64(std::uint64_t x) {
    x = x ^ (x >> 31) ^ (x >> 62);
    x *= 0x319642b2d24d8ec3ULL;
    x = x ^ (x >> 27) ^ (x >> 54);
    x *= 0x96de1b173f119089ULL;
    x = x ^ (x >> 30) ^ (x >> 60);
    return x;
}

PEERLANE_HOST_DEVICE constexpr std::uint64_t pattern_word(std::uint64_t key, std::uint64_t index) {
    return mix64(key + index);
}

PEERLANE_HOST_DEVICE constexpr std::uint8_t pattern_byte(Pattern pattern, std::uint64_t i) {
    auto const at = pattern.offset + i;
    return static_cast<std::uint8_t>(pattern_word(pattern.key, at / 8) >> (8 * (at % 8)));
}

/// A key that is unique to what is named; equal inputs give equal keys.
constexpr std::uint64_t pattern_key(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
    return mix64(mix64(mix64(mix64(seed + 0x9e3779b97f4a7c15ULL) + a) + b) + c);
}

/// Fills `bytes` bytes at `out`.
void write_pattern(Pattern pattern, void* out, std::uint64_t bytes);

/// What the owner of a range found in it. All zero when every byte was right, but for `first_bad`, which is then
/// `none`.
struct CheckOutcome {
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    std::uint64_t first_bad = none;  ///< offset of the first wrong byte
    std::uint64_t bad = 0;           ///< wrong bytes
    std::uint64_t zero = 0;          ///< wrong bytes that are zero
    std::uint64_t old = 0;           ///< wrong bytes that equal the poison that lay there before
    friend constexpr bool operator==(const CheckOutcome&, const CheckOutcome&) = default;
};

/// Compares `bytes` bytes at `data` on the host.
CheckOutcome check_pattern(const void* data, std::uint64_t bytes, Pattern expected, Pattern poison);

/// Adds `later`, whose range begins `offset` bytes after that of `sum`.
void add_outcome(CheckOutcome& sum, CheckOutcome later, std::uint64_t offset);

}  // namespace peerlane
