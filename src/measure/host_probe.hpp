#pragma once
/// What calls cost the calling thread.

#include <peerlane/profile.hpp>

#include "measure/bench.hpp"
#include "measure/stop.hpp"

namespace peerlane::measuring {

/// Of calls for this device; copies are of 256 bytes within it, or to `peer` where there is one that can be mapped.
/// Costs of calls that the driver refuses stay empty. Throws Stopped, Lost.
HostCosts measure_host(Bench& bench, int device, std::optional<int> peer, const StopRule& rule);

}  // namespace peerlane::measuring
