#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "move/transfer_state.hpp"

namespace peerlane {
namespace {

using move::Range;

constexpr std::uint64_t least_chunk = 512 * KiB;
/// Chunks that each way has before it at least: what is left is cut so that all end together.
constexpr double chunks_left = 3;
/// Where nothing else bounds a wait: then other ways are looked at, and the limit.
constexpr double look_again_s = 500e-6;
constexpr double longest_farewell_s = 30;

bool same_link(const Leg& a, const Leg& b) {
    return (a.from == b.from && a.to == b.to) || (a.from == b.to && a.to == b.from);
}

}  // namespace

const char* to_string(TransferProgress::State state) {
    switch (state) {
        case TransferProgress::State::running:
            return "running";
        case TransferProgress::State::done:
            return "done";
        case TransferProgress::State::cancelled:
            return "cancelled";
        case TransferProgress::State::late:
            return "late";
        case TransferProgress::State::failed:
            return "failed";
    }
    return "";
}

Transfer::State::State(Mover::State& mover, Location to, Location from, std::uint64_t bytes, const Choice& choice,
                       const TransferOptions& options)
    : mover_(mover),
      to_(to),
      from_(from),
      total_(bytes),
      limit_(options.seconds_limit),
      start_s_(mover.driver.now()),
      predicted_rate_(choice.predicted_gbs * 1e9) {
    std::lock_guard const lock(mover_.mutex);
    if (options.after) {
        begin_.emplace(mover_.driver, options.after->device);
        mover_.driver.record(begin_->view(), *options.after);
    }
    for (auto const& rejected : choice.rejected) {  // what may be used at all, the fastest first
        if (rejected.predicted_s && rejected.routes.size() == 1) {
            spares_.push_back(rejected.routes.front());
        }
    }
    for (auto const& route : choice.routes) {
        open(route);
    }
    if (ways_.empty()) {
        open_spares();
    }
}

Transfer::State::~State() {
    try {
        cancel_asked = true;
        // Memory of the caller and of the rings is in use until then. What hangs keeps its rings.
        auto const patience = mover_.driver.now() + longest_farewell_s;
        while (!nothing_under_way() && mover_.driver.now() < patience) {
            wait_for_one(look_again_s);
            take_in();
        }
        std::lock_guard const lock(mover_.mutex);
        for (auto const& way : ways_) {
            if (way->idle()) {
                way->give_back(mover_.resources);
            }
        }
    } catch (const std::exception&) {
        // The devices are gone; nothing is under way.
    }
}

/// The mover's lock is held.
void Transfer::State::open(const Route& route) {
    auto way = std::make_unique<move::DrivenWay>(mover_.driver, mover_.resources, route);
    if (!way->usable()) {
        return;
    }
    mover_.open_ends(route.legs, to_, from_);
    if (begin_) {
        way->after(begin_->view());
    }
    planned_gbs_.push_back(std::max(route.share, 0.01) * std::max(predicted_rate_, 1e9));
    ways_.push_back(std::move(way));
    told_.push_back(false);
}

/// Ways that have nothing to do with what failed; the driver's own copy when there is none. The mover's lock is held.
void Transfer::State::open_spares() {
    auto const good = [&](const Route& route) {
        return std::none_of(route.legs.begin(), route.legs.end(), [&](const Leg& leg) {
            return std::any_of(bad_legs_.begin(), bad_legs_.end(), [&](const Leg& bad) { return same_link(leg, bad); });
        });
    };
    for (auto const& route : std::exchange(spares_, {})) {
        if (good(route)) {
            open(route);
            return;
        }
    }
}

bool Transfer::State::nothing_under_way() const {
    return std::all_of(ways_.begin(), ways_.end(), [](const auto& way) { return way->idle(); });
}

void Transfer::State::take_in() {
    for (std::size_t i = 0; i < ways_.size(); ++i) {
        auto& way = *ways_[i];
        arrived_ += way.reap();
        if (!way.failed()) {
            continue;
        }
        if (!told_[i]) {
            told_[i] = true;
            auto const& failure = *way.failure();
            bad_legs_.push_back(failure.leg);
            findings_.push_back({"route-failed",
                                 Finding::Severity::error,
                                 {},
                                 {fmt::format("{} of {}: code {}, {}", describe(failure.leg), describe(way.route()),
                                              failure.error.code, failure.error.cure)},
                                 "its chunks went other ways; see peerlane doctor"});
        }
        if (auto ranges = way.lost()) {
            again_.insert(again_.end(), ranges->begin(), ranges->end());
        }
    }
    auto const alive =
        std::any_of(ways_.begin(), ways_.end(), [](const auto& way) { return way->usable() && !way->failed(); });
    if (!alive && state_ == TransferProgress::State::running && arrived_ != total_ && nothing_under_way()) {
        std::lock_guard const lock(mover_.mutex);
        open_spares();
    }
}

std::optional<Range> Transfer::State::next_range(const move::DrivenWay& way) {
    if (!again_.empty()) {
        auto range = again_.front();
        again_.pop_front();
        if (range.bytes > way.most_chunk()) {
            again_.push_front({range.begin + way.most_chunk(), range.bytes - way.most_chunk()});
            range.bytes = way.most_chunk();
        }
        return range;
    }
    if (given_ == total_) {
        return std::nullopt;
    }
    double all = 0, mine = 0;
    for (std::size_t i = 0; i < ways_.size(); ++i) {
        auto const& one = *ways_[i];
        if (one.usable() && !one.failed()) {
            auto const rate = one.rate() > 0 ? one.rate() : planned_gbs_[i];
            all += rate;
            mine = &one == &way ? rate : mine;
        }
    }
    auto const left = total_ - given_;
    auto const fair = static_cast<double>(left) * mine / all / chunks_left;
    auto const bytes = std::clamp(static_cast<std::uint64_t>(fair) / move::granule * move::granule,
                                  std::min(least_chunk, way.most_chunk()), way.most_chunk());
    Range const range{given_, std::min(bytes, left)};
    given_ += range.bytes;
    return range;
}

void Transfer::State::hand_out() {
    for (auto any = true; any;) {
        any = false;
        for (auto const& way : ways_) {
            if (way->has_room()) {
                if (auto const range = next_range(*way)) {
                    way->submit(*range, to_, from_);
                    any = true;
                }
            }
        }
    }
}

void Transfer::State::wait_for_one(double seconds) {
    // Of the quickest way: its chunk is the next to end. One that failed is waited for like the others.
    move::DrivenWay* first = nullptr;
    for (auto const& way : ways_) {
        if (!way->idle() && (first == nullptr || way->rate() > first->rate())) {
            first = way.get();
        }
    }
    if (first != nullptr && seconds > 0) {
        static_cast<void>(first->wait(std::min(seconds, look_again_s)));
    }
}

void Transfer::State::conclude() {
    using enum TransferProgress::State;
    if (state_ != running) {
        return;
    }
    auto const quiet = nothing_under_way();
    if (arrived_ == total_) {
        state_ = done;
    } else if (cancel_asked && quiet) {
        state_ = cancelled;
    } else if (limit_ && mover_.driver.now() - start_s_ > *limit_) {
        state_ = late;
    } else if (quiet && std::none_of(ways_.begin(), ways_.end(),
                                     [](const auto& way) { return way->usable() && !way->failed(); })) {
        state_ = failed;
    }
    if (state_ != running) {
        end_s_ = mover_.driver.now();
    }
}

TransferProgress::State Transfer::State::step(double seconds) {
    std::lock_guard const lock(mutex_);
    if (state_ != TransferProgress::State::running) {
        return state_;
    }
    take_in();
    if (!cancel_asked) {
        hand_out();
    }
    conclude();
    if (state_ == TransferProgress::State::running && seconds > 0) {
        auto const left = limit_ ? *limit_ - (mover_.driver.now() - start_s_) : seconds;
        wait_for_one(std::min(seconds, std::max(left, 0.0) + 1e-6));
        take_in();
        conclude();
    }
    return state_;
}

TransferProgress::State Transfer::State::told_step(double seconds) {
    return mover_.told([&] { return step(seconds); });
}

TransferProgress Transfer::State::progress() const {
    std::lock_guard const lock(mutex_);
    TransferProgress progress;
    progress.state = state_;
    progress.bytes = arrived_;
    progress.total = total_;
    progress.seconds = (state_ == TransferProgress::State::running ? mover_.driver.now() : end_s_) - start_s_;
    progress.findings = findings_;
    for (auto const& way : ways_) {
        progress.ways.push_back({way->route(), way->bytes_done(),
                                 way->rate() > 0 ? std::optional(way->rate() / 1e9) : std::nullopt, way->failed()});
    }
    return progress;
}

Transfer::Transfer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Transfer::Transfer(Transfer&&) noexcept = default;
Transfer& Transfer::operator=(Transfer&&) noexcept = default;
Transfer::~Transfer() = default;

TransferProgress::State Transfer::step(double seconds) {
    return state_->told_step(seconds);
}

TransferProgress::State Transfer::wait() {
    for (;;) {
        auto const state = state_->told_step(1.0);
        if (state != TransferProgress::State::running) {
            return state;
        }
    }
}

void Transfer::cancel() {
    state_->cancel_asked = true;
}

TransferProgress Transfer::progress() const {
    return state_->progress();
}

Transfer Mover::transfer(void* to, const void* from, std::uint64_t bytes, const TransferOptions& options) {
    if (bytes == 0) {
        throw std::invalid_argument("transfer: 0 bytes");
    }
    auto const target = state_->buffers.find(address_of(to), bytes, "destination");
    auto const source = state_->buffers.find(address_of(from), bytes, "source");
    if (target.kind == MemoryKind::pageable || source.kind == MemoryKind::pageable) {
        throw std::invalid_argument("transfer: pageable host memory; pin or register it, or copy");
    }
    auto const choice = state_->choose(source.place, target.place, bytes);
    if (choice.routes.empty()) {
        throw std::invalid_argument(fmt::format("transfer: no way from {} to {} may be trusted",
                                                to_string(source.place), to_string(target.place)));
    }
    return Transfer(std::make_unique<Transfer::State>(*state_, Location{target.place, address_of(to)},
                                                      Location{source.place, address_of(from)}, bytes, choice,
                                                      options));
}

}  // namespace peerlane
