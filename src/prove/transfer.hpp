#pragma once
/// One transfer under proof: poisoned, sent, and looked at by the owner of the memory that should have received it.

#include <cstdint>
#include <optional>
#include <vector>

#include <peerlane/pattern.hpp>

#include "prove/bench.hpp"
#include "prove/classify.hpp"

namespace peerlane::prove {

enum class Way : std::uint8_t { copy_engine, kernel, through_host };

/// Bytes on both sides of a range that must not change.
inline constexpr std::uint64_t guard_bytes = 4096;
/// Starts of ranges lie below this.
inline constexpr std::uint64_t most_start = 64;

struct Transfer {
    int from = 0, to = 0;
    int issuer = 0;  ///< either of the two; without meaning through the host
    Way way = Way::copy_engine;
    std::uint64_t bytes = 0;
    unsigned width = 16;                         ///< of kernel accesses
    std::uint64_t from_start = 0, to_start = 0;  ///< bytes from an aligned address
    std::uint64_t name = 0;                      ///< what makes its pattern unlike any other's, beside pair and size
    std::uint64_t seed = 0;
};

/// Patterns of a transfer. The first bytes of `expected` are neither zero nor those of the poison, so that memory which
/// was not written is wrong from its first byte on.
struct Patterns {
    Pattern expected{};
    std::uint64_t poison_key = 0;
};
Patterns patterns_of(const Transfer& transfer);

struct Seen {
    Observation what{};
    std::optional<double> seconds{};  ///< of the transfer alone
};

/// Memory that each of the two devices needs for transfers of up to `bytes`.
constexpr std::uint64_t room_for(std::uint64_t bytes) {
    return 2 * guard_bytes + most_start + bytes;
}

/// Sides of both devices must exist. Throws TimeUp (Bench::allow), Error. When something is wrong, also finds out
/// whether a sender reads its own bytes back; trouble on that way is not the transfer's, but may leave the bench
/// abandoned.
Seen send_and_look(Bench& bench, const Transfer& transfer);

/// For transfers that the receiver issues. It writes a decoy where the source's device then writes the real bytes, and
/// reads: the decoy, if what it sees is its own memory, which a transfer without one cannot tell from old bytes, or not
/// at all. What it found; empty when the way there did not end well, which is not the transfer's fault, but may leave
/// the bench abandoned.
std::optional<Observation> read_behind_decoy(Bench& bench, const Transfer& transfer);

}  // namespace peerlane::prove
