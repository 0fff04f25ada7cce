#include <gtest/gtest.h>

#include <peerlane/error.hpp>

#include "unit/mover/rig.hpp"

namespace peerlane {
namespace {

using namespace testing_mover;
using State = TransferProgress::State;

struct Moved {
    State state;
    TransferProgress progress;
    bool right;
};

Moved moved(Rig& rig, Place from, Place to, std::uint64_t bytes, const TransferOptions& options = {}) {
    Bytes source(*rig.driver, from, bytes), target(*rig.driver, to, bytes);
    source.fill({7, 0});
    auto transfer = rig.mover->transfer(target.pointer(), source.pointer(), bytes, options);
    auto const state = transfer.wait();
    // What never arrived is anything, which takes long to look at.
    return {state, transfer.progress(), state == State::done && target.look({7, 0}) == CheckOutcome{}};
}

/// Makes mappings and buffers, and lets virtual time pass until `seconds`.
void settle(Rig& rig, Place from, Place to, double seconds = 0) {
    for (int round = 0; round < 2; ++round) {
        static_cast<void>(moved(rig, from, to, 64_MiB));
    }
    Stream stream(*rig.driver, 0);
    Event never(*rig.driver, 0);
    Bytes flag(*rig.driver, host(), 4);
    std::uint32_t value = 0;
    rig.driver->write_host(flag.at().address, &value, 4);
    rig.driver->wait_value(stream.view(), flag.at().address, 1);
    rig.driver->record(never.view(), stream.view());
    if (auto const left = seconds - rig.driver->now(); left > 0) {
        EXPECT_FALSE(rig.driver->wait_for(never.view(), left));
    }
    value = 1;
    rig.driver->write_host(flag.at().address, &value, 4);
    rig.driver->synchronize(stream.view());
}

TEST(Transfer, MovesEveryByteOverAllWays) {
    for (auto const& [machine, from, to] : {std::tuple{"h200-pair", gpu(0), gpu(1)},
                                            {"v100-partial-mesh", gpu(0), gpu(3)},
                                            {"dgx-1v", gpu(0), gpu(4)},
                                            {"h200-pair", host(0), gpu(1)},
                                            {"h200-pair", gpu(1), host(0)}}) {
        for (auto const bytes : {std::uint64_t{1}, 5 * 1_MiB + 3, 700_MiB + 13}) {
            Rig rig(machine);
            auto const result = moved(rig, from, to, bytes);
            EXPECT_EQ(result.state, State::done) << machine << " " << bytes;
            EXPECT_TRUE(result.right) << machine << " " << bytes;
            EXPECT_EQ(result.progress.bytes, bytes);
            EXPECT_TRUE(result.progress.findings.empty());
            std::uint64_t sum = 0;
            for (auto const& way : result.progress.ways) {
                sum += way.bytes;
            }
            EXPECT_EQ(sum, bytes);
        }
    }
}

TEST(Transfer, IsAboutAsFastAsACopy) {
    Rig rig("h200-pair");
    settle(rig, gpu(0), gpu(1));
    auto const result = moved(rig, gpu(0), gpu(1), 4_GiB);
    EXPECT_GT(static_cast<double>(4_GiB) / result.progress.seconds / 1e9, 0.9 * 440);
}

TEST(Transfer, ALinkThatGoesDownCostsTimeNeverBytes) {
    for (auto const* const fault : {"link:0:1=down@1ms", "link:0:1=down@1002ms", "link:0:1=down@1007ms"}) {
        Rig rig("h200-pair", {fault});
        if (std::string(fault) != "link:0:1=down@1ms") {
            settle(rig, gpu(0), gpu(1), 1.0);
        }
        auto const result = moved(rig, gpu(0), gpu(1), 4_GiB);
        EXPECT_EQ(result.state, State::done) << fault;
        EXPECT_TRUE(result.right) << fault;
        ASSERT_FALSE(result.progress.findings.empty()) << fault;
        EXPECT_EQ(result.progress.findings[0].code, "route-failed");
        if (std::string(fault) != "link:0:1=down@1ms") {  // which has mappings and buffers to make as well
            EXPECT_LT(result.progress.seconds, 1.15 * static_cast<double>(4_GiB) / 53e9) << fault;  // all by the host
        }
    }
}

TEST(Transfer, TakesSpareWaysWhereAllPlannedOnesFail) {
    Rig rig("dgx-1v", {"link:0:3=down@2001ms", "link:0:6=down@2002ms", "link:0:2=down@2003ms", "link:0:1=down@2004ms"});
    settle(rig, gpu(0), gpu(3), 2.0);
    auto const result = moved(rig, gpu(0), gpu(3), 4_GiB);
    EXPECT_EQ(result.state, State::done);
    EXPECT_TRUE(result.right);
}

TEST(Transfer, SharesFollowAWayThatIsSlow) {
    Rig rig("v100-partial-mesh", {"rate:0:2=x0.1"});
    settle(rig, gpu(0), gpu(3));
    auto const result = moved(rig, gpu(0), gpu(3), 2_GiB);
    EXPECT_TRUE(result.right);
    for (auto const& way : result.progress.ways) {
        if (way.route.legs.size() == 2 && way.route.legs[0].to == gpu(2)) {
            EXPECT_LT(static_cast<double>(way.bytes), 0.1 * static_cast<double>(2_GiB));
        }
    }
    EXPECT_GT(static_cast<double>(2_GiB) / result.progress.seconds / 1e9, 40);
}

TEST(Transfer, IsCancelledWhenNothingIsUnderWay) {
    Rig rig("h200-pair");
    Bytes source(*rig.driver, gpu(0), 1_GiB), target(*rig.driver, gpu(1), 1_GiB);
    auto transfer = rig.mover->transfer(target.pointer(), source.pointer(), 1_GiB);
    EXPECT_EQ(transfer.step(1e-4), State::running);
    transfer.cancel();
    EXPECT_EQ(transfer.wait(), State::cancelled);
    auto const progress = transfer.progress();
    EXPECT_LT(progress.bytes, 1_GiB);
    EXPECT_EQ(transfer.step(1), State::cancelled);
    EXPECT_TRUE(moved(rig, gpu(0), gpu(1), 64_MiB).right);  // buffers are free again
}

TEST(Transfer, EndsAtItsLimit) {
    {
        Rig rig("h200-pair");
        settle(rig, gpu(0), gpu(1));
        EXPECT_EQ(moved(rig, gpu(0), gpu(1), 4_GiB, {1e-3, {}}).state, State::late);
    }
    Rig rig("h200-pair");
    EXPECT_EQ(moved(rig, gpu(0), gpu(1), 64_MiB, {1.0, {}}).state, State::done);
}

TEST(Transfer, BeginsBehindTheStreamItIsGiven) {
    Rig rig("h200-pair");
    Bytes source(*rig.driver, gpu(0), 64_MiB), target(*rig.driver, gpu(1), 64_MiB);
    Stream stream(*rig.driver, 0);
    FillArguments const arguments{source.at().address, source.bytes(), {9, 0}, 16};
    rig.driver->launch(stream.view(), fill_kernel, &arguments);
    auto transfer = rig.mover->transfer(target.pointer(), source.pointer(), 64_MiB, {{}, stream.view()});
    EXPECT_EQ(transfer.wait(), State::done);
    EXPECT_EQ(target.look({9, 0}), CheckOutcome{});
}

TEST(Transfer, TellsADeviceErrorAsThat) {
    Rig rig("h200-pair", {"push:0:1=error700"});
    Bytes source(*rig.driver, gpu(0), 64_MiB), target(*rig.driver, gpu(1), 64_MiB);
    auto transfer = rig.mover->transfer(target.pointer(), source.pointer(), 64_MiB);
    try {
        static_cast<void>(transfer.wait());
        FAIL() << "the devices are gone";
    } catch (const Error& error) {
        EXPECT_TRUE(error.info().sticky);
        EXPECT_NE(std::string(error.what()).find("Likely cause"), std::string::npos) << error.what();
    }
}

TEST(Transfer, RefusesWhatItCannotDo) {
    Rig rig("h200-pair");
    Bytes source(*rig.driver, host(), 1_MiB, MemoryKind::pageable), target(*rig.driver, gpu(1), 1_MiB);
    EXPECT_THROW(static_cast<void>(rig.mover->transfer(target.pointer(), source.pointer(), 1_MiB)),
                 std::invalid_argument);
    EXPECT_THROW(static_cast<void>(rig.mover->transfer(target.pointer(), target.pointer(), 0)), std::invalid_argument);
}

}  // namespace
}  // namespace peerlane
