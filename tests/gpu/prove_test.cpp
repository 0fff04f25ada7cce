// Checks of the ladder on two real devices: exact sums of adds from both sides, a token between resident kernels,
// grants of pool and virtual memory, and pairs together.
#include <cstdio>

#include <gtest/gtest.h>

#include <peerlane/open.hpp>
#include <peerlane/prove.hpp>

#include "prove/ladder.hpp"

namespace peerlane {
namespace {

class LadderOnDevices : public testing::Test {
  protected:
    void SetUp() override {
        auto const here = cuda_availability();
        if (here.devices < 2) {
            GTEST_SKIP() << "two CUDA devices are needed: " << (here.reason.empty() ? "only one is here" : here.reason);
        }
        driver_ = open_cuda();
        for (auto const& [accessor, owner] : {std::pair(0, 1), std::pair(1, 0)}) {
            if (!driver_->can_access(accessor, owner)) {
                GTEST_SKIP() << "the driver says that devices 0 and 1 cannot reach each other";
            }
        }
    }

    /// Both ways between devices 0 and 1, on one prober.
    void expect_right(prove::ProbeStep::Kind kind, Check check) {
        prove::Prober prober(*driver_);
        for (auto const& [accessor, owner] : {std::pair(0, 1), std::pair(1, 0)}) {
            prove::ProbeStep const step{kind, check, accessor, owner, {}, 20260101};
            auto const result = prober.run(step);
            auto const native = check != Check::atomic || driver_->native_atomics(accessor, owner);
            EXPECT_EQ(result.result, native ? Result::ok : Result::no) << describe(step) << ": " << result.reason;
            EXPECT_TRUE(prober.usable());
            for (auto const& way : result.ways) {
                EXPECT_EQ(way.result, Result::ok) << describe(step) << " " << way.way << ": " << way.reason;
            }
            std::printf("  %s %s %.2f us %s\n", describe(step).c_str(), to_string(result.result),
                        result.seconds.value_or(0) * 1e6, result.reason.c_str());
        }
    }

    std::unique_ptr<Driver> driver_;
};

TEST_F(LadderOnDevices, AddsOfBothSidesAddUp) {
    for (int i = 0; i < 20; ++i) {
        expect_right(prove::ProbeStep::Kind::check, Check::atomic);
    }
}

TEST_F(LadderOnDevices, ATokenGoesBackAndForth) {
    for (int i = 0; i < 20; ++i) {
        expect_right(prove::ProbeStep::Kind::check, Check::flag);
    }
}

TEST_F(LadderOnDevices, GrantsOfPoolAndVirtualMemoryReach) {
    expect_right(prove::ProbeStep::Kind::ways, Check::map);
}

TEST_F(LadderOnDevices, AnIdleDeviceSaysSo) {
    expect_right(prove::ProbeStep::Kind::idle, Check::claim);
}

TEST_F(LadderOnDevices, BothWaysAtOnce) {
    prove::Prober prober(*driver_);
    for (auto const check : {Check::push, Check::pull}) {
        prove::ProbeStep const step{
            prove::ProbeStep::Kind::group, check, 0, 1, {prove::group_bytes}, 7, {{0, 1}, {1, 0}}, "all at once"};
        auto const result = prober.run(step);
        EXPECT_EQ(result.result, Result::ok) << describe(step) << ": " << result.reason;
        ASSERT_EQ(result.rates.size(), 2u);
        std::printf("  %s: %.1f and %.1f GB/s\n", describe(step).c_str(), result.rates[0], result.rates[1]);
    }
}

}  // namespace
}  // namespace peerlane
