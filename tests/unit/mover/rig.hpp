#pragma once
/// Simulated machines with a mover that trusts their claims, and memory whose owner checks it.

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <peerlane/driver/owned.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/named.hpp>
#include <peerlane/units.hpp>

#include "kernels/check.hpp"
#include "kernels/copy.hpp"
#include "kernels/fill.hpp"
#include "kernels/kernel.hpp"

namespace peerlane::testing_mover {

#ifdef PEERLANE_SIM_PROGRESS
inline constexpr SimProgress test_progress = SimProgress::PEERLANE_SIM_PROGRESS;
#else
inline constexpr SimProgress test_progress = SimProgress::when_waited;
#endif

struct Rig {
    explicit Rig(const std::string& machine, const std::vector<std::string>& faults = {},
                 const MoverOptions& options = {}) {
        SimOptions sim;
        sim.progress = test_progress;
        for (auto const& fault : faults) {
            sim.faults.push_back(parse_fault(fault));
        }
        driver = open_simulated(load_machine(machine), sim);
        mover = std::make_unique<Mover>(*driver, Ready{driver->machine(), {}, true}, options);
    }
    std::unique_ptr<Driver> driver;
    std::unique_ptr<Mover> mover;
};

/// Bytes somewhere, of any kind.
class Bytes {
  public:
    Bytes(Driver& driver, Place place, std::uint64_t bytes, MemoryKind kind)
        : driver_(driver),
          registered_(kind == MemoryKind::registered),
          memory_(driver, {place, bytes, registered_ ? MemoryKind::pageable : kind}) {
        if (registered_) {
            driver.register_host(memory_.address(), bytes);
        }
    }
    Bytes(Driver& driver, Place place, std::uint64_t bytes)
        : Bytes(driver, place, bytes, place.is_host() ? MemoryKind::pinned : MemoryKind::plain) {}
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
    ~Bytes() {
        if (registered_) {
            driver_.unregister_host(memory_.address());
        }
    }
    void fill(Pattern pattern) {
        if (place().is_host()) {
            driver_.fill_host(memory_.address(), memory_.bytes(), pattern);
            return;
        }
        Stream stream(driver_, place().index);
        FillArguments const arguments{memory_.address(), memory_.bytes(), pattern, 16};
        driver_.launch(stream.view(), fill_kernel, &arguments);
        driver_.synchronize(stream.view());
    }
    /// Of `bytes` from `offset` on.
    CheckOutcome look(Pattern expected, std::uint64_t offset, std::uint64_t bytes) {
        if (place().is_host()) {
            return driver_.check_host(memory_.address() + offset, bytes, expected, {99, 0});
        }
        Stream stream(driver_, place().index);
        Allocation result(driver_, {host(), sizeof(CheckOutcome), MemoryKind::pinned});
        CheckArguments const arguments{memory_.address() + offset, bytes, expected, {99, 0}, result.address()};
        driver_.launch(stream.view(), check_kernel, &arguments);
        driver_.synchronize(stream.view());
        CheckOutcome outcome;
        driver_.read_host(result.address(), &outcome, sizeof outcome);
        return outcome;
    }
    CheckOutcome look(Pattern expected) { return look(expected, 0, memory_.bytes()); }
    [[nodiscard]] Place place() const { return memory_.location().place; }
    [[nodiscard]] Location at(std::uint64_t offset = 0) const { return memory_.location(offset); }
    [[nodiscard]] void* pointer(std::uint64_t offset = 0) const { return pointer_to(memory_.address() + offset); }
    [[nodiscard]] std::uint64_t bytes() const { return memory_.bytes(); }

  private:
    Driver& driver_;
    bool registered_;
    Allocation memory_;
};

inline Leg push(Place from, Place to) {
    return {from, to, Engine::copy, from};
}
inline Leg pull(Place from, Place to) {
    return {from, to, Engine::copy, to};
}
/// By the device of a leg that begins or ends on the host.
inline Leg leg(Place from, Place to) {
    return {from, to, Engine::copy, from.is_device() ? from : to};
}

inline Choice choice_of(std::uint64_t bytes, std::vector<Route> routes) {
    Choice choice;
    choice.bytes = bytes;
    choice.routes = std::move(routes);
    return choice;
}

/// GB/s of one choice, carried out in a stream of its source (or destination, from the host) and verified.
inline double rate_of(Rig& rig, const Choice& choice, Place from, Place to) {
    rig.mover->prepare(choice);
    Bytes source(*rig.driver, from, choice.bytes), target(*rig.driver, to, choice.bytes);
    source.fill({5, 0});
    Stream stream(*rig.driver, from.is_device() ? from.index : to.index);
    auto const start = rig.driver->now();
    rig.mover->carry_out(choice, target.at(), source.at(), stream.view());
    rig.driver->synchronize(stream.view());
    auto const seconds = rig.driver->now() - start;
    return target.look({5, 0}) == CheckOutcome{} ? static_cast<double>(choice.bytes) / seconds / 1e9 : 0.0;
}

}  // namespace peerlane::testing_mover
