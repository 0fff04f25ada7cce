// Kernels at work: each access they make goes through the mapping rules, the faults and the clock.

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <peerlane/message_slot.hpp>

#include "driver/sim/granularity.hpp"
#include "driver/sim/live.hpp"

namespace peerlane::sim {
namespace {

using Kind = MemoryStep::Kind;

bool writes(Kind kind) {
    return kind == Kind::store || kind == Kind::copy || kind == Kind::fill || kind == Kind::fetch_add ||
           kind == Kind::signal || kind == Kind::copies || kind == Kind::compare_swap;
}
bool reads(Kind kind) {
    return kind == Kind::load || kind == Kind::copy || kind == Kind::check || kind == Kind::read ||
           kind == Kind::wait || kind == Kind::fetch || kind == Kind::copies || kind == Kind::watch;
}
bool moves_range(Kind kind) {
    return kind == Kind::copy || kind == Kind::fill || kind == Kind::check || kind == Kind::read ||
           kind == Kind::fetch || kind == Kind::copies;
}

}  // namespace

bool Engine::may_touch(Live& live, const Block* block, Address at, std::uint64_t bytes, bool write) {
    auto const device = live.op.device;
    if (block == nullptr || bytes > block->bytes - (at - block->base)) {
        fail(live, code::illegal_address, true, device,
             block == nullptr || block->place.is_host() ? -1 : block->place.index,
             fmt::format("{} bytes at address {:#x} are not inside an allocation", bytes,
                         static_cast<std::uint64_t>(at)));
        return false;
    }
    if (!memory_.kernel_may(device, live.op.context, *block, write)) {
        auto const owner = block->place.is_device() ? block->place.index : -1;
        fail(live, code::illegal_address, true, device, owner,
             fmt::format("{} memory of {} has no mapping for device {}", to_string(block->kind),
                         to_string(block->place), device));
        return false;
    }
    return true;
}

std::optional<std::uint32_t> Engine::flag_value(Address at) const {
    auto const* const block = memory_.find(at);
    if (block == nullptr || block->bytes - (at - block->base) < 4) {
        return std::nullopt;
    }
    std::uint32_t value = 0;
    block->stored->contents.read(at - block->base, &value, 4);
    return value;
}

bool Engine::flag_met(const WatchedWord& word) const {
    auto const value = flag_value(word.at);
    return value && flag_reached(*value, word.at_least);
}

void Engine::memory_changed(Address at, std::uint64_t bytes) {
    if (watchers_.empty()) {
        return;
    }
    std::vector<OpId> met;
    auto const* const changed = memory_.find(at);
    auto const hits = [&](const WatchedWord& word) {
        auto overlaps = word.at < at + bytes && at < word.at + 4;
        if (auto const* const watched = memory_.find(word.at);
            !overlaps && watched != nullptr && changed != nullptr && watched->stored == changed->stored) {
            auto const offset = word.at - watched->base;  // one maps the memory of the other
            overlaps = offset < at - changed->base + bytes && at - changed->base < offset + 4;
        }
        return overlaps && flag_met(word);
    };
    for (auto const& [op, words] : watchers_) {
        if (std::any_of(words.begin(), words.end(), hits)) {
            met.push_back(op);
        }
    }
    for (auto const op : met) {
        watchers_.erase(op);
        auto& live = *live_.at(op);
        ++live.version;
        schedule(now_ + (live.op.kind == Op::Kind::kernel ? truth_.figures.flag_s : 0.0), op, Event::What::woken);
    }
}

void Engine::step_kernel(Live& live, StepAnswer answer) {
    answer.now_s = now_;
    auto const* const step = live.steps.next(answer);
    if (step == nullptr) {
        if (ended_) {
            ended_({live.id, live.began, 0, live.way.uses, true});
        }
        complete(live);
        return;
    }
    live.step = *step;
    begin_step(live);
}

void Engine::begin_step(Live& live) {
    if (live.stepping) {  // the first time: run to the first access
        live.stepping = false;
        step_kernel(live, {});
        return;
    }
    auto const& step = live.step;
    if (step.bytes == 0) {
        finish_step(live);
        return;
    }
    if (step.kind == Kind::watch) {
        watch_words(live);
        return;
    }
    auto const whole = MemoryPiece{step.to, step.from, step.bytes};
    auto const pieces = step.kind == Kind::copies ? step.pieces : std::span(&whole, 1);
    for (auto const& piece : pieces) {
        if ((writes(step.kind) && !may_touch(live, memory_.find(piece.to), piece.to, piece.bytes, true)) ||
            (reads(step.kind) && !may_touch(live, memory_.find(piece.from), piece.from, piece.bytes, false))) {
            return;
        }
    }
    auto* const to = writes(step.kind) ? memory_.find(pieces.front().to) : nullptr;
    auto* const from = reads(step.kind) ? memory_.find(pieces.front().from) : nullptr;
    live.way = kernel_way(live, step, to, from);
    live.between = {-1, -1};
    if (to != nullptr && to->place.is_device() && to->place.index != live.op.device) {
        live.between = {live.op.device, to->place.index};
    } else if (from != nullptr && from->place.is_device() && from->place.index != live.op.device) {
        live.between = {from->place.index, live.op.device};
    }
    if (!link_up(live)) {
        return;
    }
    auto const* const touched = to != nullptr ? to : from;
    auto const remote = !touched->place.is_device() || touched->place.index != live.op.device;
    if (live.way.fault != nullptr &&
        !passes(live, live.way.fault, live.op.device, touched->place.is_device() ? touched->place.index : -1)) {
        return;
    }
    if (step.kind == Kind::wait) {
        wait_for_flag(live);
        return;
    }
    auto const& figures = truth_.figures;
    live.left_bytes = step.bytes;
    if (!step.pieces.empty()) {
        auto const count = static_cast<double>(step.pieces.size());
        live.left_bytes += static_cast<std::uint64_t>(count * figures.piece_overhead_bytes);
        auto const ctas = live.op.shape.ctas == 0 ? figures.multiprocessors : static_cast<int>(live.op.shape.ctas);
        auto const busy_s = std::max(1e-12, count * figures.piece_s / ctas);
        live.way.cap = std::min(live.way.cap, static_cast<double>(live.left_bytes) / busy_s);
    }
    if (step.kind == Kind::read) {
        auto const ctas = live.op.shape.ctas;  // 0: as many threads as fit
        auto const threads = ctas == 0 ? 1e9 : static_cast<double>(ctas) * live.op.shape.threads;
        auto const cost = granularity(step, remote, threads, figures);
        live.left_bytes = static_cast<std::uint64_t>(cost.moved_bytes);
        live.way.cap = std::min(live.way.cap, cost.most);
    }
    auto fixed = live.way.fixed_s;
    if (!moves_range(step.kind)) {
        fixed += step.kind == Kind::fetch_add                            ? figures.fetch_add_s
                 : step.kind == Kind::signal && touched->place.is_host() ? figures.host_store_s
                 : remote && reads(step.kind)                            ? figures.remote_load_s
                                                                         : figures.local_load_s;
    } else if (remote) {
        fixed += figures.remote_load_s;
    }
    schedule(now_ + fixed, live.id, Event::What::flow_starts);
}

void Engine::wait_for_flag(Live& live) {
    auto const& step = live.step;
    WatchedWord const word{step.from, static_cast<std::uint32_t>(step.value)};
    if (flag_met(word)) {
        step_kernel(live, {*flag_value(step.from), true, {}});
        return;
    }
    watchers_[live.id] = {word};
    ++live.version;
    if (step.budget_s > 0) {
        schedule(now_ + step.budget_s, live.id, Event::What::timeout, live.version);
    }
}

void Engine::watch_words(Live& live) {
    auto const& step = live.step;
    for (auto const& word : step.watched) {
        if (!may_touch(live, memory_.find(word.at), word.at, 4, false)) {
            return;
        }
    }
    auto const one_look = truth_.figures.remote_load_s;
    ++live.version;
    if (std::any_of(step.watched.begin(), step.watched.end(), [&](const auto& word) { return flag_met(word); })) {
        schedule(now_ + one_look, live.id, Event::What::woken);
        return;
    }
    watchers_[live.id] = {step.watched.begin(), step.watched.end()};
    schedule(now_ + std::max(step.budget_s, one_look), live.id, Event::What::timeout, live.version);
}

void Engine::finish_step(Live& live) {
    auto const step = live.step;
    auto const device = live.op.device;
    StepAnswer answer;
    auto* const to = memory_.find(step.to);
    auto* const from = memory_.find(step.from);
    switch (step.kind) {
        case Kind::load: {
            for (auto const& stretch : read_bytes(live.way, *from, step.from, step.bytes)) {
                stretch.content.read(0, reinterpret_cast<unsigned char*>(&answer.value) + stretch.offset,
                                     stretch.bytes);
            }
            break;
        }
        case Kind::store:
        case Kind::signal:
            write_bytes(live.way, *to, step.to, step.bytes, {{0, step.bytes, Content::of(&step.value, step.bytes)}});
            break;
        case Kind::copy:
            move_bytes(live.way, step.to, step.from, step.bytes, device);
            break;
        case Kind::copies:
            for (auto const& piece : step.pieces) {
                move_bytes(live.way, piece.to, piece.from, piece.bytes, device);
            }
            break;
        case Kind::fetch:
            for (auto const& stretch : read_bytes(live.way, *from, step.from, step.bytes)) {
                stretch.content.read(0, static_cast<unsigned char*>(step.into) + stretch.offset, stretch.bytes);
            }
            break;
        case Kind::fill:
            write_bytes(live.way, *to, step.to, step.bytes, {{0, step.bytes, Content::of(step.pattern)}});
            break;
        case Kind::check: {
            // A check reads; a fault on reading is a fault on what it sees.
            Extents seen(step.bytes, {});
            Block view;
            view.bytes = step.bytes;
            view.place = gpu(device);
            view.stored = std::make_shared<Stored>(std::move(seen));
            auto what = read_bytes(live.way, *from, step.from, step.bytes);
            if (step.bytes != 0) {
                auto way = live.way;
                way.mirror_accessor = -1;
                view.stored->contents.write(0, step.bytes, Content::of(step.poison));
                if (way.fault != nullptr) {
                    write_bytes(way, view, Address::null, step.bytes, std::move(what));
                } else {
                    view.stored->contents.write(0, what);
                }
            }
            answer.check = view.stored->contents.check(0, step.bytes, step.pattern, step.poison);
            break;
        }
        case Kind::fetch_add: {
            // What it finds is what it sees there, its own adds among it even where the owner never gets them.
            auto seen = live.way;
            seen.fault = nullptr;
            seen.write = false;
            std::uint32_t value = 0;
            for (auto const& stretch : read_bytes(seen, *to, step.to, 4)) {
                stretch.content.read(0, reinterpret_cast<unsigned char*>(&value) + stretch.offset, stretch.bytes);
            }
            answer.value = value;
            auto const sum = static_cast<std::uint32_t>(value + step.value);
            write_bytes(live.way, *to, step.to, 4, {{0, 4, Content::of(&sum, 4)}});
            break;
        }
        case Kind::compare_swap: {
            answer.value = flag_value(step.to).value_or(0);
            if (answer.value == step.expected) {
                write_bytes(live.way, *to, step.to, 4, {{0, 4, Content::of(&step.value, 4)}});
            }
            break;
        }
        case Kind::watch: {
            auto const met = std::find_if(step.watched.begin(), step.watched.end(),
                                          [&](const auto& word) { return flag_met(word); });
            answer.met = met != step.watched.end();
            answer.value = static_cast<std::uint64_t>(met - step.watched.begin());
            if (answer.met) {
                auto const begin = Address{static_cast<std::uint64_t>(met->at) + 4 - step.bytes};
                auto* const block = memory_.find(begin);
                if (!may_touch(live, block, begin, step.bytes, false)) {
                    return;
                }
                block->stored->contents.read(begin - block->base, step.into, step.bytes);
            }
            break;
        }
        case Kind::read:
            break;
        case Kind::wait:
            answer.value = flag_value(step.from).value_or(0);
            break;
    }
    step_kernel(live, answer);
}

}  // namespace peerlane::sim
