#pragma once
/// Memory between two legs: rings of buffers, bounded for each place, allocated once and used again in stream order.
/// Not thread-safe: the mover's lock is held.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include <peerlane/driver/owned.hpp>

namespace peerlane::move {

/// One allocation. Whoever fills it anew lets its stream wait for `released`.
class Ring {
  public:
    Ring(Driver& driver, Place place, std::uint64_t bytes)
        : driver_(driver), memory_(driver, {place, bytes, place.is_host() ? MemoryKind::pinned : MemoryKind::plain}) {}
    [[nodiscard]] Location location(std::uint64_t offset = 0) const { return memory_.location(offset); }
    [[nodiscard]] Address address() const { return memory_.address(); }
    [[nodiscard]] std::uint64_t bytes() const { return memory_.bytes(); }
    /// Behind the latest work that reads it; empty when it was never used.
    [[nodiscard]] std::optional<EventView> released() const { return released_; }

  private:
    friend class Staging;
    Driver& driver_;
    Allocation memory_;
    std::map<int, Event> events_{};  ///< of each device that ever read it last
    std::optional<EventView> released_{};
    bool taken_ = false;
};

class Staging {
  public:
    /// The bound is for each place. It is cut into rings of three sizes: 4 of 1/64, 3 of 1/16 and 3 of 1/4 of it.
    static constexpr std::uint64_t least_bound = std::uint64_t{1} << 20;
    Staging(Driver& driver, std::uint64_t bound);

    /// A ring of `wanted` bytes, or the largest there is, but at least of `least`: idle ones first, then new ones while
    /// the bound and the memory allow, then one that is still at work. nullptr when there is none. More than 1/4 of the
    /// bound is had once for each place, for lists whose pages are that large.
    [[nodiscard]] Ring* take(Place place, std::uint64_t wanted, std::uint64_t least);
    /// What was taken may be used again once all of `reader` so far is done.
    void release(Ring& ring, StreamView reader);
    /// Given back unused.
    static void release(Ring& ring) { ring.taken_ = false; }
    /// Held now, all sizes.
    [[nodiscard]] std::uint64_t held(Place place) const;

  private:
    struct Class {
        std::uint64_t bytes = 0;
        std::size_t most = 0;
        std::deque<Ring> rings{};  ///< they stay where they are
        std::size_t next = 0;
    };
    using Classes = std::array<Class, 4>;
    Classes& classes_of(Place place);
    [[nodiscard]] Ring* idle(Class& of);
    [[nodiscard]] Ring* made(Class& of, Place place);
    [[nodiscard]] static Ring* busy(Class& of);

    Driver& driver_;
    std::uint64_t bound_;
    std::map<Place, Classes> places_;
};

}  // namespace peerlane::move
