#pragma once
/// Which lanes win at one size.

#include <optional>
#include <vector>

#include <peerlane/planner.hpp>

#include "plan/score.hpp"

namespace peerlane::plan {

/// Times closer than this, as a part, are the same: then the written order of ties decides.
inline constexpr double tie = 0.005;
/// A further route has to gain so much, for what it costs that no model holds.
inline constexpr double least_gain = 0.01;
/// The same where it shares a link with the others and nobody measured what that leaves them.
inline constexpr double least_guessed_gain = 0.10;

struct Decision {
    std::vector<Scored> alone{};     ///< one a lane; not possible where it may not be used
    int best_alone = -1;             ///< index of a lane; -1: none
    Scored split{};                  ///< the best split; not possible where none gains over a lane alone
    std::vector<int> split_lanes{};  ///< in the order of its routes
    bool split_measured = true;      ///< the costs of all its legs are
    [[nodiscard]] const Scored* best() const;
    [[nodiscard]] bool splits() const;
};

/// `forced`: the split that is nearest to gaining, where none does.
Decision decide(const Scorer& scorer, const std::vector<Lane>& lanes, std::uint64_t bytes, bool forced = false);

/// What a split gains in all over a route alone; more where costs were not measured. Two H200, 32 MiB: 2.4 % were
/// foretold and 2.6 % lost.
inline constexpr double least_split_gain = 0.03, least_nominal_gain = 0.05;

/// Equal but for shares, chunks and buffers.
bool alike(const std::vector<Route>& a, const std::vector<Route>& b);

}  // namespace peerlane::plan
