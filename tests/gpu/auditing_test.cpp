// What the audit says of real devices: a bounded wait that expires names who waits for whom, and a provoked fault is
// explained. The fault is provoked in a process of its own, for it poisons every device of its process.

#include <algorithm>
#include <cstdio>

#include <gtest/gtest.h>

#include <peerlane/auditing.hpp>
#include <peerlane/driver/owned.hpp>
#include <peerlane/error.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/open.hpp>
#include <peerlane/units.hpp>

#include "kernels/copy.hpp"
#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

class AuditingOnDevices : public testing::Test {
  protected:
    void SetUp() override {
        auto const here = cuda_availability();
        if (here.devices < 2) {
            GTEST_SKIP() << "two CUDA devices are needed: " << (here.reason.empty() ? "only one is here" : here.reason);
        }
    }
};

TEST_F(AuditingOnDevices, ABoundedFlagWaitThatExpiresNamesWhoWaitsForWhom) {
    auto const inner = open_cuda();
    auto const driver = make_auditing(*inner);
    if (!driver->capabilities(0).stream_memory_operations || !driver->capabilities(1).stream_memory_operations) {
        GTEST_SKIP() << "no stream memory operations here";
    }
    Allocation flags(*driver, {host(), 8, MemoryKind::pinned});
    std::uint32_t const zero = 0, one = 1;
    driver->write_host(flags.address(), &zero, 4);
    driver->write_host(flags.address() + 4, &zero, 4);
    Stream s0(*driver, 0), s1(*driver, 1);
    Event done(*driver, 0);
    driver->wait_value(s0.view(), flags.address() + 4, 1);
    driver->write_value(s0.view(), flags.address(), 1);
    driver->wait_value(s1.view(), flags.address(), 1);
    driver->write_value(s1.view(), flags.address() + 4, 1);
    driver->record(done.view(), s0.view());
    EXPECT_FALSE(driver->wait_for(done.view(), 0.2));
    auto const waiting = driver->waiting();
    EXPECT_GE(waiting.size(), 2U);
    for (auto const& line : waiting) {
        std::printf("  %s\n", line.c_str());
    }
    auto const report = driver->finish();
    EXPECT_TRUE(std::any_of(report.findings.begin(), report.findings.end(), [](const AuditFinding& f) {
        return f.code == "wait-cycle";
    })) << to_table(report);
    std::printf("%s", to_table(report).c_str());
    driver->write_host(flags.address(), &one, 4);  // lets both go
    driver->synchronize(s1.view());
    driver->synchronize(s0.view());
}

TEST_F(AuditingOnDevices, VerifiedCopiesAreSilent) {
    auto const inner = open_cuda();
    auto const driver = make_auditing(*inner);
    for (auto const policy : {RoutePolicy::staged, RoutePolicy::direct}) {
        PlanOptions options;
        options.policy = policy;
        options.trust_claimed = true;
        auto const choice = choose(driver->machine(), gpu(0), gpu(1), 16_MiB + 36, options);
        EXPECT_TRUE(verified_copy(*driver, {driver->machine(), {}, true}, choice, gpu(0), gpu(1), 1, 3).verified);
    }
    auto const report = driver->finish();
    EXPECT_TRUE(report.findings.empty()) << to_table(report);
}

/// Exit status 0 when the fault came and was explained with the right two devices.
int provoke_and_explain() {
    auto const inner = open_cuda();
    auto const driver = make_auditing(*inner);
    Allocation from(*driver, {gpu(0), 64_KiB});
    Allocation to(*driver, {gpu(1), 64_KiB});
    Stream stream(*driver, 0);
    driver->enable_access({1, 0});
    CopyArguments const arguments{to.address(), from.address(), 64_KiB, 16};
    if (driver->check(stream.view(), copy_kernel, &arguments).size() != 1) {
        return 2;
    }
    driver->launch(stream.view(), copy_kernel, &arguments);
    try {
        driver->synchronize(stream.view());
        return 3;
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        auto const explained = driver->explain_fault();
        auto const right = !explained.empty() && explained[0].accessor == 0 && explained[0].owner == 1;
        return error.code() == code::illegal_address && error.info().sticky && right ? 0 : 4;
    }
}

TEST_F(AuditingOnDevices, AProvokedFaultIsExplainedWithOwnerAndAccessor) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(std::_Exit(provoke_and_explain()), testing::ExitedWithCode(0), "device 0.*device 1");
}

}  // namespace
}  // namespace peerlane
