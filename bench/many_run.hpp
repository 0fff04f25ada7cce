#pragma once
/// Carries the parts of many_devices out: interleaved, within a time, checked, and once more on a simulated machine.

#include <vector>

#include "many_cases.hpp"

namespace peerlane::bench {

struct RunOptions {
    int rounds = 7;        ///< of each case; 3 at least, where time is short
    double seconds = 400;  ///< of all parts together: their own budgets, in proportion
};

class Run {
  public:
    /// `twin`: where simulated times come from; nullptr: none.
    Run(Rig& rig, Rig* twin, const RunOptions& options) : rig_(rig), twin_(twin), options_(options) {}
    /// Rows, what was left out, and what they come to.
    [[nodiscard]] Report result(std::vector<Part> parts);
    /// Copies that arrived with other bytes than they should.
    [[nodiscard]] int wrong() const { return wrong_; }

  private:
    void carry_out(Part& part, double until_s, Report& report);
    void carry_out(const Case& one, double until_s, Report& report);
    void add_simulated(const Case& one, Row& row);
    Rig& rig_;
    Rig* twin_;
    RunOptions options_;
    int wrong_ = 0;
};

/// What the rows come to: knees of helpers, and what has to be shown.
void conclude(Report& report);

}  // namespace peerlane::bench
