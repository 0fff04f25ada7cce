#pragma once
/// Streams, events and staging memory that executions borrow and hand on in stream order. Nothing is given back before
/// the mover goes.

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <peerlane/driver/owned.hpp>
#include <peerlane/plan.hpp>

namespace peerlane::move {

/// Everything one route of one copy uses at a time: a stream for each leg, a ring of buffers at each place between
/// legs, and for each buffer the events "filled" and "drained". `last` is recorded behind the latest use on every
/// stream.
struct Lane {
    std::vector<Stream> streams{};              ///< one a leg, on the leg's issuer
    std::vector<Allocation> rings{};            ///< one between two legs
    std::vector<std::vector<Event>> filled{};   ///< [between][buffer], of the leg before
    std::vector<std::vector<Event>> drained{};  ///< [between][buffer], of the leg behind
    std::vector<Event> last{};                  ///< one a stream
    std::uint64_t chunk = 0;
    int buffers = 0;
};

class Resources {
  public:
    explicit Resources(Driver& driver) : driver_(driver) {}
    Resources(const Resources&) = delete;
    Resources& operator=(const Resources&) = delete;
    /// Waits for everything that was submitted; after a device error there is nothing to wait for.
    ~Resources();

    /// Makes a lane for routes of this shape if there is none.
    void reserve(const Route& route) { (void)lanes_of(route); }
    /// A lane that fits the route: one that is idle, else a new one while there are fewer than `most_lanes` of that
    /// shape, else the next in turn, still at work: whoever takes it waits for `drained` and for its streams' order,
    /// not on the host.
    Lane& take(const Route& route);
    /// The event that orders a caller's stream before a lane. One a device, recorded anew each time.
    Event& entry(int device);
    /// Enables what the leg's issuer touches, once. Throws Error when a kernel leg cannot be mapped; a copy leg then
    /// goes by driver staging, which `direct` false tells.
    void map(const Leg& leg);

  private:
    static constexpr std::size_t most_lanes = 2;
    struct Shape {
        std::vector<std::pair<Place, Place>> legs;  ///< issuer, place behind the leg
        std::uint64_t chunk = 0;
        int buffers = 0;
        friend auto operator<=>(const Shape&, const Shape&) = default;
    };
    struct Lanes {
        std::deque<Lane> lanes{};  ///< lanes stay where they are: executions hold references
        std::size_t next = 0;
    };
    Lane make(const Route& route);
    Lanes& lanes_of(const Route& route);
    [[nodiscard]] bool idle(const Lane& lane);

    Driver& driver_;
    std::map<Shape, Lanes> lanes_;
    std::map<int, Event> entries_;
    std::set<std::pair<int, int>> mapped_;
};

}  // namespace peerlane::move
