/// Execution: what a call does to the clocks when it happens.

#include <algorithm>
#include <utility>

#include "audit/schedule.hpp"

namespace peerlane::audit {

using trace::Step;

/// Starts a new tick when somebody already knows the present one, so that what comes now is not taken for known.
void Schedule::touch(Chain chain) {
    Agent& agent = agents_[chain];
    if (agent.published) {
        agent.published = false;
        agent.clock.set(chain, ++agent.tick);
        ++agent.version;
    }
}

Snapshot Schedule::publish(Chain chain) {
    Agent& agent = agents_[chain];
    agent.published = true;
    if (agent.cached_version != agent.version) {
        if (agent.cached != nullptr && agent.cached.use_count() == 1) {
            *agent.cached = agent.clock;
        } else {
            agent.cached = std::make_shared<Clock>(agent.clock);
        }
        agent.cached_version = agent.version;
    }
    return agent.cached;
}

void Schedule::join(Chain chain, const Clock& clock) {
    Agent& agent = agents_[chain];
    if (agent.clock.join(clock)) {
        ++agent.version;
    }
}

void Schedule::join_chain(Chain chain, Chain with) {
    agents_[with].published = true;
    join(chain, agents_[with].clock);
}

void Schedule::join_issuer(Chain chain, Chain thread) {
    Agent& agent = agents_[chain];
    Agent& issuer = agents_[thread];
    issuer.published = true;
    if (agent.seen_thread != thread || agent.seen_thread_version != issuer.version) {
        join(chain, issuer.clock);
        agent.seen_thread = thread;
        agent.seen_thread_version = issuer.version;
    }
}

void Schedule::join_legacy(Chain chain) {
    Agent& agent = agents_[chain];
    if (agent.group < 0) {
        return;
    }
    Group& group = groups_[static_cast<std::size_t>(agent.group)];
    const auto catch_up = [&](Chain with, std::uint64_t& seen) {
        agents_[with].published = true;
        if (seen != agents_[with].version) {
            join(chain, agents_[with].clock);
            seen = agents_[with].version;
        }
    };
    if (agent.legacy) {
        for (Member& member : group.blocking) {
            catch_up(member.chain, member.seen_version);
        }
    } else if (group.legacy >= 0) {
        catch_up(static_cast<Chain>(group.legacy), agent.seen_legacy_version);
    }
}

void Schedule::perform(const Doing& doing, const Deed& deed, Ref task) {
    touch(doing.chain);
    const Agent& agent = agents_[doing.chain];
    if (deed.kind != Step::Kind::signal) {
        sink_->accessed(doing, deed, agent.tick, agent.clock);
        return;
    }
    Flag& target = flag(deed.target);
    Sent sent;
    sent.chain = doing.chain;
    sent.tick = agent.tick;
    sent.value = deed.begin;
    sent.clock = publish(doing.chain);
    sent.scope = deed.scope;
    sent.order = deed.order;
    sent.doing = doing;
    std::erase_if(target.misses, [&](const Miss& miss) {
        return miss.wait.satisfied_by(sent.value) && sent.clock->caused(miss.doing.chain) < miss.tick &&
               sent.clock->caused(miss.hiding.chain) >= miss.hiding.tick;
    });
    target.state.add(std::move(sent));
    ++stores_;
    if (task.serial != 0) {
        for (StoreLane& lane : target.pending) {
            if (lane.chain == doing.chain && !lane.stores.empty() && lane.stores.front().task == task) {
                lane.stores.pop_front();
                break;
            }
        }
    }
}

/// Remembers that the host blocks while these launches wait: if only what the host does later can meet a wait, it never
/// will.
void Schedule::suspect(const Doing& call, int device) {
    agents_[call.chain].published = true;
    touch(call.chain);
    const auto index = static_cast<std::size_t>(device);
    if (index >= waiting_launches_.size()) {
        return;
    }
    std::vector<Ref>& launches = waiting_launches_[index];
    std::erase_if(launches, [&](Ref r) { return find(r) == nullptr; });
    for (const Ref r : launches) {
        Task& task = *find(r);
        // The first call of a thread says most: what comes after a later one comes after it, too.
        if (std::none_of(task.suspects.begin(), task.suspects.end(),
                         [&](const Suspect& s) { return s.call.chain == call.chain; })) {
            task.suspects.push_back({call, agents_[call.chain].tick});
        }
    }
}

bool Schedule::runnable(const Task& task) const {
    return task.issued &&
           std::all_of(task.after.begin(), task.after.end(), [&](Ref r) { return find(r) == nullptr; }) &&
           (task.act != Act::wait ||
            std::all_of(task.cells.begin(), task.cells.end(), [](const CellPtr& c) { return c->clock != nullptr; }));
}

bool Schedule::advance(Chain chain, std::uint64_t mark) {
    bool moved = false;
    while (Task* task = front(chain)) {
        if (task->mark != mark || !runnable(*task)) {
            break;
        }
        const Ref self = ref(*task);
        moved = run(*task, task->mark_to) || moved;
        if (find(self) != nullptr) {
            break;
        }
    }
    return moved;
}

/// Goes as far as the next wait for a flag, or through the first `to` deeds; true when anything happened. The task is
/// over when it reaches its end.
bool Schedule::run(Task& task, std::size_t to) {
    bool moved = !task.started;
    if (!task.started) {
        task.started = true;
        if (!agents_[task.chain].host) {
            if (task.issue != nullptr) {
                join(task.chain, *task.issue);
            }
            if (task.action) {
                join_legacy(task.chain);
            }
        }
    }
    switch (task.act) {
        case Act::deeds:
            for (; task.at < task.deeds.size(); ++task.at) {
                if (task.at >= to || task.deeds[task.at].kind == Step::Kind::wait) {
                    return moved;
                }
                perform(task.doing, task.deeds[task.at], ref(task));
                moved = true;
            }
            break;
        case Act::record:
            for (const CellPtr& cell : task.cells) {
                cell->clock = publish(task.chain);
            }
            break;
        case Act::wait:
            for (const CellPtr& cell : task.cells) {
                join(task.chain, *cell->clock);
            }
            break;
        case Act::free:
            touch(task.chain);
            sink_->freed(task.doing, task.storage, agents_[task.chain].clock);
            break;
        case Act::issue:
            if (Task* target = find(task.target)) {
                target->issued = true;
                target->issue = publish(task.chain);
            }
            break;
        case Act::blocks:
            suspect(task.doing, task.device);
            break;
    }
    retire(task);
    return true;
}

void Schedule::retire(Task& task) {
    Agent& agent = agents_[task.chain];
    agent.queue.pop_front();
    ++agent.front_place;
    if (agent.host && agent.queue.empty()) {
        --blocked_threads_;
    }
    --held_;
    task.live = false;
    if (!task.deeds.empty()) {
        sink_->finished(task.doing, task.deeds);
    }
    task.deeds.clear();
    task.after.clear();
    task.cells.clear();
    task.suspects.clear();
    task.issue = nullptr;
    free_slots_.push_back(task.slot);
}

/// Lets a blocked thread go on as far as it can; true when it moved.
bool Schedule::drive(Chain thread) {
    bool moved = false;
    while (Task* task = front(thread)) {
        const Ref self = ref(*task);
        if (!at_wait(*task) && runnable(*task)) {
            moved = run(*task, whole) || moved;
            if (find(self) == nullptr) {
                continue;
            }
        }
        settle_for(self);
        if (find(self) != nullptr) {
            break;
        }
        moved = true;
    }
    return moved;
}

void Schedule::drive_blocked() {
    while (blocked_threads_ > 0 && stores_seen_ != stores_) {
        stores_seen_ = stores_;
        for (Chain chain = 0; chain < agents_.size(); ++chain) {
            if (agents_[chain].host && !idle(chain) && drive(chain)) {
                ++stores_;  // what moved may be what another thread waits for
            }
        }
    }
}

}  // namespace peerlane::audit
