#pragma once
/// An order for copies that need links: each link serves as many at a time as it can at their full rate. Values in,
/// values out.

#include <cstddef>
#include <vector>

namespace peerlane::move {

struct Task {
    double seconds = 0;        ///< alone
    double rate = 0;           ///< alone, in the unit of the capacities
    std::vector<int> links{};  ///< that it takes all the time
};

struct Placed {
    double start_s = 0, end_s = 0;
    /// Tasks that have to be done before: those whose place on a link it takes.
    std::vector<std::size_t> after{};
};

/// Greedy: next comes the task that can start soonest; of those the one whose busiest link has most before it, and of
/// those the one that is named first. Times that differ by less than a twentieth of a task are the same: they are
/// measured. A link without a capacity (0) serves one at a
/// time, one with a negative capacity as many as that says, whatever their rate.
std::vector<Placed> schedule(const std::vector<Task>& tasks, const std::vector<double>& capacity);

/// What the busiest link needs for its tasks: no order takes less.
double least_makespan(const std::vector<Task>& tasks, const std::vector<double>& capacity);

}  // namespace peerlane::move
