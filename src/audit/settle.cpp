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

constexpr std::size_t most_contested = 8;
constexpr int deepest_hypothesis = 2;
constexpr std::size_t most_misses = 64;  ///< kept for one flag; they are alike

}  // namespace

bool Schedule::at_wait(const Task& task) {
    return task.started && task.act == Act::deeds && task.at < task.deeds.size() &&
           task.deeds[task.at].kind == Step::Kind::wait;
}

/// Marks the first `to` deeds of the task and notes what they need in turn.
void Schedule::need(Task& task, std::size_t to, std::uint64_t mark, std::vector<Need>& stack) const {
    if (task.mark != mark) {
        task.mark = mark;
        task.mark_to = 0;
        if (!task.issued) {
            stack.push_back({task.issuer, whole});
        }
        for (const Ref r : task.after) {
            stack.push_back({r, whole});
        }
        if (task.act == Act::wait) {
            for (const CellPtr& cell : task.cells) {
                if (cell->clock == nullptr) {
                    stack.push_back({cell->task, whole});
                }
            }
        }
    }
    task.mark_to = std::max(task.mark_to, to);
}

/// Marks everything that must come before what is needed; true when that is more than before.
bool Schedule::extend(std::vector<Need> stack, std::uint64_t mark, std::vector<Chain>& agents) {
    bool more = false;
    while (!stack.empty()) {
        const Need next = stack.back();
        stack.pop_back();
        Task* needed = find(next.task);
        if (needed == nullptr || (needed->mark == mark && needed->mark_to >= next.to)) {
            continue;
        }
        more = true;
        Agent& agent = agents_[needed->chain];
        if (agent.mark != mark) {
            agent.mark = mark;
            agent.marked_to = agent.front_place;
            agents.push_back(needed->chain);
        }
        for (agent.marked_to = std::max(agent.marked_to, agent.front_place); agent.marked_to < needed->place;
             ++agent.marked_to) {
            need(*find(agent.queue[agent.marked_to - agent.front_place]), whole, mark, stack);
        }
        need(*needed, next.to, mark, stack);
    }
    return more;
}

/// Marks what stores to the flags for which these chains wait, and what must come before.
bool Schedule::extend_by_stores(const std::vector<Chain>& waiters, std::uint64_t mark, std::vector<Chain>& agents) {
    std::vector<Need> stack;
    for (const Chain chain : waiters) {
        const Task& task = *front(chain);
        for (const StoreLane& lane : flag(task.deeds[task.at].target).pending) {
            if (!lane.stores.empty()) {
                stack.push_back({lane.stores.back().task, lane.stores.back().deed + 1});
            }
        }
    }
    return extend(std::move(stack), mark, agents);
}

std::uint64_t Schedule::mark_all(std::vector<Chain>& agents) {
    const std::uint64_t mark = ++mark_;
    for (Chain chain = 0; chain < agents_.size(); ++chain) {
        if (!idle(chain)) {
            agents.push_back(chain);
            for (const Ref r : agents_[chain].queue) {
                Task& task = *find(r);
                task.mark = mark;
                task.mark_to = whole;
            }
        }
    }
    return mark;
}

void Schedule::settle_for(Ref target) {
    std::vector<Chain> agents;
    const std::uint64_t mark = ++mark_;
    extend({{target, whole}}, mark, agents);
    settle(agents, mark, target);
}

void Schedule::settle_all() {
    std::vector<Chain> agents;
    const std::uint64_t mark = mark_all(agents);
    settle(agents, mark, {});
}

/// Until nothing moves or the target is over: first whatever waits for no flag, then waits whose stores are all known,
/// then waits for which more stores are held, then whatever may store to a flag that nothing gave yet, at last CTAs
/// that wait for CTAs of their own launch.
void Schedule::settle(std::vector<Chain>& agents, std::uint64_t mark, Ref target) {
    const bool all = target.serial == 0;
    std::vector<Chain> contested_waits, unmet;
    while (all || find(target) != nullptr) {
        bool moved = false;
        for (const Chain chain : agents) {
            moved = advance(chain, mark) || moved;
        }
        if (moved) {
            continue;
        }
        contested_waits.clear();
        unmet.clear();
        for (const Chain chain : agents) {
            Task* task = front(chain);
            if (task == nullptr || task->mark != mark || task->at >= task->mark_to || !at_wait(*task) ||
                ref(*task) == held_back_) {
                continue;
            }
            const Deed& wait = task->deeds[task->at];
            const Flag& awaited = flag(wait.target);
            const FlagState::Answer answer = awaited.state.ask(wait, agents_[chain].clock);
            if (!answer.met()) {
                unmet.push_back(chain);
            } else if (contested(*task, answer)) {
                contested_waits.push_back(chain);
            } else {
                meet(*task, answer, awaited.state.may_hide(wait));
                moved = true;
            }
        }
        moved = moved || (!contested_waits.empty() && meet_contested(contested_waits, mark, agents, all));
        moved = moved || extend_by_stores(unmet, mark, agents);
        for (std::size_t i = 0; !moved && i < unmet.size(); ++i) {
            moved = pass_own_wait(*front(unmet[i]));
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
            const bool all = hands_over(task.doing, wait, *sent);
            if (sent == answer.seen.front()) {
                got = all ? *sent->clock : sent->clock->without_order();
            } else {
                got.meet(all ? *sent->clock : sent->clock->without_order());
            }
        }
        join(task.chain, got);
    }
    sink_->met(task.doing, wait, answer.seen);
    if (hiding != nullptr) {
        agents_[task.chain].published = true;
        touch(task.chain);
        std::vector<Miss>& misses = flag(wait.target).misses;
        if (misses.size() < most_misses) {
            misses.push_back({task.doing, wait, *hiding, agents_[task.chain].tick});
        }
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
    FlagState& state = flag(wait.target).state;
    Tick seen = 0;
    if (!answer.initial && !state.saw_store(task.chain)) {
        agents_[task.chain].published = true;
        touch(task.chain);
        seen = agents_[task.chain].tick;
    }
    state.learned(task.chain, agents_[task.chain].clock, seen);
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

void Schedule::meet_plainly(Chain chain) {
    Task& task = *front(chain);
    const Deed& wait = task.deeds[task.at];
    const Flag& awaited = flag(wait.target);
    meet(task, awaited.state.ask(wait, agents_[chain].clock), awaited.state.may_hide(wait));
}

/// These waits can be met, and more stores to their flags are held. For each it is tried what can happen without it:
/// all stores made then may be the one it sees. Where that would cost too much, what is needed for the stores happens
/// first.
bool Schedule::meet_contested(const std::vector<Chain>& waiters, std::uint64_t mark, std::vector<Chain>& agents,
                              bool all) {
    if (all && waiters.size() == 1) {
        meet_plainly(waiters.front());  // nothing else can happen without it
        return true;
    }
    const std::size_t cost = waiters.size() * (held_ + 16);
    if (waiters.size() > most_contested || cost > *credit_ || depth_ >= deepest_hypothesis) {
        if (!extend_by_stores(waiters, mark, agents)) {
            meet_plainly(waiters.front());
        }
        return true;
    }
    *credit_ -= cost;
    NoSink silent;
    std::vector<std::unique_ptr<Schedule>> worlds;
    for (const Chain chain : waiters) {
        worlds.push_back(std::make_unique<Schedule>(hypothetical(&silent)));
        worlds.back()->held_back_ = ref(*front(chain));
        ++worlds.back()->depth_;
        worlds.back()->settle_all();
    }
    for (std::size_t i = 0; i < waiters.size(); ++i) {
        Task& task = *front(waiters[i]);
        const Deed& wait = task.deeds[task.at];
        const FlagState& seen = worlds[i]->flag(wait.target).state;
        meet(task, seen.ask(wait, agents_[waiters[i]].clock), seen.may_hide(wait));
    }
    return true;
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
