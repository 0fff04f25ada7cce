#pragma once
/// What a leg costs before anybody measured this machine: published capacities times the efficiency that links of their
/// kind are known to reach, and measured pair rates where the machine's description brings them. Every result says
/// which it is.

#include <optional>

#include <peerlane/machine.hpp>
#include <peerlane/plan.hpp>

namespace peerlane::plan {

/// Time for n bytes: fixed_s + n * s_per_byte. Both >= 0.
struct LinearCost {
    double fixed_s = 0;
    double s_per_byte = 0;
};
constexpr double seconds(LinearCost cost, double bytes) {
    return cost.fixed_s + bytes * cost.s_per_byte;
}

enum class Basis : std::uint8_t { measured, nominal, assumed };
const char* to_string(Basis basis);

struct LegCost {
    LinearCost cost{};
    double gbs = 0;
    Basis basis = Basis::assumed;
};

/// Fixed costs are those of the pair in docs/architecture.md ("Nominal costs"), which differ little between machines.
class NominalCosts {
  public:
    explicit NominalCosts(const Machine& machine);
    /// Empty when the graph has no way between the two places.
    [[nodiscard]] std::optional<LegCost> leg(const Leg& leg) const;
    /// NUMA nodes worth staging in between two devices: nearest of the source, then of the destination if another.
    /// {host} when no node is known.
    [[nodiscard]] std::vector<Place> staging_places(int source, int destination) const;
    [[nodiscard]] const Machine& machine() const { return machine_; }

  private:
    [[nodiscard]] std::optional<LegCost> peer_leg(const Leg& leg) const;
    [[nodiscard]] std::optional<LegCost> host_leg(const Leg& leg) const;
    Machine machine_;  ///< with a graph
};

/// Seconds of a pipeline: every chunk passes each stage once; the first chunk fills it, the slowest stage sets the
/// pace.
double pipeline_seconds(const std::vector<LinearCost>& stages, double bytes, double chunk);

}  // namespace peerlane::plan
