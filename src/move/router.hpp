#pragma once
/// The way of each copy of an exchange, and what it takes of the machine. Not thread-safe: the mover's lock is held.

#include <cstdint>
#include <map>
#include <optional>
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
        bool by_kernel() const { return route.legs.size() == 1 && route.legs[0].engine == Engine::kernel; }
    };
    struct Ways {
        Way best{};                   ///< alone
        std::optional<Way> direct{};  ///< the best of one leg by copy engine: takes nobody else's links
        std::optional<Way> kernel{};  ///< one leg that takes no copy engine
    };
    Router(const Driver& driver, const Planner& planner);
    /// What may be trusted; std::invalid_argument when there is nothing.
    const Ways& ways(Place from, Place to, std::uint64_t bytes);
    /// Links of the graph; for legs that it does not describe ports of the devices, of which each takes one copy at its
    /// full rate; and as further links the copy engines of each device.
    [[nodiscard]] Task task(const Way& way, std::uint64_t bytes) const;
    [[nodiscard]] int engines(int device) const {
        return static_cast<int>(-capacity_[engines_ + static_cast<std::size_t>(device)]);
    }
    /// Of the links, as `schedule` takes them.
    [[nodiscard]] const std::vector<double>& capacity() const { return capacity_; }

  private:
    const Planner& planner_;
    std::vector<std::pair<Place, Place>> nobody_{};
    plan::LegCosts costs_;
    plan::Load load_;
    std::size_t links_ = 0;    ///< of the graph
    std::size_t engines_ = 0;  ///< number of the first device's: behind the links and the ports
    std::vector<double> capacity_{};
    std::map<std::tuple<Place, Place, std::uint64_t>, Ways> known_{};
};

}  // namespace peerlane::move
