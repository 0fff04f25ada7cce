#include "driver/sim/engine.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "driver/sim/live.hpp"

namespace peerlane::sim {
namespace {

/// A number in [-1, 1) that belongs to seed and operation.
double spread(std::uint64_t seed, OpId op) {
    auto mixed = (seed + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL + op * 0x94d049bb133111ebULL;
    mixed = (mixed ^ (mixed >> 31)) * 0xbf58476d1ce4e5b9ULL;
    mixed ^= mixed >> 29;
    return static_cast<double>(mixed >> 11) * 0x1p-52 - 1.0;
}

}  // namespace

Engine::Engine(Truth truth)
    : truth_(std::move(truth)),
      memory_(truth_),
      sharing_(truth_.network.capacity),
      crowd_(truth_),
      lanes_(truth_.machine.devices.size(),
             truth_.effects.engines.value_or(truth_.figures.copy_engines + Lanes::beyond_attribute)),
      busy_engines_(truth_.machine.devices.size()) {}

Engine::~Engine() = default;

OpId Engine::submit(Op op, const std::vector<OpId>& after, double arrival) {
    if (fault_) {
        return 0;
    }
    auto const id = next_++;
    auto live = std::make_unique<Live>();
    live->id = id;
    live->arrival = std::max(arrival, now_);
    live->op = std::move(op);
    if (live->op.stream != 0) {
        ++queued_[live->op.stream];
    }
    for (auto const before : after) {
        if (auto const found = live_.find(before); found != live_.end()) {
            found->second->next.push_back(id);
            ++live->waits_for;
        }
    }
    auto& placed = *live_.emplace(id, std::move(live)).first->second;
    if (placed.waits_for == 0) {
        schedule(placed.arrival, id, Event::What::ready);
    }
    return id;
}

double Engine::done_at(OpId op) const {
    auto const found = remembered_.find(op);
    return found == remembered_.end() ? 0 : found->second;
}

std::size_t Engine::queued(std::uint64_t stream) const {
    auto const found = queued_.find(stream);
    return found == queued_.end() ? 0 : found->second;
}

std::optional<Error::Info> Engine::take_error(std::uint64_t stream) {
    auto const found = stream_errors_.find(stream);
    if (found == stream_errors_.end()) {
        return std::nullopt;
    }
    auto error = std::move(found->second);
    stream_errors_.erase(found);
    return error;
}

void Engine::schedule(double time, OpId op, Event::What what, std::uint64_t version) {
    events_.push({std::max(time, now_), order_++, op, version, what});
}

bool Engine::advance(const std::function<bool()>& met, double limit) {
    while (!met()) {
        if (events_.empty()) {
            if (std::isfinite(limit)) {
                now_ = std::max(now_, limit);
            }
            return false;
        }
        if (events_.top().time > limit) {
            now_ = std::max(now_, limit);
            return met();
        }
        auto const event = events_.top();
        events_.pop();
        now_ = std::max(now_, event.time);
        handle(event);
        resolve_flows();
    }
    return true;
}

void Engine::handle(const Event& event) {
    auto const found = live_.find(event.op);
    if (found == live_.end()) {
        return;
    }
    auto& live = *found->second;
    switch (event.what) {
        case Event::What::ready:
            ready(live);
            break;
        case Event::What::granted:
            live.has_engine = true;
            begin(live);
            break;
        case Event::What::flow_starts:
            start_flow(live);
            break;
        case Event::What::flow_ends:
            if (!live.flowing || event.version != live.version) {
                return;
            }
            stop_flow(live);
            if (live.op.kind == Op::Kind::kernel) {
                if (ended_) {
                    ended_({live.id, live.began, live.left_bytes, live.way.uses, false});
                }
                finish_step(live);
                return;
            }
            if (ended_) {
                ended_({live.id, live.began, live.left_bytes, live.way.uses});
            }
            if (live.op.kind == Op::Kind::copy) {
                move_bytes(live.way, live.op.copy.to.address, live.op.copy.from.address, live.op.copy.bytes,
                           live.op.device);
            } else {
                auto& block = *memory_.find(live.op.copy.to.address);
                write_bytes(live.way, block, live.op.copy.to.address, live.op.copy.bytes,
                            {{0, live.op.copy.bytes, Content::repeat(live.op.fill_value)}});
            }
            complete(live);
            break;
        case Event::What::step:
            begin_step(live);
            break;
        case Event::What::woken:
            if (live.op.kind == Op::Kind::kernel) {
                finish_step(live);
            } else {
                complete(live);
            }
            break;
        case Event::What::timeout:
            if (event.version == live.version && watchers_.erase(live.id) != 0) {
                step_kernel(live, {flag_value(live.step.from).value_or(0), false, {}});
            }
            break;
        case Event::What::cut:
            cut_off(live);
            break;
    }
}

void Engine::ready(Live& live) {
    if (live.op.kind == Op::Kind::copy && live.op.copy.bytes != 0) {
        if (!lanes_.join(live.id, live.op.device, lanes_of(live.op))) {
            return;
        }
        live.has_engine = true;
    }
    begin(live);
}

void Engine::begin(Live& live) {
    auto& op = live.op;
    switch (op.kind) {
        case Op::Kind::marker:
            complete(live);
            break;
        case Op::Kind::write_value: {
            auto* const block = memory_.find(op.at);
            if (may_touch(live, block, op.at, 4, true)) {
                block->stored->contents.write(op.at - block->base, 4, Content::of(&op.value, 4));
                memory_changed(op.at, 4);
                complete(live);
            }
            break;
        }
        case Op::Kind::wait_value:
            if (flag_met({op.at, op.value})) {
                complete(live);
            } else {
                watchers_[live.id] = {WatchedWord{op.at, op.value}};
            }
            break;
        case Op::Kind::fill: {
            auto* const block = memory_.find(op.copy.to.address);
            if (!may_touch(live, block, op.copy.to.address, op.copy.bytes, true)) {
                break;
            }
            live.way = kernel_way(live, step::fill(op.copy.to.address, op.copy.bytes, {}), block, nullptr);
            live.way.fixed_s = truth_.figures.local_fixed_s;
            live.left_bytes = op.copy.bytes;
            schedule(now_ + live.way.fixed_s, live.id, Event::What::flow_starts);
            break;
        }
        case Op::Kind::copy:
            begin_copy(live);
            break;
        case Op::Kind::kernel:
            live.steps = op.kernel->meaning(op.arguments.data());
            live.stepping = true;
            schedule(now_ + truth_.figures.kernel_fixed_s, live.id, Event::What::step);
            break;
    }
}

void Engine::begin_copy(Live& live) {
    auto const& copy = live.op.copy;
    if (copy.bytes == 0) {
        complete(live);
        return;
    }
    auto* const to = memory_.find(copy.to.address);
    auto* const from = memory_.find(copy.from.address);
    if (to == nullptr || from == nullptr) {
        fail(live, code::illegal_address, true, live.op.device, -1,
             "a copy was still queued when its memory was freed");
        return;
    }
    live.way = copy_way(live, *to, *from);
    if (!live.way.uses.empty() && goes_direct(*to, *from)) {
        live.between = {from->place.index, to->place.index};
    }
    if (!link_up(live) || !host_path_works(live, *to, *from)) {
        return;
    }
    if (live.way.fault != nullptr && !passes(live, live.way.fault, live.way.mirror_accessor, -1)) {
        return;
    }
    live.left_bytes = copy.bytes;
    if (live.op.batched) {
        live.way.fixed_s = std::min(live.way.fixed_s, truth_.figures.batch_fixed_s);
    }
    schedule(now_ + live.way.fixed_s, live.id, Event::What::flow_starts);
}

void Engine::start_flow(Live& live) {
    auto const& effects = truth_.effects;
    live.left = static_cast<double>(live.left_bytes) * (1.0 + effects.jitter * spread(truth_.seed, live.id));
    live.began = now_;
    live.since = now_;
    live.rate = 0;
    // Engines of one device that are not served alike: the one that starts beside a busy one gets less.
    auto& busy = busy_engines_[static_cast<std::size_t>(live.op.device)];
    auto const unfair = live.has_engine && busy > 0 ? 1.0 - effects.arbitration : 1.0;
    busy += live.has_engine ? 1 : 0;
    live.flow = sharing_.add(live.way.uses, unfair * live.way.share, live.way.cap);
    crowd_.start(live.way.uses, live.way.peer, sharing_);
    live.flowing = true;
    ++live.version;
    flow_owner_[live.flow] = live.id;
    flows_changed_ = true;
}

void Engine::stop_flow(Live& live) {
    live.flowing = false;
    sharing_.remove(live.flow);
    crowd_.end(live.way.uses, live.way.peer, sharing_);
    flow_owner_.erase(live.flow);
    busy_engines_[static_cast<std::size_t>(live.op.device)] -= live.has_engine ? 1 : 0;
    flows_changed_ = true;
}

void Engine::resolve_flows() {
    if (!flows_changed_) {
        return;
    }
    // Several changes at one moment are solved once.
    if (!events_.empty() && events_.top().time == now_ &&
        (events_.top().what == Event::What::flow_starts || events_.top().what == Event::What::flow_ends)) {
        return;
    }
    flows_changed_ = false;
    limit_together();
    for (auto const flow : sharing_.solve()) {
        auto const owner = flow_owner_.find(flow);
        if (owner == flow_owner_.end()) {
            continue;
        }
        auto& live = *live_.at(owner->second);
        live.left = std::max(0.0, live.left - live.rate * (now_ - live.since));
        live.since = now_;
        live.rate = sharing_.rate(flow);
        ++live.version;
        if (live.rate > 0) {
            schedule(now_ + live.left / live.rate, live.id, Event::What::flow_ends, live.version);
        }
    }
    if (shared_) {
        shared_();
    }
}

void Engine::complete(Live& live) {
    auto const id = live.id;
    auto const device = live.op.device;
    auto const next = std::move(live.next);
    if (live.has_engine) {
        granted_.clear();
        lanes_.leave(id, granted_);
        for (auto const granted : granted_) {
            schedule(now_, granted, Event::What::granted);
        }
    }
    if (auto const kept = remembered_.find(id); kept != remembered_.end()) {
        kept->second = now_;
    }
    if (live.op.stream != 0) {
        --queued_[live.op.stream];
    }
    live_.erase(id);
    for (auto const waiting : next) {
        auto const found = live_.find(waiting);
        if (found == live_.end() || --found->second->waits_for != 0) {
            continue;
        }
        auto& later = *found->second;
        auto const travel = later.op.device != device ? truth_.figures.event_latency_s : 0.0;
        schedule(std::max(later.arrival, now_ + travel), waiting, Event::What::ready);
    }
}

void Engine::fail(Live& live, int code, bool sticky, int accessor, int owner, const std::string& cure) {
    Error::Info info{
        code,     live.op.kind == Op::Kind::kernel ? fmt::format("kernel {}", live.op.kernel->name) : "copy",
        accessor, owner,
        cure,     sticky};
    if (sticky) {
        // As observed: every device of the process answers so, for every later call. Nothing queued will ever run.
        fault_ = std::move(info);
        for (auto const& [flow, op] : flow_owner_) {
            sharing_.remove(flow);
        }
        flow_owner_.clear();
        crowd_.clear(sharing_);
        std::fill(busy_engines_.begin(), busy_engines_.end(), 0);
        live_.clear();
        lanes_.clear();
        watchers_.clear();
        queued_.clear();
        events_ = {};
        return;
    }
    stream_errors_.emplace(live.op.stream, std::move(info));
    live.stepping = false;
    complete(live);
}

bool Engine::passes(Live& live, const Fault* fault, int accessor, int owner) {
    switch (fault->effect) {
        case Fault::Effect::error:
            fail(live, static_cast<int>(fault->number), true, accessor, owner,
                 "the simulated machine has this fault: " + to_string(*fault));
            return false;
        case Fault::Effect::no:
            fail(live, code::not_supported, false, accessor, owner,
                 "the simulated machine refuses it: " + to_string(*fault));
            return false;
        case Fault::Effect::hang:
        case Fault::Effect::freeze:
            live.held = true;  // no event will ever end it; its engine stays taken
            return false;
        default:
            return true;
    }
}

}  // namespace peerlane::sim
