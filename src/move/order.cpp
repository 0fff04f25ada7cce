#include "move/order.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace peerlane::move {
namespace {

/// Multiprocessors taken from the application have to bring something.
constexpr double worth_it = 0.8;
/// Nearer to what the busiest link needs anyway no other order is looked for.
constexpr double near_the_least = 1.02;

using Numbers = std::vector<std::size_t>;

/// What a device has more copies for than copy engines goes by kernels, where those may be trusted. Empty when nothing
/// would.
std::vector<Router::Way> by_kernels(const Router& router, const std::vector<const Router::Ways*>& ways,
                                    const std::vector<Router::Way>& instead) {
    std::vector<Router::Way> chosen;
    std::map<int, int> copies;  // of each issuer
    auto any = false;
    for (std::size_t i = 0; i < ways.size(); ++i) {
        auto const& leg = instead[i].route.legs.front();
        auto const engines = router.engines(leg.issuer.index);
        auto const over = instead[i].route.legs.size() == 1 && leg.engine == Engine::copy && ways[i]->kernel &&
                          copies[leg.issuer.index]++ % (2 * engines + 1) >= engines;
        chosen.push_back(over ? *ways[i]->kernel : instead[i]);
        any = any || over;
    }
    return any ? chosen : std::vector<Router::Way>{};
}

/// Rounds in which every device sends to the one that is so many numbers further on: no order in which flows are named
/// is as good for all to all on any number of devices.
Numbers round_by_round(const std::vector<Flow>& flows) {
    auto devices = 1;
    for (auto const& flow : flows) {
        devices = std::max(
            {devices, flow.from.is_device() ? flow.from.index + 1 : 0, flow.to.is_device() ? flow.to.index + 1 : 0});
    }
    auto const round = [&](const Flow& flow) {
        auto const peers = flow.from.is_device() && flow.to.is_device();
        return peers ? (flow.to.index - flow.from.index + devices) % devices : 0;
    };
    Numbers order(flows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return round(flows[a]) < round(flows[b]); });
    return order;
}

Numbers longest_first(const std::vector<Task>& tasks) {
    Numbers order(tasks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return tasks[a].seconds > tasks[b].seconds; });
    return order;
}

double makespan_of(const std::vector<Placed>& placed) {
    double last = 0;
    for (auto const& one : placed) {
        last = std::max(last, one.end_s);
    }
    return last;
}

/// The tasks as if they had been named in this order; numbers are those of `tasks`.
std::vector<Placed> scheduled(const std::vector<Task>& tasks, const Numbers& order,
                              const std::vector<double>& capacity) {
    std::vector<Task> named;
    for (auto const number : order) {
        named.push_back(tasks[number]);
    }
    auto const there = schedule(named, capacity);
    std::vector<Placed> placed(tasks.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        auto& here = placed[order[i]];
        here = there[i];
        for (auto& before : here.after) {
            before = order[before];
        }
    }
    return placed;
}

Order ordered(const Router& router, const std::vector<Flow>& flows, const std::vector<Router::Way>& ways) {
    Order order;
    std::vector<Task> tasks;
    for (auto const& way : ways) {
        order.plan.push_back({0, 0, way.route});
        tasks.push_back(router.task(way, flows[order.plan.size() - 1].bytes));
    }
    auto const& capacity = router.capacity();
    order.placed = schedule(tasks, capacity);
    order.makespan_s = makespan_of(order.placed);
    auto const enough = least_makespan(tasks, capacity) * near_the_least;
    for (auto const& other : {round_by_round(flows), longest_first(tasks)}) {
        if (order.makespan_s <= enough) {
            break;
        }
        auto placed = scheduled(tasks, other, capacity);
        if (auto const makespan_s = makespan_of(placed); makespan_s < order.makespan_s) {
            order.placed = std::move(placed);
            order.makespan_s = makespan_s;
        }
    }
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        order.plan[i].start_s = order.placed[i].start_s;
        order.plan[i].end_s = order.placed[i].end_s;
    }
    order.by_start.resize(tasks.size());
    std::iota(order.by_start.begin(), order.by_start.end(), std::size_t{0});
    std::stable_sort(order.by_start.begin(), order.by_start.end(),
                     [&](std::size_t a, std::size_t b) { return order.placed[a].start_s < order.placed[b].start_s; });
    return order;
}

}  // namespace

Order Orders::best(const std::vector<Flow>& flows) {
    std::vector<const Router::Ways*> ways;
    std::vector<Router::Way> alone, direct;
    auto others = false;
    for (auto const& flow : flows) {
        auto const& of = router_.ways(flow.from, flow.to, flow.bytes);
        ways.push_back(&of);
        alone.push_back(of.best);
        direct.push_back(of.direct.value_or(of.best));
        others = others || (of.direct && of.direct->route != of.best.route);
    }
    auto order = ordered(router_, flows, alone);
    // What is best alone may take links that others need.
    if (others) {
        if (auto other = ordered(router_, flows, direct); other.makespan_s < order.makespan_s) {
            order = std::move(other);
            alone = direct;
        }
    }
    if (auto const kernels = by_kernels(router_, ways, alone); !kernels.empty()) {
        if (auto other = ordered(router_, flows, kernels); other.makespan_s < order.makespan_s * worth_it) {
            return other;
        }
    }
    return order;
}

const Order& Orders::of(const std::vector<Flow>& flows) {
    auto const known = std::find_if(known_.begin(), known_.end(), [&](const Known& one) { return one.flows == flows; });
    if (known != known_.end()) {
        return known->order;
    }
    known_.push_front({flows, best(flows)});
    if (known_.size() > most_known) {
        known_.pop_back();
    }
    return known_.front().order;
}

}  // namespace peerlane::move
