#pragma once
/// Shares of a split, corrected between copies by what its routes took: bounded, and only for differences that last.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <peerlane/driver/owned.hpp>
#include <peerlane/plan.hpp>
#include <peerlane/verdicts.hpp>

#include "move/executor.hpp"

namespace peerlane::move {

/// What one route of a split did in several copies: medians.
struct Observed {
    double planned = 0;  ///< share that the plan gave
    double share = 0;    ///< share that it has
    double seconds = 0;  ///< from the copy's start to the route's end
};

struct Correction {
    std::vector<double> shares{};  ///< sum 1; 0: to be dropped
    bool changed = false;
};

/// Half of the way to the shares with which all routes would end together, within half and one and a half of the
/// planned share. Nothing changes while the times differ by less than 5 %. A route that has sunk to its bound and still
/// takes more than twice as long as the quickest is dropped, unless it is the last.
Correction correct(const std::vector<Observed>& routes);

/// The routes that one decision has now. Not thread-safe: the mover's lock is held.
class Adaptation {
  public:
    /// Copies looked at before anything is corrected.
    static constexpr std::size_t looks = 3;

    explicit Adaptation(std::vector<Route> planned);
    [[nodiscard]] const std::vector<Route>& routes() const { return routes_; }
    /// Takes in what the last timed copy showed, if it is done; a finding when a route is dropped.
    std::optional<Finding> look(Driver& driver, Place from, Place to, std::uint64_t bytes);
    /// Events for the next copy; empty while those of an earlier one are still awaited.
    std::vector<RouteClock> clocks(Driver& driver);
    /// Routes with this leg are dropped, unless none would be left. True when some were.
    bool drop(const Leg& leg);

  private:
    struct Clocks {
        Event start, end;
    };
    void normalize();

    std::vector<Route> routes_;
    std::vector<double> planned_;
    std::vector<Clocks> clocks_{};
    bool awaited_ = false;
    std::vector<std::vector<double>> seen_{};  ///< [route]: seconds
};

}  // namespace peerlane::move
