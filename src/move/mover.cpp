#include <mutex>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/mover.hpp>

#include "move/executor.hpp"
#include "move/list_mover.hpp"

namespace peerlane {

struct Mover::State {
    State(Driver& d, Ready r)
        : driver(d), ready(std::move(r)), resources(d), executor(d, resources), lists(d, ready, resources) {}
    Driver& driver;
    Ready ready;
    std::mutex mutex;  ///< lanes are handed out and submitted to by one thread at a time
    move::Resources resources;
    move::Executor executor;
    move::ListMover lists;
};

Mover::Mover(Driver& driver, Ready ready) : state_(std::make_unique<State>(driver, std::move(ready))) {}
Mover::Mover(Mover&&) noexcept = default;
Mover& Mover::operator=(Mover&&) noexcept = default;
Mover::~Mover() = default;

const Ready& Mover::ready() const {
    return state_->ready;
}

Choice Mover::choose(Place from, Place to, std::uint64_t bytes) const {
    return peerlane::choose(state_->ready.machine, from, to, bytes,
                            {RoutePolicy::automatic, &state_->ready.verdicts, state_->ready.trust_claimed});
}

void Mover::prepare(const Choice& choice) {
    std::lock_guard const lock(state_->mutex);
    state_->executor.prepare(choice);
}

void Mover::carry_out(const Choice& choice, Location to, Location from, StreamView stream) {
    move::Executor::check(choice, from.place, to.place);
    std::lock_guard const lock(state_->mutex);
    state_->executor.submit(choice, to, from, stream);
}

void Mover::copy(void* to, const void* from, std::uint64_t bytes, StreamView stream) {
    if (bytes == 0) {
        return;
    }
    auto const place_of = [&](Address at, const char* side) {
        auto const found = state_->driver.provenance(at);
        if (found.bytes == 0 || at - found.base + bytes > found.bytes) {
            throw std::invalid_argument(
                fmt::format("copy: {} bytes at the {} are not inside memory that the driver knows", bytes, side));
        }
        return found.place;
    };
    Location const target{place_of(address_of(to), "destination"), address_of(to)};
    Location const source{place_of(address_of(from), "source"), address_of(from)};
    auto const choice = choose(source.place, target.place, bytes);
    if (choice.routes.empty()) {
        throw std::invalid_argument(fmt::format("copy: {} from {} to {}",
                                                choice.why.empty() ? "no way" : choice.why.front(),
                                                to_string(source.place), to_string(target.place)));
    }
    carry_out(choice, target, source, stream);
}

void Mover::copy_pages(const PageCopy& copy, StreamView stream, const ListOptions& options) {
    std::lock_guard const lock(state_->mutex);
    state_->lists.pages(copy, stream, options);
}

void Mover::copy_segments(const SegmentCopy& copy, StreamView stream, const ListOptions& options) {
    std::lock_guard const lock(state_->mutex);
    state_->lists.segments(copy, stream, options);
}

void Mover::copy_strided(const StridedCopy& copy, StreamView stream, const ListOptions& options) {
    std::lock_guard const lock(state_->mutex);
    state_->lists.strided(copy, stream, options);
}

Choice Mover::choose_pages(Place from, Place to, std::uint64_t bytes, std::uint64_t page_bytes) const {
    return state_->lists.choose(from, to, bytes, page_bytes);
}

std::optional<std::size_t> Mover::first_bad_page(const PageCopy& copy, StreamView stream) {
    std::lock_guard const lock(state_->mutex);
    return state_->lists.first_bad(copy, stream);
}

struct Ticket::State {
    State(Driver& d, int device) : driver(d), event(d, device) {}
    Driver& driver;
    Event event;
};

bool Ticket::done() const {
    return !state_ || state_->driver.query(state_->event.view());
}

void Ticket::wait() const {
    if (state_) {
        state_->driver.synchronize(state_->event.view());
    }
}

struct PreparedPages::State {
    Mover::State& mover;
    move::LayerTable table;
};

PreparedPages::PreparedPages(std::unique_ptr<State> state) : state_(std::move(state)) {}
PreparedPages::PreparedPages(PreparedPages&&) noexcept = default;
PreparedPages& PreparedPages::operator=(PreparedPages&&) noexcept = default;
PreparedPages::~PreparedPages() = default;

PreparedPages Mover::prepare_pages(const LayeredPages& layers) {
    std::lock_guard const lock(state_->mutex);
    return PreparedPages(
        std::make_unique<PreparedPages::State>(PreparedPages::State{*state_, state_->lists.prepare(layers)}));
}

Ticket PreparedPages::post(PageIndices dst_index, PageIndices src_index, std::uint64_t count, StreamView stream,
                           const ListOptions& options) {
    auto& mover = state_->mover;
    std::lock_guard const lock(mover.mutex);
    mover.lists.post(state_->table, dst_index, src_index, count, stream, options);
    Ticket ticket;
    ticket.state_ = std::make_shared<Ticket::State>(mover.driver, stream.device);
    mover.driver.record(ticket.state_->event.view(), stream);
    return ticket;
}

}  // namespace peerlane
