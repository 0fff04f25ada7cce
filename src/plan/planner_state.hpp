#pragma once
/// What a planner holds; shared by the files that answer its questions.

#include <atomic>
#include <memory>
#include <vector>

#include <peerlane/planner.hpp>

#include "plan/table.hpp"

namespace peerlane {

struct Planner::State {
    State(Machine machine, Verdicts verdicts, Profile profile, PlannerOptions options);
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();

    Machine machine;
    Verdicts verdicts;
    Profile profile;
    PlannerOptions options;
    plan::LegCosts costs;
    plan::Load load;
    plan::Scorer scorer;
    std::size_t places = 0;  ///< devices, the host, and its NUMA nodes
    /// [from * places + to]; made by whoever asks first, never changed again. An atomic pointer and not a lock: asking
    /// is on the way of every copy.
    mutable std::vector<std::atomic<const plan::Table*>> tables;

    [[nodiscard]] std::size_t slot(Place place) const;
    /// Throws std::invalid_argument for places between which nothing can be asked.
    void require(Place from, Place to) const;
    [[nodiscard]] std::vector<plan::Lane> lanes(Place from, Place to) const;
    [[nodiscard]] const plan::Table& table(Place from, Place to) const;
};

}  // namespace peerlane
