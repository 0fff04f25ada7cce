#pragma once
/// Carries out one choice over a driver: routes of legs, chunk by chunk, ordered by events alone. Submitting never
/// waits for the device (a full driver queue may block).
///
/// Order of submission decides half of what a split gains: the long copy of a route with one leg before anything is
/// asked or borrowed, then the chunks of all pipelines in turn.

#include <cstdint>
#include <optional>
#include <vector>

#include <peerlane/driver.hpp>
#include <peerlane/plan.hpp>

#include "move/resources.hpp"

namespace peerlane::move {

/// Timing events of one route, on its last leg's issuer.
struct RouteClock {
    EventView start, end;
};

struct Submission {
    /// The stream is being captured: calls that cannot be recorded are not made, and no buffer is used twice, because a
    /// graph may run while another made of the same capture does.
    bool captured = false;
    std::vector<RouteClock> clocks{};   ///< one a route; empty: not timed
    std::optional<RouteClock> whole{};  ///< events of the stream's device, around all of it
};

/// One leg, as one call.
void issue(Driver& driver, const Leg& leg, StreamView stream, Address to, Address from, std::uint64_t bytes,
           bool captured);

class Executor {
  public:
    explicit Executor(Driver& driver) : driver_(driver) {}

    /// Throws std::invalid_argument for a choice that does not fit the places (a leg that does not begin where the one
    /// before ends, shares that do not add up, a route of several legs without chunk or buffers).
    static void check(const Choice& choice, Place from, Place to);
    static void prepare(const Choice& choice, Resources& resources);
    /// All of it comes after what `stream` holds, and what follows in `stream` after all of it. Routes whose buffers
    /// cannot be had leave their share to the others; where that leaves none, the driver's own copy does it. Captured:
    /// throws Error 900 then, with nothing recorded.
    void submit(const std::vector<Route>& routes, std::uint64_t bytes, Location to, Location from, StreamView stream,
                Resources& resources, const Submission& how = {});
    /// A choice of one route with one leg. Needs no lock when the stream is the issuer's.
    void single_leg(const Leg& leg, Location to, Location from, std::uint64_t bytes, StreamView stream,
                    Resources& resources, bool captured);

  private:
    struct Job;
    struct Active;
    std::vector<Active> borrow(const Job& job, std::size_t but);
    /// Several routes, the largest of one leg in the caller's own stream first. What others cannot take follows there.
    void submit_early(const Job& job, std::size_t early);
    void submit_borrowed(const Job& job);
    void submit_all(const Job& job, std::vector<Active>& active);
    static void share_out(std::vector<Active>& active, std::uint64_t bytes);
    void clock(const Job& job, const Active& one, EventView RouteClock::*which);
    /// The next chunk through all legs; false when there is none left.
    bool step(const Job& job, Active& pipe);

    Driver& driver_;
};

}  // namespace peerlane::move
