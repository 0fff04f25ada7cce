#include <peerlane/mover.hpp>

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/error.hpp>

#include "move/mover_state.hpp"

namespace peerlane {

Mover::Mover(Driver& driver, Ready ready, const MoverOptions& options)
    : state_(std::make_unique<State>(driver, std::move(ready), options)) {}
Mover::Mover(Mover&&) noexcept = default;
Mover& Mover::operator=(Mover&&) noexcept = default;
Mover::~Mover() = default;

const Ready& Mover::ready() const {
    return state_->ready;
}

Choice Mover::choose(Place from, Place to, std::uint64_t bytes) const {
    return state_->choose(from, to, bytes);
}

void Mover::prepare(const Choice& choice) {
    std::lock_guard const lock(state_->mutex);
    move::Executor::prepare(choice, state_->resources);
}

void Mover::carry_out(const Choice& choice, Location to, Location from, StreamView stream) {
    move::Executor::check(choice, from.place, to.place);
    state_->carry_out(choice, to, from, stream);
}

void Mover::copy(void* to, const void* from, std::uint64_t bytes, StreamView stream, const CopyOptions& options) {
    auto& state = *state_;
    if (options.then_set) {
        (void)state.buffers.find(options.then_set->address, 4, "flag");
    }
    if (bytes != 0) {
        auto const target = state.buffers.find(address_of(to), bytes, "destination");
        auto const source = state.buffers.find(address_of(from), bytes, "source");
        state.copy({target.place, address_of(to)}, {source.place, address_of(from)}, target, source, bytes, stream);
    }
    if (options.then_set) {
        state.with_lists(stream, [&](move::ListMover& lists) { lists.set_flag(options, stream); });
    }
}

void Mover::register_buffer(const void* base, std::uint64_t bytes) {
    state_->buffers.add(address_of(base), bytes);
}

void Mover::unregister_buffer(const void* base) {
    state_->buffers.remove(address_of(base));
}

void Mover::check() {
    state_->check();
}

void Mover::synchronize() {
    state_->synchronize();
}

std::vector<Finding> Mover::findings() const {
    std::lock_guard const lock(state_->mutex);
    return state_->findings;
}

std::uint64_t Mover::staging_held(Place place) const {
    std::lock_guard const lock(state_->mutex);
    return state_->resources.staging().held(place);
}

void Mover::copy_pages(const PageCopy& copy, StreamView stream, const ListOptions& options) {
    state_->with_lists(stream, [&](move::ListMover& lists) { lists.pages(copy, stream, options); });
}

void Mover::copy_segments(const SegmentCopy& copy, StreamView stream, const ListOptions& options) {
    state_->with_lists(stream, [&](move::ListMover& lists) { lists.segments(copy, stream, options); });
}

void Mover::copy_strided(const StridedCopy& copy, StreamView stream, const ListOptions& options) {
    state_->with_lists(stream, [&](move::ListMover& lists) { lists.strided(copy, stream, options); });
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
    mover.with_lists(stream, [&](move::ListMover& lists) {
        lists.post(state_->table, dst_index, src_index, count, stream, options);
    });
    Ticket ticket;
    ticket.state_ = std::make_shared<Ticket::State>(mover.driver, stream.device);
    mover.driver.record(ticket.state_->event.view(), stream);
    return ticket;
}

}  // namespace peerlane
