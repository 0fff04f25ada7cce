/// Why nothing moves: the wait-for graph of what is held at the end.

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "audit/schedule.hpp"

namespace peerlane::audit {

namespace {
/// A trace with more knots than this has one cause anyway.
constexpr std::size_t most_deadlocks = 64;
}  // namespace

/// Waits for flags at which a chain stands, in the order of the trace.
std::vector<const Schedule::Task*> Schedule::stuck_waits() const {
    std::vector<const Task*> waits;
    for (Chain chain = 0; chain < agents_.size(); ++chain) {
        const Task* task = front(chain);
        if (task != nullptr && at_wait(*task)) {
            waits.push_back(task);
        }
    }
    std::sort(waits.begin(), waits.end(), [](const Task* a, const Task* b) { return a->doing.line < b->doing.line; });
    return waits;
}

bool Schedule::stored_later(const Task& task) const {
    const Deed& wait = task.deeds[task.at];
    if (wait.target >= flags_.size()) {
        return false;
    }
    const auto& lanes = flags_[wait.target].pending;
    return std::any_of(lanes.begin(), lanes.end(), [&](const StoreLane& lane) {
        return std::any_of(lane.stores.begin(), lane.stores.end(),
                           [&](const Store& s) { return wait.satisfied_by(s.value); });
    });
}

/// What must come first before this held call can go on. For a wait for a flag: each call that would meet it.
std::vector<Schedule::Edge> Schedule::blockers(const Task& task) const {
    std::vector<Edge> edges;
    const auto add = [&](Hop::Why why, const Task* to) {
        if (to != nullptr) {
            edges.push_back({to, {why, task.doing, to->doing, {}}});
        }
    };
    const Task* head = front(task.chain);
    if (head != &task) {
        add(agents_[task.chain].host ? Hop::Why::thread : Hop::Why::stream, head);
        return edges;
    }
    if (!task.issued) {
        const Task* issuer = find(task.issuer);
        add(Hop::Why::thread, issuer == nullptr ? nullptr : front(issuer->chain));
    }
    for (const Ref r : task.after) {
        add(Hop::Why::legacy, find(r));
    }
    if (task.act == Act::wait) {
        for (const CellPtr& cell : task.cells) {
            if (cell->clock == nullptr) {
                add(task.doing.what == What::wait ? Hop::Why::event : Hop::Why::sync, find(cell->task));
            }
        }
    }
    if (at_wait(task)) {
        const Deed& wait = task.deeds[task.at];
        if (wait.target < flags_.size()) {
            for (const StoreLane& lane : flags_[wait.target].pending) {
                for (const Store& store : lane.stores) {
                    if (wait.satisfied_by(store.value)) {
                        const bool own = store.task == ref(task);
                        add(own ? Hop::Why::own_step : Hop::Why::flag, find(store.task));
                        edges.back().hop.wait = wait;
                        break;  // the later ones of this chain come after it
                    }
                }
            }
        }
    }
    return edges;
}

/// The shortest way from a wait back to itself; empty when there is none.
std::vector<Hop> Schedule::cycle_through(const Task& task) const {
    std::map<const Task*, std::pair<const Task*, Hop>> from;
    std::deque<const Task*> open{&task};
    while (!open.empty()) {
        const Task* at = open.front();
        open.pop_front();
        for (const Edge& edge : blockers(*at)) {
            if (edge.to == &task) {
                std::vector<Hop> hops{edge.hop};
                for (const Task* back = at; back != &task; back = from[back].first) {
                    hops.push_back(from[back].second);
                }
                std::reverse(hops.begin(), hops.end());
                return hops;
            }
            if (from.emplace(edge.to, std::make_pair(at, edge.hop)).second) {
                open.push_back(edge.to);
            }
        }
    }
    return {};
}

std::vector<Deadlock> Schedule::deadlocks() {
    NoSink silent;
    sink_ = &silent;
    std::vector<Deadlock> found;
    // Knots of the same shape in a loop are one: by flags and chains, not by lines.
    std::set<std::vector<std::uint64_t>> shapes;
    const auto is_new = [&](std::vector<std::uint64_t> shape) { return shapes.insert(std::move(shape)).second; };
    for (std::size_t round = 0; held_ > 0 && round < most_deadlocks; ++round) {
        std::vector<Ref> released;
        for (const Task* task : stuck_waits()) {
            if (stored_later(*task)) {
                continue;
            }
            const Deed& wait = task->deeds[task->at];
            const FlagState& state = flag(wait.target).state;
            Deadlock dead;
            dead.waiter = task->doing;
            dead.wait = wait;
            dead.any_store = state.any();
            dead.highest = state.highest();
            if (const Sent* given = state.last_meeting(wait)) {
                dead.given_line = given->doing.line;
                const Sent* next = state.next(*given);
                dead.replaced_line = next == nullptr ? 0 : next->doing.line;
            }
            released.push_back(ref(*task));
            if (is_new({0, wait.target, wait.begin, task->chain, task->doing.name})) {
                found.push_back(std::move(dead));
            }
        }
        if (released.empty()) {
            for (const Task* task : stuck_waits()) {
                std::vector<Hop> hops = cycle_through(*task);
                if (hops.empty()) {
                    continue;
                }
                std::vector<std::uint64_t> shape;
                for (const Hop& hop : hops) {
                    if (hop.why == Hop::Why::flag || hop.why == Hop::Why::own_step) {
                        shape.push_back(hop.wait.target);
                        shape.push_back(hop.waiter.chain);
                    }
                }
                std::sort(shape.begin(), shape.end());
                shape.insert(shape.begin(), 1);
                if (is_new(std::move(shape))) {
                    Deadlock dead;
                    dead.cycle = true;
                    dead.waiter = task->doing;
                    dead.wait = task->deeds[task->at];
                    dead.hops = std::move(hops);
                    found.push_back(std::move(dead));
                }
                released.push_back(ref(*task));
                break;
            }
        }
        if (released.empty()) {
            break;
        }
        for (const Ref r : released) {
            ++find(r)->at;
        }
        settle_all();
    }
    return found;
}

std::vector<Hop> Schedule::waiting() const {
    NoSink silent;
    Schedule world = hypothetical(&silent);
    world.settle_all();
    std::vector<Hop> hops;
    for (Chain chain = 0; chain < world.agents_.size(); ++chain) {
        const Task* task = world.front(chain);
        if (task == nullptr) {
            continue;
        }
        const std::vector<Edge> edges = world.blockers(*task);
        for (const Edge& edge : edges) {
            hops.push_back(edge.hop);
        }
        if (edges.empty() && at_wait(*task)) {  // nobody stores it
            hops.push_back({Hop::Why::flag, task->doing, {}, task->deeds[task->at]});
        }
    }
    std::sort(hops.begin(), hops.end(), [](const Hop& a, const Hop& b) { return a.waiter.line < b.waiter.line; });
    return hops;
}

}  // namespace peerlane::audit
