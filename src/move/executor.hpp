#pragma once
/// Carries out one choice over a driver: routes of legs, chunk by chunk, ordered by events alone. Submitting never
/// waits for the device (a full driver queue may block).

#include <cstdint>

#include <peerlane/driver.hpp>
#include <peerlane/plan.hpp>

#include "move/resources.hpp"

namespace peerlane::move {

class Executor {
  public:
    Executor(Driver& driver, Resources& resources) : driver_(driver), resources_(resources) {}

    /// Throws std::invalid_argument for a choice that does not fit the places (a leg that does not begin where the one
    /// before ends, shares that do not add up, a route of several legs without chunk or buffers).
    static void check(const Choice& choice, Place from, Place to);
    void prepare(const Choice& choice);
    /// All of it comes after what `stream` holds, and what follows in `stream` after all of it.
    void submit(const Choice& choice, Location to, Location from, StreamView stream);

  private:
    struct Part {
        Location to, from;
        std::uint64_t bytes = 0;
    };
    void single_leg(const Leg& leg, const Part& part, StreamView stream);
    /// Submits to the lane's streams; leaves lane.last of each leg recorded.
    void pipeline(const Route& route, Lane& lane, const Part& part);
    void issue(const Leg& leg, StreamView stream, Location to, Location from, std::uint64_t bytes);

    Driver& driver_;
    Resources& resources_;
};

}  // namespace peerlane::move
