#pragma once
/// How loaded a link is over time, in a bounded number of steps.

#include <vector>

#include <peerlane/simulation.hpp>

namespace peerlane::traffic {

class Timeline {
  public:
    static constexpr std::size_t most_steps = 128;
    /// From this time on; times do not go back. Where there would be more steps than fit, short ones become their mean.
    void set(double time_s, double fraction);
    [[nodiscard]] const std::vector<LoadStep>& steps() const { return steps_; }

  private:
    void coarsen();
    std::vector<LoadStep> steps_{{0, 0}};
};

}  // namespace peerlane::traffic
