#pragma once
/// Legs at the same time.

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include <peerlane/profile.hpp>

#include "measure/bench.hpp"
#include "measure/proven.hpp"

namespace peerlane::measuring {

struct GroupRules {
    std::uint64_t bytes = std::uint64_t{32} << 20;  ///< of one transfer, less where links are slow
    int runs = 3;                                   ///< of which each leg's median is kept
};

class GroupProbe {
  public:
    /// `legs`: measured curves, from which the best leg of each move is taken. They must outlive the probe.
    GroupProbe(Bench& bench, const std::vector<LegCurve>& legs, GroupRules rules)
        : bench_(bench), legs_(legs), rules_(rules) {}

    /// Each leg moves again and again on a stream of its own. How often is corrected until all of them take the same
    /// time, so that each runs beside all others from its first transfer to its last but one; the rate is that of the
    /// transfers in the middle. Empty when a move has no measured leg, or a leg cannot be mapped beside the others.
    std::optional<LoadedGroup> measure(const GroupPlan& plan);

  private:
    struct Running {
        Leg leg;
        Location from, to;
        int transfers = 0;
        double seconds = 0;  ///< all of them, as far as was seen
        double gbs = 0;
    };
    /// Copy engines first: kernels take multiprocessors away from the application.
    [[nodiscard]] const LegCurve* best_leg(const Move& move, std::uint64_t bytes) const;
    [[nodiscard]] std::uint64_t bytes_for(const GroupPlan& plan) const;
    bool map_all(const std::vector<Running>& running);
    void place(std::vector<Running>& running, std::uint64_t bytes);
    void run(std::vector<Running>& running, std::uint64_t bytes);
    double alone_gbs(Running running, std::uint64_t bytes);

    Bench& bench_;
    const std::vector<LegCurve>& legs_;
    GroupRules rules_;
    std::map<std::tuple<Place, Place, Engine, Place, std::uint64_t>, double> alone_;
};

}  // namespace peerlane::measuring
