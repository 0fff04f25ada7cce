#include "move/schedule.hpp"

#include <algorithm>

namespace peerlane::move {
namespace {

/// A link that is overbooked by this part is not fought over.
constexpr double overbooked = 0.05;
constexpr std::size_t nobody = static_cast<std::size_t>(-1);

struct Slot {
    double free_s = 0;
    std::size_t latest = nobody;
};

}  // namespace

std::vector<Placed> schedule(const std::vector<Task>& tasks, const std::vector<double>& capacity) {
    std::vector<std::vector<Slot>> slots(capacity.size());
    std::vector<double> ahead(capacity.size(), 0);  // of each link: seconds of tasks not placed yet
    for (auto const& task : tasks) {
        for (auto const link : task.links) {
            auto const at = static_cast<std::size_t>(link);
            auto const fit = capacity[at] < 0 ? -capacity[at]
                             : task.rate > 0  ? capacity[at] * (1 + overbooked) / task.rate
                                              : 0;
            auto const wanted = std::min(static_cast<std::size_t>(std::max(fit, 1.0)), tasks.size());
            if (slots[at].empty() || wanted < slots[at].size()) {
                slots[at].resize(wanted);  // the fastest task decides
            }
        }
    }
    for (auto const& task : tasks) {
        for (auto const link : task.links) {
            ahead[static_cast<std::size_t>(link)] +=
                task.seconds / static_cast<double>(slots[static_cast<std::size_t>(link)].size());
        }
    }
    auto const soonest = [&](int link) {
        auto& of = slots[static_cast<std::size_t>(link)];
        return std::min_element(of.begin(), of.end(), [](const Slot& a, const Slot& b) { return a.free_s < b.free_s; });
    };
    std::vector<Placed> placed(tasks.size());
    std::vector<std::size_t> left(tasks.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
        left[i] = i;
    }
    while (!left.empty()) {
        auto best = left.begin();
        auto best_start = -1.0, best_ahead = 0.0;
        for (auto one = left.begin(); one != left.end(); ++one) {
            double start = 0, most = 0;
            for (auto const link : tasks[*one].links) {
                start = std::max(start, soonest(link)->free_s);
                most = std::max(most, ahead[static_cast<std::size_t>(link)]);
            }
            if (best_start < 0 || start < best_start || (start == best_start && most > best_ahead)) {
                best = one;
                best_start = start;
                best_ahead = most;
            }
        }
        auto const number = *best;
        auto& here = placed[number];
        here.start_s = best_start;
        here.end_s = best_start + tasks[number].seconds;
        for (auto const link : tasks[number].links) {
            auto const slot = soonest(link);
            if (slot->latest != nobody &&
                std::find(here.after.begin(), here.after.end(), slot->latest) == here.after.end()) {
                here.after.push_back(slot->latest);
            }
            *slot = {here.end_s, number};
            ahead[static_cast<std::size_t>(link)] -=
                tasks[number].seconds / static_cast<double>(slots[static_cast<std::size_t>(link)].size());
        }
        left.erase(best);
    }
    return placed;
}

}  // namespace peerlane::move
