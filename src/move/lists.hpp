#pragma once
/// Lists of blocks, checked and made shorter before anything is submitted. Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <peerlane/pages.hpp>
#include <peerlane/place.hpp>

namespace peerlane::move {

struct Segment {
    Address to, from;
    std::uint64_t bytes;
    friend bool operator==(const Segment&, const Segment&) = default;
};

/// Largest power of two up to 16 that divides all of them.
unsigned unit_of(std::initializer_list<std::uint64_t> numbers);

/// Numbers of host memory as 64-bit values; 0, 1, 2, … without an array. Throws std::invalid_argument for a width that
/// is neither 4 nor 8.
std::vector<std::int64_t> numbers_of(PageIndices indices, std::uint64_t count);

/// First i whose number is negative or whose page reaches beyond `room` bytes.
std::optional<std::size_t> first_outside(std::span<const std::int64_t> pages, std::uint64_t page_bytes,
                                         std::uint64_t pitch, std::uint64_t room);
/// First i whose number was named before.
std::optional<std::size_t> first_repeated(std::span<const std::int64_t> pages);
/// First segment (in the order given) whose destination overlaps that of an earlier one. Empty segments overlap
/// nothing.
std::optional<std::size_t> first_overlap(std::span<const Segment> segments);

/// Runs of pages that follow each other on both sides: number of them.
std::uint64_t runs_of(std::span<const std::int64_t> to, std::span<const std::int64_t> from);
/// Neighbours that follow each other on both sides become one; empty segments go. Order kept.
std::vector<Segment> merged(std::span<const Segment> segments);
/// Each segment in pieces of at most `piece` bytes.
std::vector<Segment> in_pieces(std::span<const Segment> segments, std::uint64_t piece);

}  // namespace peerlane::move
