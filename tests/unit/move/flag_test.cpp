/// Flags on the simulator: who sets them, who waits for them, and what a wait that is not met says.

#include <gtest/gtest.h>

#include <peerlane/auditing.hpp>
#include <peerlane/courier.hpp>
#include <peerlane/flag.hpp>
#include <peerlane/units.hpp>

#include "support/list_oracle.hpp"
#include "unit/sim/pair.hpp"

namespace peerlane {
namespace {

using namespace testing_sim;
using testing_lists::proven;

struct Rig {
    std::unique_ptr<Driver> driver = open_switched(2);
    Stream here{*driver, 0}, there{*driver, 1};
    Allocation source{*driver, {gpu(0), 1 * MiB}}, target{*driver, {gpu(1), 1 * MiB}};
    Allocation pinned{*driver, {host(), 64, MemoryKind::pinned}};
    static constexpr Pattern data{7, 0}, poison{99, 0};
    Rig() {
        put(*driver, source, data);
        put(*driver, target, poison);
    }
    void* to() const { return pointer_to(target.address()); }
    const void* from() const { return pointer_to(source.address()); }
    /// What the other device's stream sees behind its wait.
    std::uint64_t first_word() {
        driver->copy(there.view(), {pinned.location(), target.location(), 8, CopyApi::automatic});
        driver->synchronize(there.view());
        std::uint64_t word = 0;
        driver->read_host(pinned.address(), &word, 8);
        return word;
    }
    [[nodiscard]] static std::uint64_t sent() { return pattern_word(data.key, 0); }
};

TEST(Flag, StreamsOfEitherDeviceSetIt) {
    Rig rig;
    Flag flag(*rig.driver, gpu(1));
    for (auto const& setter : {rig.here.view(), rig.there.view()}) {
        static std::uint32_t value = 0;
        ++value;
        Stream waiter(*rig.driver, 1);
        flag.wait(waiter.view(), value);
        EXPECT_FALSE(rig.driver->query(waiter.view()));
        flag.set(setter, value);
        rig.driver->synchronize(waiter.view());
    }
}

TEST(Flag, EveryCopySetsItBehindItsBytes) {
    Rig rig;
    auto const ready = proven(*rig.driver, true, true);
    Mover mover(*rig.driver, ready);
    Courier courier(*rig.driver, ready, 0);
    Flag flag(*rig.driver, gpu(1));
    std::vector<std::function<void(std::uint32_t)>> const ways{
        [&](std::uint32_t v) {
            mover.copy(rig.to(), rig.from(), 1 * MiB, rig.here.view(), {.then_set = flag, .value = v});
        },
        [&](std::uint32_t v) {
            PageCopy const pages{rig.to(), rig.from(), 4096, {}, {}, 256};
            mover.copy_pages(pages, rig.here.view(), {.then_set = flag, .value = v});
        },
        [&](std::uint32_t v) { (void)courier.post(rig.to(), rig.from(), 1 * MiB, {.then_set = flag, .value = v}); },
        [&](std::uint32_t v) {
            (void)courier.post(rig.here.view(), rig.to(), rig.from(), 1 * MiB, {.then_set = flag, .value = v});
        }};
    std::uint32_t value = 0;
    for (auto const& way : ways) {
        put(*rig.driver, rig.target, rig.poison);
        flag.wait(rig.there.view(), ++value);
        way(value);
        EXPECT_EQ(rig.first_word(), rig.sent()) << "way " << value;
    }
    mover.copy(rig.to(), rig.from(), 0, rig.here.view(), {.then_set = flag, .value = ++value});
    flag.wait(rig.there.view(), value);
    rig.driver->synchronize(rig.there.view());
    EXPECT_THROW(mover.copy(rig.to(), rig.from(), 4, rig.here.view(), {.then_set = Location{gpu(1), Address{64}}}),
                 std::invalid_argument);
}

TEST(Flag, AWaitWithABudgetSaysWhetherItWasMet) {
    Rig rig;
    Flag flag(*rig.driver, gpu(1));
    auto const met = flag.wait(rig.there.view(), 3, 1.0);
    EXPECT_EQ(met.met(), std::nullopt);
    flag.set(rig.here.view(), 3);
    rig.driver->synchronize(rig.there.view());
    EXPECT_EQ(met.met(), true);
    auto const start = rig.driver->now();
    auto const missed = flag.wait(rig.there.view(), 4, 100e-6);
    rig.driver->synchronize(rig.there.view());
    EXPECT_LT(rig.driver->now() - start, 150e-6);
    EXPECT_EQ(missed.met(), false);
    EXPECT_EQ(met.met(), true) << "and still";
}

TEST(Flag, TheHostSetsAndWaitsWhereItIsPinned) {
    Rig rig;
    Flag flag(*rig.driver, host());
    flag.wait(rig.there.view(), 2);
    EXPECT_FALSE(rig.driver->query(rig.there.view()));
    flag.set(2U);
    rig.driver->synchronize(rig.there.view());
    flag.set(rig.here.view(), 9);
    EXPECT_TRUE(flag.wait(9, 1e-3));
    EXPECT_EQ(flag.read(), 9U);
    auto const start = rig.driver->now();
    EXPECT_FALSE(flag.wait(10, 50e-6));
    EXPECT_LT(rig.driver->now() - start, 60e-6);
    Flag far(*rig.driver, gpu(0));
    EXPECT_THROW(far.set(1U), std::invalid_argument);
    EXPECT_THROW((void)far.read(), std::invalid_argument);
    EXPECT_THROW(far.wait(rig.there.view(), 1), std::invalid_argument);
    EXPECT_THROW((void)far.wait(rig.here.view(), 1, -1), std::invalid_argument);
}

TEST(Flag, ValuesAreComparedAsClocksAre) {
    Rig rig;
    Flag flag(*rig.driver, host());
    for (auto const& [value, at_least, met] :
         std::vector<std::tuple<std::uint32_t, std::uint32_t, bool>>{{5, 5, true},
                                                                     {5, 6, false},
                                                                     {3, 0xfffffff0U, true},
                                                                     {0xfffffff0U, 3, false},
                                                                     {0x80000004U, 5, true},
                                                                     {0x80000005U, 5, false}}) {
        flag.set(value);
        EXPECT_EQ(flag.wait(at_least, 0), met) << value << " for " << at_least;
        auto const waited = flag.wait(rig.there.view(), at_least, 1e-6);
        rig.driver->synchronize(rig.there.view());
        EXPECT_EQ(waited.met(), met) << value << " for " << at_least;
        if (met) {
            flag.wait(rig.there.view(), at_least);
            rig.driver->synchronize(rig.there.view());
        }
    }
}

TEST(Flag, StagesOfAPipelineTalkWithoutTheHost) {
    Rig rig;
    Mover mover(*rig.driver, proven(*rig.driver, true, true));
    Flag full(*rig.driver, gpu(1)), free(*rig.driver, gpu(0));
    for (std::uint32_t step = 1; step <= 20; ++step) {
        if (step > 1) {
            free.wait(rig.here.view(), step - 1);
        }
        mover.copy(rig.to(), rig.from(), 64 * KiB, rig.here.view(), {.then_set = full, .value = step});
        full.wait(rig.there.view(), step);
        free.set(rig.there.view(), step);
    }
    EXPECT_EQ(rig.first_word(), rig.sent());
    rig.driver->synchronize(rig.here.view());
}

}  // namespace
}  // namespace peerlane
