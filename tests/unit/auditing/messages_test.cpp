/// Messages and waits with a budget under audit.

#include <gtest/gtest.h>

#include <peerlane/auditing.hpp>
#include <peerlane/courier.hpp>
#include <peerlane/flag.hpp>
#include <peerlane/units.hpp>

#include "unit/sim/pair.hpp"

namespace peerlane {
namespace {

using namespace testing_sim;

std::string texts(const std::vector<AuditFinding>& findings) {
    std::string all;
    for (auto const& finding : findings) {
        all += finding.code + ": " + finding.text + "\n";
    }
    return all;
}

struct Watched {
    std::unique_ptr<Driver> inner = open_switched(2);
    std::unique_ptr<AuditingDriver> driver = make_auditing(*inner);
    [[nodiscard]] Ready ready() const { return {driver->machine(), {}, true}; }
};

/// Bytes of one device go to the other; there a copy takes them on.
struct Relay {
    explicit Relay(Driver& driver)
        : from(driver, {gpu(0), 64_KiB}),
          to(driver, {gpu(1), 64_KiB}),
          next(driver, {gpu(1), 64_KiB}),
          there(driver, 1) {
        put(driver, from, {3, 0});
    }
    void take(Driver& driver) const {
        driver.copy(there.view(), {next.location(), to.location(), 64_KiB, CopyApi::automatic});
    }
    void* destination() const { return pointer_to(to.address()); }
    const void* source() const { return pointer_to(from.address()); }
    Allocation from, to, next;
    Stream there;
};

TEST(AuditingMessages, AReaderThatWaitsIsSilent) {
    Watched rig;
    {
        Relay relay(*rig.driver);
        Courier courier(*rig.driver, rig.ready(), 0);
        Flag flag(*rig.driver, gpu(1));
        auto const first = courier.post(relay.destination(), relay.source(), 64_KiB, {.then_set = flag, .value = 1});
        flag.wait(relay.there.view(), 1);
        relay.take(*rig.driver);
        rig.driver->synchronize(relay.there.view());
        ASSERT_TRUE(first.wait(1));
        auto const second = courier.post(relay.destination(), relay.source(), 64_KiB);
        second.wait_in(relay.there.view());
        relay.take(*rig.driver);
        rig.driver->synchronize(relay.there.view());
        ASSERT_TRUE(courier.post(relay.destination(), relay.source(), 64_KiB).wait(1));
        relay.take(*rig.driver);
        rig.driver->synchronize(relay.there.view());
    }
    auto const report = rig.driver->finish();
    EXPECT_EQ(report.findings, std::vector<AuditFinding>{}) << texts(report.findings);
}

TEST(AuditingMessages, AReaderThatDoesNotWaitRaces) {
    Watched rig;
    {
        Relay relay(*rig.driver);
        Courier courier(*rig.driver, rig.ready(), 0);
        auto const message = courier.post(relay.destination(), relay.source(), 64_KiB);
        relay.take(*rig.driver);
        rig.driver->synchronize(relay.there.view());
        ASSERT_TRUE(message.wait(1));
    }
    auto const found = rig.driver->finish().findings;
    ASSERT_EQ(found.size(), 1U) << texts(found);
    EXPECT_EQ(found.front().code, "race");
    EXPECT_NE(found.front().text.find("message"), std::string::npos) << found.front().text;
}

TEST(AuditingMessages, AWaitThatWasNotMetIsAFinding) {
    Watched rig;
    Flag flag(*rig.driver, host());
    flag.set(4U);
    EXPECT_FALSE(flag.wait(7, 1e-3));
    EXPECT_FALSE(flag.wait(7, 1e-3));
    auto const found = rig.driver->findings();
    ASSERT_EQ(found.size(), 1U) << texts(found);
    EXPECT_EQ(found.front().code, "wait-expired");
    EXPECT_EQ(found.front().count, 2U);
    EXPECT_NE(found.front().text.find("to reach 7; it was 4 then"), std::string::npos) << found.front().text;
    ASSERT_FALSE(rig.driver->waiting().empty());
    auto const report = rig.driver->finish();
    EXPECT_EQ(report.status(), 1) << texts(report.findings);
}

}  // namespace
}  // namespace peerlane
