#pragma once
/// The ladder of checks: what each asks of a driver. A check is one function in one table; atomic, flag and imports
/// join there.

#include <vector>

#include <peerlane/probe_host.hpp>

#include "prove/bench.hpp"
#include "prove/partner.hpp"

namespace peerlane::prove {

struct Limits {
    double seconds_per_size = 2;  ///< after that long, in the driver's time, a size counts as a hang
    /// A check that reads may first write a decoy over the same path. Not where writing is known to hang or to fail:
    /// the check would be blamed for it.
    bool decoy = true;
    /// Kernels of the pair work: what a check needs that tries something else with them.
    bool kernels = true;
    friend bool operator==(const Limits&, const Limits&) = default;
};

/// The limits of the next step of a batch, from the outcomes before it: 2 s a size, and all sizes together below what
/// its host allows the step, so that the prober itself can still tell which size hangs.
Limits limits_of(const ProbeStep& step, const std::vector<ProbeOutcome>& before, double seconds_per_step);

/// Runs steps on one driver, keeping the bench between them.
class Prober {
  public:
    /// The driver must outlive the prober. `find` gets the other process that imports need.
    explicit Prober(Driver& driver, FindPartner find = {}) : bench_(driver), partners_(driver, std::move(find)) {}
    /// Never throws for what the step does.
    CheckResult run(const ProbeStep& step, const Limits& limits = {});
    /// False after a hang or a sticky error: the next step needs a fresh driver (and on a real device a fresh process).
    [[nodiscard]] bool usable() const { return bench_.usable(); }

  private:
    Bench bench_;
    Partners partners_;
};

/// One step by itself.
CheckResult run_step(Driver& driver, const ProbeStep& step, const Limits& limits = {});

}  // namespace peerlane::prove
