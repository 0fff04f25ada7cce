#include "move/schedule.hpp"

#include <algorithm>
#include <limits>

namespace peerlane::move {
namespace {

/// A link that is overbooked by this part is not fought over.
constexpr double overbooked = 0.05;
constexpr double alike = 0.05;  ///< part of a task by which times may differ and be the same
constexpr std::size_t nobody = static_cast<std::size_t>(-1);

struct Slot {
    double free_s = 0;
    std::size_t latest = nobody;
};

/// How many tasks each link serves at a time; 0 where none takes it.
std::vector<std::size_t> places(const std::vector<Task>& tasks, const std::vector<double>& capacity) {
    std::vector<std::size_t> count(capacity.size(), 0);
    for (auto const& task : tasks) {
        for (auto const link : task.links) {
            auto const at = static_cast<std::size_t>(link);
            auto const fit = capacity[at] < 0 ? -capacity[at]
                             : task.rate > 0  ? capacity[at] * (1 + overbooked) / task.rate
                                              : 0;
            auto const wanted = std::min(static_cast<std::size_t>(std::max(fit, 1.0)), tasks.size());
            count[at] = count[at] == 0 ? wanted : std::min(count[at], wanted);  // the fastest task decides
        }
    }
    return count;
}

/// Of each link the seconds that its tasks take of it.
std::vector<double> load(const std::vector<Task>& tasks, const std::vector<std::size_t>& places) {
    std::vector<double> seconds(places.size(), 0);
    for (auto const& task : tasks) {
        for (auto const link : task.links) {
            auto const at = static_cast<std::size_t>(link);
            seconds[at] += task.seconds / static_cast<double>(places[at]);
        }
    }
    return seconds;
}

}  // namespace

double least_makespan(const std::vector<Task>& tasks, const std::vector<double>& capacity) {
    double most = 0;
    for (auto const seconds : load(tasks, places(tasks, capacity))) {
        most = std::max(most, seconds);
    }
    for (auto const& task : tasks) {
        most = std::max(most, task.seconds);
    }
    return most;
}

std::vector<Placed> schedule(const std::vector<Task>& tasks, const std::vector<double>& capacity) {
    auto const count = places(tasks, capacity);
    auto ahead = load(tasks, count);  // of tasks not placed yet
    std::vector<std::vector<Slot>> slots;
    for (auto const of : count) {
        slots.emplace_back(of);
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
    std::vector<double> start(tasks.size()), most(tasks.size());
    while (!left.empty()) {
        auto first = std::numeric_limits<double>::infinity();
        for (auto const one : left) {
            start[one] = most[one] = 0;
            for (auto const link : tasks[one].links) {
                start[one] = std::max(start[one], soonest(link)->free_s);
                most[one] = std::max(most[one], ahead[static_cast<std::size_t>(link)]);
            }
            first = std::min(first, start[one]);
        }
        auto const soon = [&](std::size_t one) { return start[one] <= first + alike * tasks[one].seconds; };
        auto busiest = 0.0;
        for (auto const one : left) {
            busiest = soon(one) ? std::max(busiest, most[one]) : busiest;
        }
        auto const best = std::find_if(left.begin(), left.end(), [&](std::size_t one) {
            return soon(one) && most[one] >= busiest - alike * tasks[one].seconds;
        });
        auto const number = *best;
        auto& here = placed[number];
        here.start_s = start[number];
        here.end_s = start[number] + tasks[number].seconds;
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
