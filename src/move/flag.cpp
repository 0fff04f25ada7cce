#include <peerlane/flag.hpp>

#include <stdexcept>
#include <thread>
#include <vector>

#include <peerlane/message_slot.hpp>

#include "kernels/await.hpp"
#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

constexpr std::uint32_t results = 256;
constexpr double long_wait_s = 200e-6;

}  // namespace

struct FlagWait::State {
    Driver& driver;
    std::shared_ptr<Allocation> results;
    Address result;
    ExpiredWait wait;
    std::uint32_t met, expired;
    std::optional<bool> known{};
};

Flag::Flag(Driver& driver, Place place)
    : driver_(&driver), memory_(driver, {place, 64, place.is_host() ? MemoryKind::pinned : MemoryKind::plain}) {
    if (place.is_host()) {
        set(0);
        return;
    }
    helper_ = Stream(driver, place.index);
    driver.fill(helper_.view(), location(), 0, 64);
    driver.synchronize(helper_.view());
}

void Flag::require_near(StreamView stream) const {
    auto const place = location().place;
    if (place.is_device() && place.index != stream.device) {
        throw std::invalid_argument("flag: a stream waits for flags of its own device or pinned ones");
    }
}

void Flag::require_pinned() const {
    if (!location().place.is_host()) {
        throw std::invalid_argument("flag: the host sets, reads and waits for pinned flags only");
    }
}

void Flag::set(StreamView stream, std::uint32_t value) {
    auto const place = location().place;
    if (place.is_host() || place.index == stream.device) {
        driver_->write_value(stream, memory_.address(), value);
        return;
    }
    Event const reached(*driver_, stream.device);
    driver_->record(reached.view(), stream);
    driver_->wait(helper_.view(), reached.view());
    driver_->write_value(helper_.view(), memory_.address(), value);
    if (driver_->capturing(stream)) {  // a capture ends where it began
        Event const back(*driver_, place.index);
        driver_->record(back.view(), helper_.view());
        driver_->wait(stream, back.view());
    }
}

void Flag::wait(StreamView stream, std::uint32_t at_least) {
    require_near(stream);
    driver_->wait_value(stream, memory_.address(), at_least);
}

FlagWait Flag::wait(StreamView stream, std::uint32_t at_least, double budget_s) {
    require_near(stream);
    if (!(budget_s >= 0) || budget_s > 3600) {
        throw std::invalid_argument("flag: a budget is 0 to 3600 seconds");
    }
    if (!results_) {
        results_ = std::make_shared<Allocation>(*driver_, AllocationRequest{host(), results * 8, MemoryKind::pinned});
        std::vector<std::uint32_t> const zeros(results * 2);
        driver_->write_host(results_->address(), zeros.data(), zeros.size() * 4);
    }
    auto const number = ++waits_;
    auto const result = results_->address() + std::uint64_t{number % results} * 8;
    FlagWait made;
    made.state_ = std::make_shared<FlagWait::State>(FlagWait::State{
        *driver_, results_, result, ExpiredWait{memory_.address(), at_least, 0, budget_s, stream.device}, 2 * number,
        2 * number + 1});
    AwaitArguments const arguments{memory_.address(), result, at_least, 2 * number, 2 * number + 1, budget_s};
    driver_->launch(stream, await_kernel, &arguments, {1, 1});
    return made;
}

std::optional<bool> FlagWait::met() const {
    if (!state_) {
        return std::nullopt;
    }
    auto& state = *state_;
    if (!state.known) {
        auto const seen = state.driver.poll(state.result);
        if (seen == state.met) {
            state.known = true;
        } else if (seen == state.expired) {
            state.known = false;
            state.wait.seen = state.driver.poll(state.result + 4);
            state.driver.expired(state.wait);
        }
    }
    return state.known;
}

void Flag::set(std::uint32_t value) {
    require_pinned();
    driver_->write_host(memory_.address(), &value, sizeof value);
}

std::uint32_t Flag::read() const {
    require_pinned();
    return driver_->poll(memory_.address());
}

bool Flag::wait(std::uint32_t at_least, double budget_s) const {
    auto const start = driver_->now();
    for (;;) {
        auto const seen = read();
        if (flag_reached(seen, at_least)) {
            return true;
        }
        auto const waited = driver_->now() - start;
        if (!(waited < budget_s)) {
            driver_->expired({memory_.address(), at_least, seen, waited, -1});
            return false;
        }
        if (waited > long_wait_s) {
            std::this_thread::yield();
        }
    }
}

}  // namespace peerlane
