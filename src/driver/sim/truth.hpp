#pragma once
/// What the simulated hardware really does: capacities, costs, faults. A value of its own that no code above the seam
/// can reach; it may differ from what the machine says of itself.

#include <cstdint>
#include <optional>
#include <vector>

#include <peerlane/fault.hpp>
#include <peerlane/machine.hpp>
#include <peerlane/pattern.hpp>
#include <peerlane/simulated.hpp>

#include "driver/sim/figures.hpp"
#include "driver/sim/network.hpp"

namespace peerlane::sim {

struct Truth {
    Machine machine;
    Figures figures;
    std::vector<Fault> faults;
    Network network;
    std::uint64_t seed = 0;
    SimEffects effects{};

    /// A fault of this kind on this directed pair and size; nullptr when there is none. The last one given wins.
    [[nodiscard]] const Fault* fault(Fault::What what, int a, int b, std::uint64_t bytes = 0) const;
    [[nodiscard]] bool claims(int accessor, int owner) const;
    /// Most slots an accessor may enable; empty: no limit.
    [[nodiscard]] std::optional<int> slot_limit(int accessor) const;
    /// Factor or cap of a `rate` fault applied to a direct transfer's rate (bytes/s).
    [[nodiscard]] double limited_rate(int source, int destination, double rate) const;
    [[nodiscard]] double extra_latency(int source, int destination) const;
    [[nodiscard]] bool keeps_mirror(int accessor, int owner) const;
};

/// Fills the graph where the machine has none, and the network. Throws std::invalid_argument for a fault that names a
/// device the machine does not have.
Truth make_truth(const Machine& machine, const Figures& figures, const SimOptions& options);

}  // namespace peerlane::sim
