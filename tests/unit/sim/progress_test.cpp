// When devices work beside the host: what a program may see between its calls.
#include <vector>

#include <gtest/gtest.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "unit/sim/pair.hpp"

namespace peerlane {
namespace {

using namespace testing_sim;

std::unique_ptr<Driver> open(SimProgress progress, std::uint64_t seed = 1) {
    SimOptions options;
    options.progress = progress;
    options.seed = seed;
    return open_simulated(SimulatedMachine(switched(2)), options);
}

struct Slot {
    explicit Slot(Driver& d)
        : driver(d), pinned(d, {host(), 4096, MemoryKind::pinned}), device(d, {gpu(0), 4096}), stream(d, 0) {}
    void to_device() const {
        driver.copy(stream.view(), {device.location(), pinned.location(), 4096, CopyApi::automatic});
    }
    void write(std::uint64_t seed) const { driver.fill_host(pinned.address(), 4096, {seed, 0}); }
    [[nodiscard]] bool device_holds(std::uint64_t seed) const {
        driver.synchronize(stream.view());
        return look(driver, device, {seed, 0}) == CheckOutcome{};
    }
    Driver& driver;
    Allocation pinned, device;
    Stream stream;
};

// A slot that is written again before the device has read it: a program that does so sees either.
TEST(SimProgress, ASlotThatIsReusedTooEarlyIsReadOldOrNewAsTimeWillHaveIt) {
    auto const read = [](SimProgress progress, std::uint64_t seed) {
        auto const driver = open(progress, seed);
        Slot const slot(*driver);
        slot.write(1);
        slot.to_device();
        slot.write(2);
        return slot.device_holds(1) ? 1 : slot.device_holds(2) ? 2 : 0;
    };
    EXPECT_EQ(read(SimProgress::when_waited, 1), 2);
    auto old = 0, newer = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        auto const seen = read(SimProgress::host_pauses, seed);
        old += seen == 1 ? 1 : 0;
        newer += seen == 2 ? 1 : 0;
        EXPECT_EQ(seen, read(SimProgress::host_pauses, seed)) << "the same seed";
    }
    EXPECT_GT(old, 0);
    EXPECT_GT(newer, 0);
    EXPECT_EQ(old + newer, 40);
}

TEST(SimProgress, WorkIsDoneWithoutAWaitAsTimePasses) {
    for (auto const progress : {SimProgress::when_waited, SimProgress::as_time_passes}) {
        auto const driver = open(progress);
        Slot const slot(*driver);
        slot.write(1);
        slot.to_device();
        slot.driver.synchronize(slot.stream.view());
        slot.write(2);
        driver->copy(slot.stream.view(), {slot.pinned.location(), slot.device.location(), 4096, CopyApi::automatic});
        for (int i = 0; i < 1000; ++i) {
            (void)driver->can_access(0, 1);  // costs 0.17 us and waits for nothing
        }
        auto const arrived = driver->check_host(slot.pinned.address(), 4096, {1, 0}, {2, 0}) == CheckOutcome{};
        EXPECT_EQ(arrived, progress == SimProgress::as_time_passes);
    }
}

TEST(SimProgress, DeviceTimesAreTheSameWhetherOneWaitsOrNot) {
    auto const run = [](SimProgress progress) {
        auto const driver = open(progress);
        driver->enable_access({0, 1});
        Allocation from(*driver, {gpu(0), 64_MiB}), to(*driver, {gpu(1), 64_MiB});
        Allocation pinned(*driver, {host(), 64_MiB, MemoryKind::pinned});
        Stream first(*driver, 0), second(*driver, 0);
        std::vector<double> seen;
        for (int i = 0; i < 50; ++i) {
            auto const bytes = 64_KiB * static_cast<std::uint64_t>(i + 1);
            driver->copy(first.view(), {to.location(), from.location(), bytes, CopyApi::peer});
            driver->copy(second.view(), {pinned.location(), from.location(), bytes, CopyApi::automatic});
            if (i % 7 == 0) {
                driver->synchronize(first.view());
                seen.push_back(driver->now());
            }
        }
        driver->synchronize_device(0);
        seen.push_back(driver->now());
        return seen;
    };
    auto const waited = run(SimProgress::when_waited);
    auto const passing = run(SimProgress::as_time_passes);
    for (std::size_t i = 0; i < waited.size(); ++i) {
        EXPECT_NEAR(waited[i], passing[i], 1e-9 * waited[i]);
    }
}

// A fault between two calls is told by the next one, as the runtime does.
TEST(SimProgress, AFaultIsToldByTheNextCall) {
    SimOptions options;
    options.progress = SimProgress::as_time_passes;
    options.faults = {parse_fault("push:0:1=error700")};
    auto const driver = open_simulated(SimulatedMachine(switched(2)), options);
    driver->enable_access({0, 1});
    Allocation from(*driver, {gpu(0), 4096}), to(*driver, {gpu(1), 4096});
    Stream stream(*driver, 0);
    driver->copy(stream.view(), {to.location(), from.location(), 4096, CopyApi::peer});
    for (int i = 0; i < 100; ++i) {
        (void)driver->can_access(0, 1);
    }
    EXPECT_EQ(driver->last_error(), 700);
    EXPECT_THROW(driver->copy(stream.view(), {to.location(), from.location(), 4096, CopyApi::peer}), Error);
}

}  // namespace
}  // namespace peerlane
