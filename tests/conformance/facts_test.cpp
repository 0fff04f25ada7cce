#include <limits>

#include "conformance/fixture.hpp"

namespace peerlane::conformance {

TEST_P(Facts, DevicesAreNumberedFromZeroInTheDriversOrder) {
    auto const& machine = driver().machine();
    ASSERT_GE(devices(), 1);
    for (int device = 0; device < devices(); ++device) {
        EXPECT_EQ(machine.devices[static_cast<std::size_t>(device)].id, device);
    }
}

TEST_P(Facts, EveryOrderedPairOfDevicesIsListedOnce) {
    auto const& machine = driver().machine();
    EXPECT_EQ(machine.pairs.size(), static_cast<std::size_t>(devices()) * static_cast<std::size_t>(devices() - 1));
    for (int accessor = 0; accessor < devices(); ++accessor) {
        for (int owner = 0; owner < devices(); ++owner) {
            EXPECT_EQ(machine.pair(accessor, owner) != nullptr, accessor != owner) << accessor << ":" << owner;
        }
    }
}

TEST_P(Facts, EveryDeviceHasMemoryAndMultiprocessors) {
    for (int device = 0; device < devices(); ++device) {
        auto const facts = can(device);
        EXPECT_GT(facts.memory_bytes, 64 * MiB) << "device " << device;
        EXPECT_GT(facts.multiprocessors, 0) << "device " << device;
        EXPECT_GE(facts.copy_engines, 1) << "device " << device;
        EXPECT_EQ(facts, can(device)) << "capabilities are asked once and stay";
    }
}

TEST_P(Facts, CapabilitiesOfADeviceThatIsNotThereAreRefused) {
    EXPECT_THROW((void)can(devices()), std::invalid_argument);
    EXPECT_THROW((void)can(-1), std::invalid_argument);
}

TEST_P(Facts, TheDescriptionIsOneLine) {
    auto const text = driver().description();
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST_P(Facts, TheMachineOfTheDriverHoldsNoMeasuredRates) {
    for (auto const& pair : driver().machine().pairs) {
        EXPECT_TRUE(pair.measured.empty()) << pair.accessor << ":" << pair.owner;
    }
}

TEST_P(Facts, TheClockNeverRunsBackwardsAndWorkTakesTime) {
    Buffer const from(driver(), host(), MemoryKind::pinned, 4 * MiB), to(driver(), gpu(0), MemoryKind::plain, 4 * MiB);
    auto const stream = witness().stream(0);
    auto last = driver().now();
    for (int round = 0; round < 10; ++round) {
        auto const start = driver().now();
        EXPECT_GE(start, last);
        driver().copy(stream, {to.at(), from.at(), from.bytes()});
        driver().synchronize(stream);
        last = driver().now();
        EXPECT_GT(last, start) << "4 MiB were moved in no time";
    }
}

}  // namespace peerlane::conformance
