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

/// Numbers of pages that the host can read, as they were given: widening a long list would cost more than checking it.
class PageNumbers {
  public:
    PageNumbers() = default;
    /// A view. Without an array 0, 1, 2, … Throws std::invalid_argument for a width that is neither 4 nor 8.
    PageNumbers(PageIndices given, std::uint64_t count);
    /// Numbers of `width` bytes in memory of its own.
    PageNumbers(std::vector<unsigned char> own, unsigned width);

    [[nodiscard]] std::uint64_t size() const { return count_; }
    [[nodiscard]] bool counting() const { return at() == nullptr; }
    [[nodiscard]] unsigned width() const { return width_; }
    [[nodiscard]] const void* at() const { return own_.empty() ? at_ : own_.data(); }
    [[nodiscard]] std::int64_t operator[](std::uint64_t i) const;
    [[nodiscard]] std::int64_t most() const;  ///< 0 when empty
    /// As an array of numbers of 4 or 8 bytes; they must fit.
    [[nodiscard]] std::vector<unsigned char> in_width(unsigned bytes) const;

  private:
    std::vector<unsigned char> own_{};
    const void* at_ = nullptr;
    std::uint64_t count_ = 0;
    unsigned width_ = 8;
};

/// First i whose number is negative or whose page reaches beyond `room` bytes.
std::optional<std::size_t> first_outside(const PageNumbers& pages, std::uint64_t page_bytes, std::uint64_t pitch,
                                         std::uint64_t room);
/// First i whose number was named before. `below`: all numbers are known to be from 0 up to it, exclusive; 0: nothing
/// is known.
std::optional<std::size_t> first_repeated(const PageNumbers& pages, std::uint64_t below = 0);
/// Pages that lie inside `room` bytes.
std::uint64_t pages_inside(std::uint64_t page_bytes, std::uint64_t pitch, std::uint64_t room);
/// First segment (in the order given) whose destination overlaps that of an earlier one. Empty segments overlap
/// nothing.
std::optional<std::size_t> first_overlap(std::span<const Segment> segments);

/// Runs of pages that follow each other on both sides: number of them, or more than `enough`, where counting ends.
std::uint64_t runs_of(const PageNumbers& to, const PageNumbers& from, std::uint64_t enough = ~std::uint64_t{0});
/// Neighbours that follow each other on both sides become one; empty segments go. Order kept.
std::vector<Segment> merged(std::span<const Segment> segments);
/// Each segment in pieces of at most `piece` bytes.
std::vector<Segment> in_pieces(std::span<const Segment> segments, std::uint64_t piece);

}  // namespace peerlane::move
