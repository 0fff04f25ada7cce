#include <mutex>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/mover.hpp>

#include "move/executor.hpp"

namespace peerlane {

struct Mover::State {
    State(Driver& d, Ready r) : driver(d), ready(std::move(r)), executor(d) {}
    Driver& driver;
    Ready ready;
    std::mutex mutex;  ///< lanes are handed out and submitted to by one thread at a time
    move::Executor executor;
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

}  // namespace peerlane
