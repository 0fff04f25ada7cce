// Checks of the ladder on two real devices: exact sums of adds from both sides, a token between resident kernels,
// grants of pool and virtual memory, imports from another process, and pairs together.
#include <cstdio>
#include <filesystem>

#include <gtest/gtest.h>

#include <peerlane/open.hpp>
#include <peerlane/prove.hpp>

#include "kernels/check.hpp"
#include "kernels/fill.hpp"
#include "prove/ladder.hpp"
#include "prove/partner.hpp"

namespace peerlane {
namespace {

/// The helper as the process that exports; beside this test where the two were copied to another machine.
std::unique_ptr<prove::Partner> start_partner() {
    auto const beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "peerlane-probe-test";
    return prove::partner_process(std::filesystem::exists(beside) ? beside.string() : PEERLANE_PROBE_TEST, {}, 10, 5);
}

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
        prove::Prober prober(*driver_, start_partner);
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

TEST_F(LadderOnDevices, GrantsAndImportsReach) {
    expect_right(prove::ProbeStep::Kind::ways, Check::map);
}

/// One device is enough for two processes.
TEST(ImportsOnADevice, MemoryOfAnotherProcessIsReadAndWrittenAtItsOffset) {
    auto const here = cuda_availability();
    if (here.devices == 0) {
        GTEST_SKIP() << here.reason;
    }
    auto const driver = open_cuda();
    auto const partner = start_partner();
    constexpr std::uint64_t bytes = 4096, offset = 1024 * 1024 + 528;
    for (auto const kind : {MemoryKind::plain, MemoryKind::virtual_memory}) {
        std::string reason;
        auto const exported = partner->offer({0, kind, 2 * 1024 * 1024, offset, bytes, {5, 0}}, reason);
        ASSERT_TRUE(exported.usable()) << to_string(kind) << ": " << reason << ", code " << exported.code;
        auto const imported = driver->import_memory(exported.handle, 0);
        ASSERT_TRUE(imported.usable()) << to_string(kind) << ": code " << imported.code;
        EXPECT_EQ(driver->provenance(imported.at).kernel_access, std::vector<int>{0});

        Stream const stream(*driver, 0);
        Allocation const outcome(*driver, {host(), sizeof(CheckOutcome), MemoryKind::pinned});
        CheckOutcome found{0, bytes, 0, 0};
        driver->write_host(outcome.address(), &found, sizeof found);
        CheckArguments const look{imported.at, bytes, {5, 0}, {}, outcome.address()};
        driver->launch(stream.view(), check_kernel, &look);
        driver->synchronize(stream.view());
        driver->read_host(outcome.address(), &found, sizeof found);
        EXPECT_EQ(found.bad, 0U) << to_string(kind);

        FillArguments const store{imported.at, bytes, {6, 0}, 16};
        driver->launch(stream.view(), fill_kernel, &store);
        driver->synchronize(stream.view());
        EXPECT_EQ(partner->look({6, 0}, {5, 0}).bad, 0U) << to_string(kind);

        auto const again = driver->import_memory(exported.handle, 0);
        ASSERT_TRUE(again.usable()) << to_string(kind) << ": code " << again.code;
        EXPECT_EQ(again.at == imported.at, kind == MemoryKind::plain);
        driver->close_import(again.at);
        driver->close_import(imported.at);
        EXPECT_EQ(driver->last_error(), 0);
        partner->withdraw();
    }
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
