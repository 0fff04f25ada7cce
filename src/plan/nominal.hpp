#pragma once
/// What a leg costs before anybody measured this machine: published capacities times the efficiency that links of their
/// kind are known to reach, and measured pair rates where the machine's description brings them. Every result says
/// which it is. What plans use of it is a profile like a measured one.

#include <optional>

#include <peerlane/machine.hpp>
#include <peerlane/profile.hpp>

namespace peerlane::plan {

/// fixed_s + bytes * s_per_byte for one copy that the host waits for.
struct NominalLeg {
    double fixed_s = 0;
    double s_per_byte = 0;
    Basis basis = Basis::assumed;
};

/// Fixed costs are those of the pair in docs/architecture.md ("Nominal costs"), which differ little between machines.
class NominalCosts {
  public:
    explicit NominalCosts(const Machine& machine);
    /// Empty when the graph has no way between the two places.
    [[nodiscard]] std::optional<NominalLeg> leg(const Leg& leg) const;
    [[nodiscard]] static LegCurve curve(const Leg& leg, const NominalLeg& cost);
    /// Empty when there is no such way.
    [[nodiscard]] std::optional<AccessCosts> access(int accessor, Place place) const;
    /// NUMA nodes worth staging in between two devices: nearest of the source, then of the destination if another.
    /// {host} when no node is known.
    [[nodiscard]] std::vector<Place> staging_places(int source, int destination) const;
    [[nodiscard]] const Machine& machine() const { return machine_; }

  private:
    [[nodiscard]] std::optional<NominalLeg> peer_leg(const Leg& leg) const;
    [[nodiscard]] std::optional<NominalLeg> host_leg(const Leg& leg) const;
    Machine machine_;  ///< with a graph
};

}  // namespace peerlane::plan
