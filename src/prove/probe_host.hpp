#pragma once
/// Where proofs run. Steps and a deadline in, outcomes out. Real ones start a helper executable, so that a step that hangs or takes
/// the driver down with it costs its process and not ours; simulated ones play freeze, wedge and reset.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <peerlane/verdicts.hpp>

namespace peerlane::prove {

/// One thing to find out. `control` steps move bytes source > destination through the host: accessor is then the source.
struct ProbeStep {
    enum class Kind : std::uint8_t { check, control };
    Kind kind = Kind::check;
    Check check = Check::claim;
    int accessor = 0;
    int owner = 0;
    std::vector<std::uint64_t> sizes{};  ///< ascending; empty for claim and map
    std::uint64_t seed = 0;
    friend bool operator==(const ProbeStep&, const ProbeStep&) = default;
};

struct ProbeOutcome {
    ProbeStep step;
    CheckResult result;
    friend bool operator==(const ProbeOutcome&, const ProbeOutcome&) = default;
};

class ProbeHost {
  public:
    virtual ~ProbeHost() = default;
    /// Runs the steps of one batch in order, calling `begin` before and `end` after each (a journal hangs there). A step that does
    /// not end within `seconds_per_step` is a hang; the steps after it still run, in a fresh process. Never throws for what a step
    /// does; throws Error when no prober can be started at all.
    virtual std::vector<ProbeOutcome> run(const std::vector<ProbeStep>& steps, double seconds_per_step,
                                          const std::function<void(const ProbeStep&)>& begin,
                                          const std::function<void(const ProbeOutcome&)>& end) = 0;
};

}  // namespace peerlane::prove
