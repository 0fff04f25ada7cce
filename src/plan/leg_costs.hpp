#pragma once
/// What each leg costs: from the profile where it holds the leg, else nominal. The one place where plans look it up.

#include <map>
#include <optional>
#include <tuple>

#include <peerlane/machine.hpp>
#include <peerlane/profile.hpp>

#include "model/cost.hpp"
#include "plan/nominal.hpp"

namespace peerlane::plan {

struct LegCost {
    model::Cost once;    ///< one transfer that an idle host waits for
    model::Cost queued;  ///< one more behind others
    double rate = 0;     ///< bytes/s, the most it reaches alone
    Basis basis = Basis::assumed;
    double spread = -1;  ///< of the largest size; negative when not known
};

/// Time of the calling thread, where the profile holds none: those of h200-pair (docs/architecture.md).
struct HostTimes {
    double copy_call_s = 2.7e-6;
    double event_s = 0.5e-6;  ///< a record or a wait
    explicit HostTimes(const HostCosts& costs)
        : copy_call_s(costs.copy_call_s.value_or(2.7e-6)), event_s(costs.event_s.value_or(0.5e-6)) {}
};

class LegCosts {
  public:
    /// The profile is referred to.
    LegCosts(const Machine& machine, const Profile& profile);
    /// Empty when there is no such way. `host` (any node) costs what the nearest node does.
    [[nodiscard]] std::optional<LegCost> leg(const Leg& leg) const;
    [[nodiscard]] std::optional<AccessCosts> access(int accessor, Place place) const;
    /// The same leg with the node that is nearest to its device in the place of any node.
    [[nodiscard]] Leg near(Leg leg) const;
    [[nodiscard]] const NominalCosts& nominal() const { return nominal_; }
    [[nodiscard]] const Profile& profile() const { return *profile_; }
    [[nodiscard]] const Machine& machine() const { return nominal_.machine(); }

  private:
    [[nodiscard]] const LegCurve* find(const Leg& leg) const;
    [[nodiscard]] Place nearest(Place host, int device) const;
    NominalCosts nominal_;
    const Profile* profile_;
    using Key = std::tuple<Place, Place, Engine, Place>;
    std::map<Key, const LegCurve*> legs_;
};

}  // namespace peerlane::plan
