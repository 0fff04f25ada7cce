#pragma once
/// Ranges copied by a team of threads: the whole grid, or one warp of it. Any address, any size.

#include "kernels/device.cuh"

namespace peerlane::cuda {

/// The calling thread among those that share a range.
struct Team {
    std::uint64_t rank, size;
};

__device__ inline Team whole_grid() {
    return {first_index(), grid_stride()};
}

/// Four loads in flight a thread: a pull waits for the owner's answer, so what is in flight decides its rate.
template <class Unit>
__device__ void copy_units(Team team, Unit* to, const Unit* from, std::uint64_t units) {
    auto const stride = team.size;
    auto i = team.rank;
    for (; i + 3 * stride < units; i += 4 * stride) {
        auto const a = from[i];
        auto const b = from[i + stride];
        auto const c = from[i + 2 * stride];
        auto const d = from[i + 3 * stride];
        to[i] = a;
        to[i + stride] = b;
        to[i + 2 * stride] = c;
        to[i + 3 * stride] = d;
    }
    for (; i < units; i += stride) {
        to[i] = from[i];
    }
}

/// Both ends are few bytes: one thread each.
__device__ inline void copy_ends(Team team, unsigned char* to, const unsigned char* from, std::uint64_t head,
                                 std::uint64_t tail_at, std::uint64_t bytes) {
    for (auto i = team.rank; i < head; i += team.size) {
        to[i] = from[i];
    }
    for (auto i = tail_at + team.rank; i < bytes; i += team.size) {
        to[i] = from[i];
    }
}

template <class Unit>
__device__ void copy_aligned(Team team, unsigned char* to, const unsigned char* from, std::uint64_t bytes) {
    auto const parts = split(reinterpret_cast<std::uint64_t>(to), bytes, sizeof(Unit));
    copy_units(team, reinterpret_cast<Unit*>(to + parts.head), reinterpret_cast<const Unit*>(from + parts.head),
               parts.units);
    copy_ends(team, to, from, parts.head, parts.tail_at, bytes);
}

/// The two sides differ in alignment modulo 4: aligned words of the source, shifted into aligned words of the
/// destination. Never reads a word that reaches outside the source range.
__device__ inline void copy_shifted(Team team, unsigned char* to, const unsigned char* from, std::uint64_t bytes) {
    auto head = (0 - reinterpret_cast<std::uint64_t>(to)) & 3;
    auto const skew = static_cast<unsigned>((reinterpret_cast<std::uint64_t>(from) + head) & 3);
    head += head < skew ? 4 : 0;
    auto const taken = head + 4 - skew;  // up to the end of the first source word
    if (bytes < taken + 4) {
        copy_ends(team, to, from, bytes, bytes, bytes);
        return;
    }
    auto const units = (bytes - taken) / 4;
    auto* const out = reinterpret_cast<unsigned*>(to + head);
    auto const* const in = reinterpret_cast<const unsigned*>(from + head - skew);
    for (auto i = team.rank; i < units; i += team.size) {
        out[i] = __funnelshift_r(in[i], in[i + 1], 8 * skew);
    }
    copy_ends(team, to, from, head, head + 4 * units, bytes);
}

/// The range moved by all threads of the team, with the widest accesses that both sides and `width` allow.
__device__ inline void copy_range(Team team, unsigned char* to, const unsigned char* from, std::uint64_t bytes,
                                  unsigned width) {
    auto const difference = reinterpret_cast<std::uint64_t>(to) ^ reinterpret_cast<std::uint64_t>(from);
    if (width >= 16 && difference % 16 == 0) {
        copy_aligned<uint4>(team, to, from, bytes);
    } else if (width >= 8 && difference % 8 == 0) {
        copy_aligned<std::uint64_t>(team, to, from, bytes);
    } else if (difference % 4 == 0) {
        copy_aligned<unsigned>(team, to, from, bytes);
    } else {
        copy_shifted(team, to, from, bytes);
    }
}

}  // namespace peerlane::cuda
