#pragma once
/// Lists of small blocks between two places: pages by number, segments by address, rows by pitch. What `Mover` takes.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include <peerlane/driver/order_types.hpp>
#include <peerlane/place.hpp>

namespace peerlane {

/// Numbers of pages, 32 or 64 bits, not negative. In host memory they are read and checked before the call returns; in
/// device memory they are read in stream order and not checked (but by `Mover::first_bad_page`).
struct PageIndices {
    const void* at = nullptr;  ///< nullptr: 0, 1, 2, …
    unsigned bytes = 8;        ///< of one number: 4 or 8
    PageIndices() = default;
    PageIndices(const std::int32_t* numbers) : at(numbers), bytes(4) {}
    PageIndices(const std::int64_t* numbers) : at(numbers) {}
};

/// Page src_index[i] of the source becomes page dst_index[i] of the destination. Page k lies at base + k * pitch. A
/// destination page may be named once only.
struct PageCopy {
    void* dst = nullptr;
    const void* src = nullptr;
    std::uint64_t page_bytes = 0;
    PageIndices dst_index{}, src_index{};
    std::uint64_t count = 0;
    std::uint64_t dst_pitch = 0, src_pitch = 0;  ///< 0: page_bytes
};

/// The same pages of many layers: base i of the destination belongs to base i of the source. Arrays in host memory,
/// read before the call returns.
struct LayeredPages {
    void* const* dst_bases = nullptr;
    const void* const* src_bases = nullptr;
    std::uint64_t layers = 0;
    std::uint64_t page_bytes = 0;
    std::uint64_t dst_pitch = 0, src_pitch = 0;  ///< 0: page_bytes
};

/// Segment i: bytes[i] bytes (0 allowed) from src[i] to dst[i]. All sources lie in one place, all destinations in one.
/// The three arrays lie in host memory (read before the call returns), or all in memory of one device; then `dst_place`
/// and `src_place` must say where the segments lie, and nothing is checked.
struct SegmentCopy {
    void* const* dst = nullptr;
    const void* const* src = nullptr;
    const std::uint64_t* bytes = nullptr;
    std::uint64_t count = 0;
    std::uint64_t most_bytes = 0;  ///< arrays on a device: no segment is longer; 0: not known, which is slower
    std::optional<Place> dst_place{}, src_place{};
};

/// Rows of row_bytes, counts[0] of them a pitch[0] apart, and counts[1] such groups a pitch[1] apart, on either side.
struct StridedCopy {
    void* dst = nullptr;
    const void* src = nullptr;
    std::uint64_t row_bytes = 0;
    std::array<std::uint64_t, 2> counts{1, 1};
    std::array<std::uint64_t, 2> dst_pitch{}, src_pitch{};
};

struct ListOptions {
    /// Most CTAs a kernel of this list may hold, so that compute goes on beside it. 0: 32 for what is loaded from
    /// another device, where they reach what 132 do; 64 for what is stored there or lies on the device itself, memory
    /// imported from another process among it (two H200, pages of 16 KiB stored: 343 of 368 GB/s with 32, 365 with 64).
    unsigned max_ctas = 0;
    /// Set when all of the list is visible at its destination: a 32-bit value in memory of a device or pinned.
    std::optional<Location> then_set{};
    std::uint32_t value = 1;
};

/// Knows when one posted list is done. Copies share it.
class Ticket {
  public:
    Ticket() = default;
    /// True when all of it is done. Never blocks. Throws Error of the work.
    [[nodiscard]] bool done() const;
    /// Blocks until it is.
    void wait() const;

  private:
    friend class Mover;
    friend class PreparedPages;
    struct State;
    std::shared_ptr<State> state_;
};

/// Layers whose bases were checked and put on the device once, see Mover::prepare_pages. Must not outlive its mover.
class PreparedPages {
  public:
    PreparedPages(PreparedPages&&) noexcept;
    PreparedPages& operator=(PreparedPages&&) noexcept;
    ~PreparedPages();
    /// Moves the pages of all layers in one submission.
    [[nodiscard]] Ticket post(PageIndices dst_index, PageIndices src_index, std::uint64_t count, StreamView stream,
                              const ListOptions& options = {});

  private:
    friend class Mover;
    struct State;
    explicit PreparedPages(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace peerlane
