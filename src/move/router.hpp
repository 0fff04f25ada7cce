#pragma once
/// The way of each copy of an exchange, and what it takes of the machine. Not thread-safe: the mover's lock is held.

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <peerlane/driver.hpp>
#include <peerlane/planner.hpp>

#include "move/schedule.hpp"
#include "plan/load.hpp"

namespace peerlane::move {

/// One route for each copy: what a split would take are the links of the others.
class Router {
  public:
    struct Way {
        double seconds = 0;  ///< alone
        Route route{};
    };
    Router(const Driver& driver, const Planner& planner);
    /// The fastest that may be trusted; std::invalid_argument when there is none.
    const Way& route(Place from, Place to, std::uint64_t bytes);
    /// Links of the graph, and as further links the copy engines of each device.
    [[nodiscard]] Task task(const Way& way) const;
    /// Of the links, as `schedule` takes them.
    [[nodiscard]] const std::vector<double>& capacity() const { return capacity_; }

  private:
    const Planner& planner_;
    std::vector<std::pair<Place, Place>> nobody_{};
    plan::LegCosts costs_;
    plan::Load load_;
    std::size_t links_ = 0;  ///< of the graph
    std::vector<double> capacity_{};
    std::map<std::tuple<Place, Place, std::uint64_t>, Way> known_{};
};

}  // namespace peerlane::move
