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
///
/// First the shares are corrected until all routes end about together; a correction that does not make the whole copy
/// quicker is taken back (a route's own time does not show what joining it costs). Where one of the routes is a single
/// leg that carries most, the others' part is then tried a little larger and smaller by the time of whole copies, and
/// some copies go by that leg alone: a split that is slower, calls and all, is given up for good. From then on
/// one copy in sixteen is looked at.
class Adaptation {
  public:
    /// Copies looked at before anything is changed; before shares are judged by whole copies.
    static constexpr std::size_t looks = 3, careful_looks = 5;

    explicit Adaptation(std::vector<Route> planned);
    [[nodiscard]] const std::vector<Route>& routes() const { return phase_ == Phase::trial ? alone_ : routes_; }
    /// Events for the next copy, into a stream of this device; none for a copy that is not looked at, or may not be.
    Submission begin(Driver& driver, int device, bool may_look = true);
    /// Takes in what the last copy looked at showed, if it is done; a finding when routes are dropped.
    std::optional<Finding> look(Driver& driver, Place from, Place to, std::uint64_t bytes);
    /// Would begin() ask for a look at the next copy into a stream of this device?
    [[nodiscard]] bool curious(int device) const;
    /// Another copy got in the way of the one looked at: it shows nothing.
    void disturb() { awaited_ = false; }
    /// Routes with this leg are dropped, unless none would be left. True when some were.
    bool drop(const Leg& leg);

  private:
    enum class Phase : std::uint8_t { correcting, searching, trial, settled };
    struct Clock {
        Event start, end;
        [[nodiscard]] RouteClock view() const { return {start.view(), end.view()}; }
        [[nodiscard]] double seconds(Driver& driver) const;
    };
    /// False while some of it is not done.
    bool read(Driver& driver);
    std::optional<Finding> correct_shares(Place from, Place to, std::uint64_t bytes);
    /// The next phase after corrections.
    void have_corrected();
    void search();
    /// Routes went: what was found of the shares before says nothing of those that are left.
    void search_anew();
    void end_trial();
    void set_shares(const std::vector<double>& shares);
    [[nodiscard]] std::vector<double> shares() const;
    /// Shares with the part of all but the main route so many times as large, within the bounds.
    [[nodiscard]] std::vector<double> scaled(double times) const;
    void forget_looks();
    void normalize();
    [[nodiscard]] bool times_routes() const { return phase_ == Phase::correcting || phase_ == Phase::settled; }

    std::vector<Route> routes_, alone_{};
    std::vector<double> planned_;
    Phase phase_ = Phase::correcting;
    std::vector<Clock> clocks_{};
    std::optional<Clock> whole_{};
    int device_ = -1;  ///< of the streams looked at
    bool awaited_ = false;
    std::uint64_t copies_ = 0;
    int corrections_ = 0;
    /// Shares before those that are tried now, and what a whole copy took with them.
    struct Before {
        std::vector<double> shares{};
        double whole_s = 0;
        double ratio = 0;  ///< slowest over quickest route
    };
    std::optional<Before> before_{};
    double refused_ratio_ = 0;  ///< slowest over quickest route where a correction was taken back
    double step_ = 0;           ///< of the search: what the others' part is multiplied by; 0: not begun
    int steps_ = 0;
    bool turned_ = false;
    double split_s_ = 0;                     ///< of a whole copy with these shares, before the trial
    std::vector<std::vector<double>> seen_;  ///< [route]: seconds
    std::vector<double> wholes_{};
};

}  // namespace peerlane::move
