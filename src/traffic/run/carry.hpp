#pragma once
/// Carries flows out on the simulated machine's engine, which is the one that its driver has.

#include "driver/sim/truth.hpp"
#include "traffic/run/plans.hpp"

namespace peerlane::traffic {

/// What is kept beside the results.
struct Kept {
    bool samples = false;    ///< Simulation::loads
    bool over_time = false;  ///< LinkLoad::over_time
};

/// Everything of a Simulation but strategy, machine, note and relief. Throws std::invalid_argument as simulate() does.
Simulation carry(const sim::Truth& truth, const std::vector<Flow>& flows, const Plans& plans, Kept kept = {});

/// Bytes/s of what Network numbers, and their names, all different.
std::vector<std::string> link_names(const sim::Truth& truth);

}  // namespace peerlane::traffic
