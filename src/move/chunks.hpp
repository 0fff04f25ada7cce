#pragma once
/// How many bytes each route of a choice carries, and what fits into a ring. Values in, values out.

#include <cstdint>
#include <vector>

#include <peerlane/plan.hpp>

namespace peerlane::move {

/// Parts of a split and chunks begin at multiples of it, so that kernels keep wide accesses.
inline constexpr std::uint64_t granule = 4096;
/// Most chunks that one copy submits, over all of its routes: the driver's queue holds about 1,000 operations.
inline constexpr std::uint64_t most_chunks = 64;

/// Bytes of each route, in the order of the routes: shares in relation to their sum, rounded down to the granule. What
/// is left goes to the route with the largest share. The sum is `bytes`.
std::vector<std::uint64_t> parts_of(const std::vector<double>& shares, std::uint64_t bytes);

/// Chunk and number of buffers that fit into a ring: the same chunk with fewer buffers (at least two) if that helps,
/// then smaller chunks, multiples of `unit`.
struct Slots {
    std::uint64_t chunk = 0;
    int buffers = 0;
};
Slots fit(std::uint64_t ring_bytes, std::uint64_t chunk, int buffers, std::uint64_t unit);

}  // namespace peerlane::move
