#include "audit/schedule.hpp"

#include <algorithm>

namespace peerlane::audit {

using trace::Step;

Chain Schedule::add_thread() {
    const Chain chain = static_cast<Chain>(agents_.size());
    Agent agent;
    agent.host = true;
    agent.clock.set(chain, agent.tick);
    agents_.push_back(std::move(agent));
    return chain;
}

Chain Schedule::add_stream(int device, Id context, trace::StreamKind kind) {
    const Chain chain = static_cast<Chain>(agents_.size());
    Agent agent;
    agent.clock.set(chain, agent.tick);
    if (kind != trace::StreamKind::nonblocking) {
        auto group = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const Group& g) { return g.device == device && g.context == context; });
        if (group == groups_.end()) {
            groups_.push_back({device, context, -1, {}});
            group = groups_.end() - 1;
        }
        agent.group = static_cast<int>(group - groups_.begin());
        agent.legacy = kind == trace::StreamKind::legacy;
        if (agent.legacy) {
            if (group->legacy >= 0) {
                return static_cast<Chain>(group->legacy);  // one device and context have one legacy stream
            }
            group->legacy = chain;
        } else {
            group->blocking.push_back({chain, 0});
        }
    }
    agents_.push_back(std::move(agent));
    return chain;
}

bool Schedule::legacy_idle(Chain chain) const {
    const Agent& agent = agents_[chain];
    if (agent.group < 0) {
        return true;
    }
    const Group& group = groups_[static_cast<std::size_t>(agent.group)];
    if (!agent.legacy) {
        return group.legacy < 0 || idle(static_cast<Chain>(group.legacy));
    }
    return std::all_of(group.blocking.begin(), group.blocking.end(), [&](const Member& m) { return idle(m.chain); });
}

bool Schedule::ready(const Doing& doing) const {
    return idle(doing.thread) && idle(doing.chain) && legacy_idle(doing.chain);
}

Schedule::Task& Schedule::make_task(const Doing& doing, Act act, Chain chain) {
    if (free_slots_.empty()) {
        free_slots_.push_back(static_cast<std::uint32_t>(tasks_.size()));
        tasks_.emplace_back().slot = free_slots_.back();
    }
    Task& task = tasks_[free_slots_.back()];
    free_slots_.pop_back();
    task.serial = task.serial + 1 == 0 ? 1 : task.serial + 1;
    task.live = true;
    task.started = false;
    task.action = true;
    task.waits = false;
    task.act = act;
    task.chain = chain;
    task.mark = 0;
    task.mark_to = 0;
    task.at = 0;
    task.doing = doing;
    task.issuer = {};
    task.target = {};
    Agent& agent = agents_[chain];
    task.issued = agent.host;
    if (agent.host && agent.queue.empty()) {
        ++blocked_threads_;
    }
    task.place = agent.next_place++;
    agent.queue.push_back(ref(task));
    ++held_;
    return task;
}

/// Says when the task of a stream is issued, and what it follows by the legacy stream's rule.
void Schedule::issue_from_thread(Task& task) {
    const Chain thread = task.doing.thread;
    if (idle(thread)) {
        task.issued = true;
        task.issue = publish(thread);
    } else {
        Task& issuer = make_task(task.doing, Act::issue, thread);
        issuer.target = ref(task);
        task.issuer = ref(issuer);
    }
    const Agent& agent = agents_[task.chain];
    if (agent.group < 0 || !task.action) {
        return;
    }
    const Group& group = groups_[static_cast<std::size_t>(agent.group)];
    const auto follow = [&](Chain chain) {
        if (!idle(chain)) {
            task.after.push_back(agents_[chain].queue.back());
        }
    };
    if (agent.legacy) {
        for (const Member& member : group.blocking) {
            follow(member.chain);
        }
    } else if (group.legacy >= 0) {
        follow(static_cast<Chain>(group.legacy));
    }
}

void Schedule::hold_deeds(Task& task, std::span<const Deed> deeds) {
    task.deeds.assign(deeds.begin(), deeds.end());
    sink_->held(task.doing, deeds);
    for (std::size_t i = 0; i < deeds.size(); ++i) {
        const Deed& deed = deeds[i];
        if (deed.kind == Step::Kind::wait) {
            task.waits = true;
        } else if (deed.kind == Step::Kind::signal) {
            auto& lanes = flag(deed.target).pending;
            auto lane =
                std::find_if(lanes.begin(), lanes.end(), [&](const StoreLane& l) { return l.chain == task.chain; });
            if (lane == lanes.end()) {
                lanes.push_back({task.chain, true, {}});
                lane = lanes.end() - 1;
            }
            lane->rising = lane->stores.empty() || (lane->rising && lane->stores.back().value <= deed.begin);
            lane->stores.push_back({ref(task), deed.begin, i});
            ++stores_;
        }
    }
    if (task.waits && task.doing.what == What::launch) {
        const auto device = static_cast<std::size_t>(task.doing.device);
        if (device >= waiting_launches_.size()) {
            waiting_launches_.resize(device + 1);
        }
        std::vector<Ref>& launches = waiting_launches_[device];
        if (launches.size() > 64 + 2 * held_) {
            std::erase_if(launches, [&](Ref r) { return find(r) == nullptr; });
        }
        launches.push_back(ref(task));
    }
}

/// A queue of work that waits for flags decides its oldest waits when it grows beyond what drivers queue.
void Schedule::limit_held() {
    *credit_ = std::min(most_credit, *credit_ + credit_of_a_call);
    if (held_ > held_limit_) {
        settle_all();
        held_limit_ = std::max<std::size_t>(32768, 2 * held_);
    }
}

void Schedule::submit(const Doing& doing, std::span<const Deed> deeds) {
    const bool waits =
        std::any_of(deeds.begin(), deeds.end(), [](const Deed& d) { return d.kind == Step::Kind::wait; });
    if (!waits && ready(doing)) {
        join_issuer(doing.chain, doing.thread);
        join_legacy(doing.chain);
        for (const Deed& deed : deeds) {
            perform(doing, deed, {});
        }
    } else {
        Task& task = make_task(doing, Act::deeds, doing.chain);
        hold_deeds(task, deeds);
        issue_from_thread(task);
        limit_held();
    }
    drive_blocked();
}

void Schedule::submit_free(const Doing& doing, StorageId storage) {
    if (ready(doing)) {
        join_issuer(doing.chain, doing.thread);
        join_legacy(doing.chain);
        touch(doing.chain);
        sink_->freed(doing, storage, agents_[doing.chain].clock);
    } else {
        Task& task = make_task(doing, Act::free, doing.chain);
        task.storage = storage;
        issue_from_thread(task);
    }
    drive_blocked();
}

void Schedule::record(const Doing& doing, Id event) {
    if (event >= events_.size()) {
        events_.resize(event + 1);
    }
    CellPtr& cell = events_[event];
    if (cell == nullptr || cell.use_count() > 1) {
        cell = std::make_shared<Cell>();
    }
    cell->line = doing.line;
    cell->task = {};
    if (ready(doing)) {
        join_issuer(doing.chain, doing.thread);
        join_legacy(doing.chain);
        cell->clock = publish(doing.chain);
    } else {
        cell->clock = nullptr;
        Task& task = make_task(doing, Act::record, doing.chain);
        task.cells.push_back(cell);
        cell->task = ref(task);
        issue_from_thread(task);
        limit_held();
    }
    drive_blocked();
}

void Schedule::wait(const Doing& doing, Id event) {
    const CellPtr cell = event < events_.size() ? events_[event] : nullptr;
    if (cell == nullptr) {
        return;
    }
    if (cell->clock != nullptr && ready(doing)) {
        join_issuer(doing.chain, doing.thread);
        join_legacy(doing.chain);
        join(doing.chain, *cell->clock);
    } else {
        Task& task = make_task(doing, Act::wait, doing.chain);
        task.cells.push_back(cell);
        issue_from_thread(task);
        limit_held();
    }
    drive_blocked();
}

void Schedule::host(const Doing& doing, std::span<const Deed> deeds) {
    const bool waits =
        std::any_of(deeds.begin(), deeds.end(), [](const Deed& d) { return d.kind == Step::Kind::wait; });
    if (!waits && idle(doing.chain)) {
        for (const Deed& deed : deeds) {
            perform(doing, deed, {});
        }
    } else {
        hold_deeds(make_task(doing, Act::deeds, doing.chain), deeds);
        drive(doing.chain);
    }
    drive_blocked();
}

void Schedule::host_free(const Doing& doing, StorageId storage) {
    if (idle(doing.chain)) {
        touch(doing.chain);
        sink_->freed(doing, storage, agents_[doing.chain].clock);
    } else {
        make_task(doing, Act::free, doing.chain).storage = storage;
    }
}

void Schedule::host_wait_for(const Doing& doing, std::vector<CellPtr> cells) {
    make_task(doing, Act::wait, doing.chain).cells = std::move(cells);
    drive(doing.chain);
    drive_blocked();
}

void Schedule::host_wait(const Doing& doing, Id event) {
    const CellPtr cell = event < events_.size() ? events_[event] : nullptr;
    if (cell == nullptr) {
        return;
    }
    if (cell->clock != nullptr && idle(doing.chain)) {
        join(doing.chain, *cell->clock);
    } else {
        host_wait_for(doing, {cell});
    }
}

/// What is in the stream now, as a synchronization waits for it. No action of the stream: nothing follows it there.
Schedule::CellPtr Schedule::stream_end(const Doing& doing, Chain stream) {
    auto cell = std::make_shared<Cell>();
    cell->line = doing.line;
    if (idle(stream)) {
        cell->clock = publish(stream);
        return cell;
    }
    Doing end = doing;
    end.chain = stream;
    Task& task = make_task(end, Act::record, stream);
    task.action = false;
    task.issued = true;  // what others put into the stream does not wait for this thread
    task.cells.push_back(cell);
    cell->task = ref(task);
    return cell;
}

void Schedule::host_sync(const Doing& doing, std::span<const Chain> streams) {
    std::vector<Chain> ends(streams.begin(), streams.end());
    for (const Chain stream : streams) {
        if (agents_[stream].legacy && streams.size() == 1) {  // what it would wait for is waited for
            for (const Member& member : groups_[static_cast<std::size_t>(agents_[stream].group)].blocking) {
                ends.push_back(member.chain);
            }
        }
    }
    if (idle(doing.chain) && std::all_of(ends.begin(), ends.end(), [&](Chain s) { return idle(s); })) {
        for (const Chain stream : ends) {
            join_chain(doing.chain, stream);
        }
        return;
    }
    std::vector<CellPtr> cells;
    for (const Chain stream : ends) {
        cells.push_back(stream_end(doing, stream));
    }
    host_wait_for(doing, std::move(cells));
}

void Schedule::blocks(const Doing& doing, int device) {
    if (idle(doing.chain)) {
        suspect(doing, device);
    } else {
        make_task(doing, Act::blocks, doing.chain).device = device;
    }
}

void Schedule::finish() {
    settle_all();
    drive_blocked();
    for (const Flag& flag : flags_) {
        for (const Miss& miss : flag.misses) {
            sink_->may_miss(miss.doing, miss.wait, miss.hiding);
        }
    }
}

bool Schedule::known_to_all(Chain chain, Tick tick) const {
    return held_ == 0 && std::all_of(agents_.begin(), agents_.end(), [&](const Agent& agent) {
               return !agent.host || agent.clock.ordered(chain) >= tick;
           });
}

}  // namespace peerlane::audit
