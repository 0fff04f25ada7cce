#pragma once
/// Carries out one choice over a driver: routes of legs, chunk by chunk, ordered by events alone. Submitting never
/// waits for the device (a full driver queue may block).
///
/// Order of submission decides half of what a split gains: the long copy of a route with one leg first, then the chunks
/// of all pipelines in turn.

#include <cstdint>
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
    std::vector<RouteClock> clocks{};  ///< one a route; empty: not timed
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
    struct Active;
    std::vector<Active> borrow(const std::vector<Route>& routes, std::uint64_t bytes, StreamView stream,
                               Resources& resources, bool captured);
    static void share_out(std::vector<Active>& active, std::uint64_t bytes, Location to, Location from);
    void submit_pipelines(std::vector<Active>& active, bool captured);
    /// The next chunk through all legs; false when there is none left.
    bool step(Active& pipe, bool captured);

    Driver& driver_;
};

}  // namespace peerlane::move
