#pragma once
/// What one copy between two places takes of a machine when it is alone: tried on an engine of its own, once for each
/// pair of places.

#include <map>
#include <memory>
#include <vector>

#include <peerlane/place.hpp>

#include "driver/sim/engine.hpp"

namespace peerlane::traffic {

struct LegFacts {
    std::vector<model::Use> uses{};  ///< links as Network numbers them
    double s_per_byte = 0;           ///< alone, fixed times apart
};

class LegBook {
  public:
    explicit LegBook(sim::Truth described);
    /// Issued by the source where that is a device. Both places are settled: the host's with their NUMA node. nullptr
    /// when the machine has no such way.
    const LegFacts* leg(Place from, Place to);
    /// Whether a copy from a to b goes direct, by what the driver claims.
    [[nodiscard]] bool direct(int a, int b) const;
    [[nodiscard]] const sim::Truth& truth() const { return engine_.truth(); }

  private:
    Address room(Place place, bool out);
    sim::Engine engine_;
    std::map<std::pair<Place, Place>, LegFacts> known_{};
    std::map<std::pair<Place, bool>, Address> rooms_{};
    LegFacts* tried_ = nullptr;
};

/// The same machine with memory that never runs out: buffers of a simulation are no memory that somebody has to find.
sim::Truth roomy(sim::Truth truth);

}  // namespace peerlane::traffic
