/// Deciding waits: what a host call needs is made to happen, everything else first, so that all stores a wait could
/// have seen are known when it is met.

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "audit/schedule.hpp"

namespace peerlane::audit {

using trace::Scope;
using trace::Step;

namespace {

/// What a wait takes over from a store that met it. A store of another device with too narrow a scope is a finding of
/// its own; to find the missing order once more as a race would name one cause twice, so it counts as order here.
bool hands_over(const Doing& waiter, const Deed& wait, const Sent& sent) {
    if (!trace::acquires(wait.order) || !trace::releases(sent.order)) {
        return false;
    }
    if (waiter.device != sent.doing.device || waiter.serial == sent.doing.serial) {
        return true;
    }
    return wait.scope >= Scope::device && sent.scope >= Scope::device;
}

constexpr std::size_t most_held_for_hypotheses = 512;
constexpr std::size_t most_contested = 8;
constexpr int deepest_hypothesis = 2;

}  // namespace

bool Schedule::at_wait(const Task& task) {
    return task.started && task.act == Act::deeds && task.at < task.deeds.size() &&
           task.deeds[task.at].kind == Step::Kind::wait;
}

void Schedule::push_needs(const Task& task, std::vector<Ref>& stack) const {
    if (!task.issued) {
        stack.push_back(task.issuer);
    }
    stack.insert(stack.end(), task.after.begin(), task.after.end());
    if (task.act == Act::wait) {
        for (const CellPtr& cell : task.cells) {
            if (cell->clock == nullptr) {
                stack.push_back(cell->task);
            }
        }
    }
    if (!task.waits) {
        return;
    }
    for (std::size_t i = task.at; i < task.deeds.size(); ++i) {
        const Deed& deed = task.deeds[i];
        if (deed.kind == Step::Kind::wait && deed.target < flags_.size()) {
            for (const StoreLane& lane : flags_[deed.target].pending) {
                if (!lane.stores.empty()) {
                    stack.push_back(lane.stores.back().task);
                }
            }
        }
    }
}

/// Marks everything that must, or by a store to an awaited flag may, come before the target is over.
std::uint64_t Schedule::mark_cone(Ref target, std::vector<Chain>& agents) {
    const std::uint64_t mark = ++mark_;
    std::vector<Ref> stack{target};
    while (!stack.empty()) {
        const Task* needed = find(stack.back());
        stack.pop_back();
        if (needed == nullptr || needed->mark == mark) {
            continue;
        }
        Agent& agent = agents_[needed->chain];
        if (agent.mark != mark) {
            agent.mark = mark;
            agent.marked_to = agent.front_place;
            agents.push_back(needed->chain);
        }
        const std::uint64_t last = needed->place;
        for (; agent.marked_to <= last; ++agent.marked_to) {
            Task& task = *find(agent.queue[agent.marked_to - agent.front_place]);
            task.mark = mark;
            push_needs(task, stack);
        }
    }
    return mark;
}

std::uint64_t Schedule::mark_all(std::vector<Chain>& agents) {
    const std::uint64_t mark = ++mark_;
    for (Chain chain = 0; chain < agents_.size(); ++chain) {
        if (!idle(chain)) {
            agents.push_back(chain);
            for (const Ref r : agents_[chain].queue) {
                find(r)->mark = mark;
            }
        }
    }
    return mark;
}

void Schedule::settle_for(Ref target) {
    std::vector<Chain> agents;
    const std::uint64_t mark = mark_cone(target, agents);
    settle(agents, mark, target);
}

void Schedule::settle_all() {
    std::vector<Chain> agents;
    const std::uint64_t mark = mark_all(agents);
    settle(agents, mark, {});
}

/// Until nothing moves or the target is over: first whatever waits for no flag, then waits whose stores are all known,
/// then waits for which more stores are held, at last CTAs that wait for CTAs of their own launch.
void Schedule::settle(const std::vector<Chain>& agents, std::uint64_t mark, Ref target) {
    std::vector<Chain> contested_waits;
    while (target.serial == 0 || find(target) != nullptr) {
        bool moved = false;
        for (const Chain chain : agents) {
            moved = advance(chain, mark) || moved;
        }
        if (moved) {
            continue;
        }
        contested_waits.clear();
        for (const Chain chain : agents) {
            Task* task = front(chain);
            if (task == nullptr || task->mark != mark || !at_wait(*task) || ref(*task) == held_back_) {
                continue;
            }
            const Deed& wait = task->deeds[task->at];
            const Flag& awaited = flag(wait.target);
            const FlagState::Answer answer = awaited.state.ask(wait, agents_[chain].clock);
            if (!answer.met()) {
                continue;
            }
            if (contested(*task, answer)) {
                contested_waits.push_back(chain);
                continue;
            }
            meet(*task, answer, awaited.state.may_hide(wait));
            moved = true;
        }
        if (!moved && !contested_waits.empty()) {
            meet_contested(contested_waits, agents, mark);
            moved = true;
        }
        for (std::size_t i = 0; !moved && i < agents.size(); ++i) {
            Task* task = front(agents[i]);
            moved = task != nullptr && task->mark == mark && at_wait(*task) && !(ref(*task) == held_back_) &&
                    pass_own_wait(*task);
        }
        if (!moved) {
            return;
        }
    }
}

/// True when a store that is still held, and that may happen before the wait, could change what the wait hands over.
bool Schedule::contested(const Task& task, const FlagState::Answer& answer) const {
    const Deed& wait = task.deeds[task.at];
    for (const StoreLane& lane : flags_[wait.target].pending) {
        if (lane.stores.empty() || lane.chain == task.chain) {
            continue;
        }
        const bool follows_one_seen =
            std::any_of(answer.seen.begin(), answer.seen.end(), [&](const Sent* s) { return s->chain == lane.chain; });
        if (!follows_one_seen) {
            return true;
        }
        const auto meets = [&](const Store& s) { return wait.satisfied_by(s.value); };
        const bool all_meet = lane.rising ? meets(lane.stores.front()) && meets(lane.stores.back())
                                          : std::all_of(lane.stores.begin(), lane.stores.end(), meets);
        if (!all_meet) {
            return true;
        }
    }
    return false;
}

/// True when only the launch itself stores what it waits for.
bool Schedule::only_own(const Task& task, const FlagState::Answer& answer) const {
    const Deed& wait = task.deeds[task.at];
    if (answer.initial || std::any_of(answer.seen.begin(), answer.seen.end(),
                                      [&](const Sent* s) { return s->doing.serial != task.doing.serial; })) {
        return false;
    }
    for (const StoreLane& lane : flags_[wait.target].pending) {
        for (const Store& store : lane.stores) {
            if (!(store.task == ref(task)) && wait.satisfied_by(store.value)) {
                return false;
            }
        }
    }
    return true;
}

void Schedule::meet(Task& task, const FlagState::Answer& answer, const Sent* hiding) {
    const Deed wait = task.deeds[task.at];
    if (!answer.initial) {  // what met the wait may be the initial value, which hands over nothing
        Clock got;
        for (const Sent* sent : answer.seen) {
            const bool whole = hands_over(task.doing, wait, *sent);
            if (sent == answer.seen.front()) {
                got = whole ? *sent->clock : sent->clock->without_order();
            } else {
                got.meet(whole ? *sent->clock : sent->clock->without_order());
            }
        }
        join(task.chain, got);
    }
    sink_->met(task.doing, wait, answer.seen);
    if (hiding != nullptr) {
        sink_->may_miss(task.doing, wait, *hiding);
    }
    for (const Suspect& suspect : task.suspects) {
        const bool only_later =
            !answer.initial && std::all_of(answer.seen.begin(), answer.seen.end(), [&](const Sent* s) {
                return s->clock->caused(suspect.call.chain) >= suspect.tick;
            });
        if (only_later) {
            sink_->behind_spin(suspect.call, task.doing, wait, *answer.seen.front());
        }
    }
    if (task.doing.resident > 0 && task.doing.ctas > task.doing.resident && only_own(task, answer)) {
        sink_->never_fits(task.doing, wait);
    }
    flag(wait.target).state.learned(task.chain, agents_[task.chain].clock);
    ++task.at;
}

Schedule Schedule::hypothetical(Sink* sink) const {
    Schedule world(*this);
    world.sink_ = sink;
    // Records that did not happen yet must not be filled in by a hypothesis.
    std::unordered_map<const Cell*, CellPtr> copies;
    const auto own = [&](CellPtr& cell) {
        if (cell != nullptr && cell->clock == nullptr) {
            CellPtr& copy = copies[cell.get()];
            if (copy == nullptr) {
                copy = std::make_shared<Cell>(*cell);
            }
            cell = copy;
        }
    };
    for (Task& task : world.tasks_) {
        std::for_each(task.cells.begin(), task.cells.end(), own);
    }
    std::for_each(world.events_.begin(), world.events_.end(), own);
    return world;
}

/// Several waits stand, each of which can be met, and each may let others store to the flag of another. For each one it
/// is tried what can happen without it: all stores made then may be the one it sees.
void Schedule::meet_contested(const std::vector<Chain>& waiters, const std::vector<Chain>& agents, std::uint64_t mark) {
    const auto meet_plainly = [&](Chain chain) {
        Task& task = *front(chain);
        const Deed& wait = task.deeds[task.at];
        const Flag& awaited = flag(wait.target);
        meet(task, awaited.state.ask(wait, agents_[chain].clock), awaited.state.may_hide(wait));
    };
    if (waiters.size() == 1 || waiters.size() > most_contested || held_ > most_held_for_hypotheses ||
        depth_ >= deepest_hypothesis) {
        meet_plainly(waiters.front());
        return;
    }
    NoSink silent;
    std::vector<std::unique_ptr<Schedule>> worlds;
    for (const Chain chain : waiters) {
        worlds.push_back(std::make_unique<Schedule>(hypothetical(&silent)));
        Schedule& world = *worlds.back();
        world.held_back_ = ref(*front(chain));
        ++world.depth_;
        world.settle(agents, mark, {});
    }
    for (std::size_t i = 0; i < waiters.size(); ++i) {
        Task& task = *front(waiters[i]);
        const Deed& wait = task.deeds[task.at];
        const FlagState& seen = worlds[i]->flag(wait.target).state;
        meet(task, seen.ask(wait, agents_[waiters[i]].clock), seen.may_hide(wait));
    }
}

/// CTAs that wait for CTAs of the same launch: with the numbers known, a grid that fits goes on, and one that does not
/// is said.
bool Schedule::pass_own_wait(Task& task) {
    const Deed wait = task.deeds[task.at];
    if (task.doing.ctas < 2 || task.doing.resident == 0 || !only_own(task, {})) {
        return false;
    }
    const bool stores_later =
        std::any_of(task.deeds.begin() + static_cast<std::ptrdiff_t>(task.at), task.deeds.end(), [&](const Deed& d) {
            return d.kind == Step::Kind::signal && d.target == wait.target && wait.satisfied_by(d.begin);
        });
    if (!stores_later) {
        return false;
    }
    if (task.doing.ctas > task.doing.resident) {
        sink_->never_fits(task.doing, wait);
    }
    ++task.at;
    return true;
}

}  // namespace peerlane::audit
