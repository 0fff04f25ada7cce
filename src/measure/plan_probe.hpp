#pragma once
/// Routes at the same time, as a plan has them.

#include <map>
#include <optional>
#include <vector>

#include <peerlane/profile.hpp>

#include "measure/bench.hpp"

namespace peerlane::measuring {

struct PlanRules {
    double run_s = 10e-3;  ///< of one run of all routes
    int runs = 3;          ///< of which each route's median is kept
};

class PlanProbe {
  public:
    /// `legs`: measured curves. They must outlive the probe.
    PlanProbe(Bench& bench, const std::vector<LegCurve>& legs, PlanRules rules)
        : bench_(bench), legs_(legs), rules_(rules) {}

    /// A route of one leg is long transfers, issued first; the others pass chunks on through rings of buffers,
    /// joined by events. How much each carries is corrected until all end at about the same time. Empty when a leg was
    /// not measured alone or cannot be mapped beside the others.
    std::optional<LoadedPlan> measure(const std::vector<std::vector<Leg>>& routes);

  private:
    struct Running {
        const std::vector<Leg>* legs = nullptr;
        double alone = 0;         ///< bytes/s of its slowest leg
        std::uint64_t chunk = 0;  ///< as long as memory has room for where there is one leg
        int chunks = 1;
        double seconds = 0;  ///< of all
        double rate = 0;     ///< bytes/s, begin and end left out where there are several legs
    };
    struct Lane;
    [[nodiscard]] const LegCurve* curve_of(const Leg& leg) const;
    void size(Running& running, double bytes) const;
    Location next(Place place, std::uint64_t bytes);
    Lane lane_of(const Running& running);
    void issue_chunk(const Running& running, Lane& lane, int number);
    void run(std::vector<Running>& running);
    /// Whether they ended together.
    static bool close(const std::vector<Running>& running);
    /// Bytes/s of each, the median of so many runs.
    std::vector<double> rates_of(std::vector<Running>& running, int runs);

    Bench& bench_;
    const std::vector<LegCurve>& legs_;
    PlanRules rules_;
    std::map<Place, std::uint64_t> taken_;             ///< of each place's memory, by this run
    std::map<int, std::size_t> streams_{}, timers_{};  ///< of each device, by this run
};

}  // namespace peerlane::measuring
