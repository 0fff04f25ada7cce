#include <algorithm>

#include <gtest/gtest.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "unit/sim/pair.hpp"

namespace peerlane {
namespace {

using namespace testing_sim;

constexpr Pattern sent{1, 0}, poison{99, 0};

/// One copy 0 > 1 issued by `issuer`; what device 1 then holds.
CheckOutcome copied(Driver& driver, std::uint64_t bytes, int issuer = 0) {
    Allocation from(driver, {gpu(0), bytes});
    Allocation to(driver, {gpu(1), bytes});
    put(driver, from, sent);
    put(driver, to, poison);
    Stream stream(driver, issuer);
    driver.copy(stream.view(), {to.location(), from.location(), bytes, CopyApi::peer});
    driver.synchronize(stream.view());
    return look(driver, to, sent, poison);
}

TEST(SimCopies, BytesArriveAndTimePasses) {
    auto const driver = open_switched(2);
    driver->enable_access({0, 1});
    auto const before = driver->now();
    EXPECT_EQ(copied(*driver, 1_GiB), CheckOutcome{});
    EXPECT_GT(driver->now() - before, 1.0 * static_cast<double>(1_GiB) / 478e9);
}

TEST(SimCopies, NothingEnabledIsStagedByTheDriverAndSlower) {
    if (test_progress == SimProgress::host_pauses) {
        GTEST_SKIP() << "a time, and the host pauses";
    }
    auto const rate = [](bool enabled) {
        auto const driver = open_switched(2);
        if (enabled) {
            driver->enable_access({0, 1});
        }
        Allocation from(*driver, {gpu(0), 1_GiB});
        Allocation to(*driver, {gpu(1), 1_GiB});
        Stream stream(*driver, 0);
        auto const before = driver->now();
        driver->copy(stream.view(), {to.location(), from.location(), 1_GiB, CopyApi::peer});
        driver->synchronize(stream.view());
        return static_cast<double>(1_GiB) / (driver->now() - before) / 1e9;
    };
    EXPECT_NEAR(rate(true), 386, 3);    // 478 x 0.808
    EXPECT_NEAR(rate(false), 37.3, 1);  // 63 x 0.592
}

struct FaultCase {
    const char* fault;
    int issuer;
    CheckOutcome seen;
};

TEST(SimCopies, EachFaultOfACopyLeavesWhatItsNameSays) {
    for (auto const& [fault, issuer, kind] :
         {std::tuple{"push:0:1=zero", 0, 'z'}, std::tuple{"push:0:1=stale", 0, 'o'},
          std::tuple{"push:0:1=mirror", 0, 'o'}, std::tuple{"push:0:1=flip", 0, 'f'},
          std::tuple{"push:0:1=offset", 0, 'f'}, std::tuple{"pull:1:0=zero", 1, 'z'},
          std::tuple{"pull:1:0=stale", 1, 'o'}, std::tuple{"pull:1:0=zero", 0, '-'},
          std::tuple{"push:0:1=zero", 1, '-'}, std::tuple{"push:1:0=zero", 0, '-'}}) {
        auto const driver = open_switched(2, {fault});
        driver->enable_access({0, 1});
        driver->enable_access({1, 0});
        auto const seen = copied(*driver, 65536 + 12, issuer);
        SCOPED_TRACE(fmt::format("{} issued by {}", fault, issuer));
        switch (kind) {
            case '-':
                EXPECT_EQ(seen, CheckOutcome{});
                break;
            case 'z':
                EXPECT_EQ(seen.first_bad, 0u);
                EXPECT_EQ(seen.zero, seen.bad);
                EXPECT_GT(seen.bad, 65000u);  // but for the 1 in 256 that are zero by rights
                break;
            case 'o':
                EXPECT_EQ(seen.old, seen.bad);
                break;
            default:
                EXPECT_GT(seen.bad, 65000u);
                EXPECT_LT(seen.old, 1000u);
        }
    }
}

TEST(SimCopies, SizesOfAFaultAreKept) {
    auto const driver = open_switched(2, {"push:0:1@512KiB+=flip"});
    driver->enable_access({0, 1});
    EXPECT_EQ(copied(*driver, 64_KiB), CheckOutcome{});
    EXPECT_NE(copied(*driver, 512_KiB), CheckOutcome{});
}

TEST(SimCopies, HostFaultSpoilsBytesOnTheirWayThroughTheHost) {
    auto const driver = open_switched(3, {"host:0:1=flip"});
    for (auto const destination : {1, 2}) {
        Allocation from(*driver, {gpu(0), 64_KiB});
        Allocation middle(*driver, {host(), 64_KiB, MemoryKind::pinned});
        Allocation to(*driver, {gpu(destination), 64_KiB});
        put(*driver, from, sent);
        Stream stream(*driver, 0);
        driver->copy(stream.view(), {middle.location(), from.location(), 64_KiB});
        driver->synchronize(stream.view());
        EXPECT_EQ(driver->check_host(middle.address(), 64_KiB, sent, poison), CheckOutcome{});
        Stream second(*driver, destination);
        driver->copy(second.view(), {to.location(), middle.location(), 64_KiB});
        driver->synchronize(second.view());
        EXPECT_EQ(look(*driver, to, sent, poison) == CheckOutcome{}, destination == 2);
    }
    EXPECT_NE(copied(*driver, 64_KiB), CheckOutcome{}) << "staged by the driver";
    driver->enable_access({0, 1});
    EXPECT_EQ(copied(*driver, 64_KiB), CheckOutcome{}) << "direct";
}

TEST(SimCopies, AHangIsBoundedAndAloneItIsSaid) {
    auto const driver = open_switched(2, {"push:0:1=hang"});
    driver->enable_access({0, 1});
    Allocation from(*driver, {gpu(0), 4096});
    Allocation to(*driver, {gpu(1), 4096});
    Stream stream(*driver, 0);
    Event event(*driver, 0);
    driver->copy(stream.view(), {to.location(), from.location(), 4096, CopyApi::peer});
    driver->record(event.view(), stream.view());
    auto const before = driver->now();
    EXPECT_FALSE(driver->wait_for(event.view(), 2.0));
    EXPECT_NEAR(driver->now() - before, 2.0, 1e-3);
    try {
        driver->synchronize(stream.view());
        FAIL() << "synchronize came back from a hang";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code::launch_timeout);
    }
}

// A flat cloud bus, or a table of links alone: nothing says where host memory is, and yet every device has some.
TEST(SimCopies, DevicesThatHangOnNothingStillReachHostMemory) {
    auto machine = switched(3);
    auto& links = machine.graph.links;
    links.erase(std::remove_if(links.begin(), links.end(),
                               [](const Link& link) {
                                   return link.kind == LinkKind::memory ||
                                          (link.kind == LinkKind::pcie && (link.from == 3 || link.to == 3));
                               }),
                links.end());
    auto const driver = open_simulated(SimulatedMachine(machine));
    for (int d = 0; d < 3; ++d) {
        Allocation from(*driver, {gpu(d), 1_MiB});
        Allocation to(*driver, {host(), 1_MiB, MemoryKind::pinned});
        put(*driver, from, sent);
        Stream stream(*driver, d);
        driver->copy(stream.view(), {to.location(), from.location(), 1_MiB});
        driver->synchronize(stream.view());
        EXPECT_EQ(driver->check_host(to.address(), 1_MiB, sent, poison), CheckOutcome{}) << d;
    }
}

TEST(SimCopies, SameCallsGiveTheSameTimes) {
    auto const run = [] {
        auto const driver = open_switched(4);
        std::vector<Allocation> memory;
        std::vector<Stream> streams;
        for (int d = 0; d < 4; ++d) {
            memory.emplace_back(*driver, AllocationRequest{gpu(d), 64_MiB});
            streams.emplace_back(*driver, d);
            driver->enable_access({d, (d + 1) % 4});
        }
        for (int i = 0; i < 40; ++i) {
            auto const d = i % 4;
            driver->copy(streams[static_cast<std::size_t>(d)].view(),
                         {memory[static_cast<std::size_t>((d + 1) % 4)].location(),
                          memory[static_cast<std::size_t>(d)].location(), 1_MiB + static_cast<std::uint64_t>(i) * 4096,
                          CopyApi::peer});
        }
        for (auto const& stream : streams) {
            driver->synchronize(stream.view());
        }
        return driver->now();
    };
    EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace peerlane
