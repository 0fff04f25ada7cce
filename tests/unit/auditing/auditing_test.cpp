#include <gtest/gtest.h>

#include <peerlane/auditing.hpp>
#include <peerlane/error.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/trace_reader.hpp>
#include <peerlane/units.hpp>

#include "kernels/copy.hpp"
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

bool has(const std::vector<AuditFinding>& findings, const std::string& code) {
    return std::any_of(findings.begin(), findings.end(), [&](const AuditFinding& f) { return f.code == code; });
}

struct Watched {
    explicit Watched(AuditingOptions options = {})
        : inner(open_switched(2)), driver(make_auditing(*inner, std::move(options))) {}
    std::unique_ptr<Driver> inner;
    std::unique_ptr<AuditingDriver> driver;
};

TEST(Auditing, VerifiedCopiesByEveryRouteAreSilent) {
    Watched rig;
    for (auto const policy : {RoutePolicy::direct, RoutePolicy::staged}) {
        for (auto const bytes : {4_KiB, 16_MiB + 36}) {
            PlanOptions options;
            options.policy = policy;
            options.trust_claimed = true;
            auto const choice = choose(rig.driver->machine(), gpu(0), gpu(1), bytes, options);
            auto const report =
                verified_copy(*rig.driver, {rig.driver->machine(), {}, true}, choice, gpu(0), gpu(1), 1, 3);
            EXPECT_TRUE(report.verified) << report.message;
        }
    }
    auto const report = rig.driver->finish();
    EXPECT_EQ(report.findings, std::vector<AuditFinding>{}) << texts(report.findings);
    EXPECT_GT(report.events, 100U);
}

TEST(Auditing, AnUnmappedAccessIsForetoldAndThenExplained) {
    Watched rig;
    auto& driver = *rig.driver;
    Allocation from(driver, {gpu(0), 64_KiB});
    Allocation to(driver, {gpu(1), 64_KiB});
    Stream stream(driver, 0);
    CopyArguments const arguments{to.address(), from.address(), 64_KiB, 16};
    driver.enable_access({1, 0});
    auto const foretold = driver.check(stream.view(), copy_kernel, &arguments);
    ASSERT_EQ(foretold.size(), 1U) << texts(foretold);
    EXPECT_EQ(foretold[0].code, "wrong-direction");
    EXPECT_EQ(foretold[0].accessor, 0);
    EXPECT_EQ(foretold[0].owner, 1);
    EXPECT_FALSE(driver.explain(0, to.address(), 64_KiB).allowed);
    EXPECT_TRUE(driver.explain(1, from.address(), 64_KiB).allowed);
    driver.launch(stream.view(), copy_kernel, &arguments);
    try {
        driver.synchronize(stream.view());
        FAIL() << "the access went through";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code::illegal_address);
        EXPECT_TRUE(error.info().sticky);
        EXPECT_NE(std::string(error.what()).find("device 0"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("device 1"), std::string::npos) << error.what();
    }
    auto const explained = driver.explain_fault();
    ASSERT_FALSE(explained.empty());
    EXPECT_EQ(explained[0].accessor, 0);
    EXPECT_EQ(explained[0].owner, 1);
}

TEST(Auditing, OnDemandALaunchThatWouldFaultIsNotPassedOn) {
    AuditingOptions options;
    options.refuse_unmapped = true;
    Watched rig(std::move(options));
    auto& driver = *rig.driver;
    Allocation to(driver, {gpu(1), 64_KiB});
    Stream stream(driver, 0);
    FillArguments const arguments{to.address(), 64_KiB, {1, 0}, 16};
    EXPECT_THROW(driver.launch(stream.view(), fill_kernel, &arguments), Error);
    driver.enable_access({0, 1});
    driver.launch(stream.view(), fill_kernel, &arguments);
    driver.synchronize(stream.view());
    EXPECT_EQ(look(driver, to, {1, 0}), CheckOutcome{});
}

// sgl-project/sglang#31117: one channel used from two streams, crossed on two devices.
TEST(Auditing, AWaitCycleEndsWithTheReportOfWhoWaitsForWhom) {
    Watched rig;
    auto& driver = *rig.driver;
    Allocation flags(driver, {host(), 8, MemoryKind::pinned});
    std::uint64_t const zero = 0;
    driver.write_host(flags.address(), &zero, 8);
    Stream s0(driver, 0), s1(driver, 1);
    Event done(driver, 0);
    driver.wait_value(s0.view(), flags.address() + 4, 1);
    driver.write_value(s0.view(), flags.address(), 1);
    driver.wait_value(s1.view(), flags.address(), 1);
    driver.write_value(s1.view(), flags.address() + 4, 1);
    driver.record(done.view(), s0.view());
    EXPECT_FALSE(driver.wait_for(done.view(), 0.5));
    auto const waiting = driver.waiting();
    EXPECT_GE(waiting.size(), 2U);
    try {
        driver.synchronize(s0.view());
        FAIL() << "a cycle came to an end";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code::launch_timeout);
        EXPECT_NE(std::string(error.what()).find('\n'), std::string::npos) << "the chain is told: " << error.what();
    }
    auto const report = driver.finish();
    EXPECT_TRUE(has(report.findings, "wait-cycle")) << texts(report.findings);
    // Let the streams go, so that their memory can be given back.
    std::uint32_t const one = 1;
    driver.write_host(flags.address(), &one, 4);
    driver.synchronize(s1.view());
    driver.synchronize(s0.view());
}

TEST(Auditing, AReaderNotOrderedAfterACopyIsARaceAndAnEventMendsIt) {
    for (auto const ordered : {false, true}) {
        Watched rig;
        auto& driver = *rig.driver;
        driver.enable_access({0, 1});
        Allocation from(driver, {gpu(0), 64_KiB});
        Allocation to(driver, {gpu(1), 64_KiB});
        Allocation result(driver, {host(), sizeof(CheckOutcome), MemoryKind::pinned});
        put(driver, from, {1, 0});
        put(driver, to, {2, 0});
        Stream writer(driver, 0), reader(driver, 1);
        Event copied(driver, 0);
        driver.copy(writer.view(), {to.location(), from.location(), 64_KiB, CopyApi::peer});
        driver.record(copied.view(), writer.view());
        if (ordered) {
            driver.wait(reader.view(), copied.view());
        }
        CheckArguments const arguments{to.address(), 64_KiB, {1, 0}, {2, 0}, result.address()};
        driver.launch(reader.view(), check_kernel, &arguments);
        driver.synchronize(reader.view());
        driver.synchronize(writer.view());
        EXPECT_EQ(has(driver.findings(), "race"), !ordered) << texts(driver.findings());
    }
}

TEST(Auditing, ACopyWithNothingEnabledIsAWarning) {
    Watched rig;
    auto& driver = *rig.driver;
    Allocation from(driver, {gpu(0), 4096});
    Allocation to(driver, {gpu(1), 4096});
    Stream stream(driver, 0);
    driver.copy(stream.view(), {to.location(), from.location(), 4096, CopyApi::peer});
    driver.synchronize(stream.view());
    EXPECT_TRUE(has(driver.findings(), "copy-staged-by-driver"));
    EXPECT_EQ(driver.finish().status(), 1);
}

TEST(Auditing, AnImportStillOpenWhenItsMemoryIsFreedIsFound) {
    Watched rig;
    auto& driver = *rig.driver;
    auto const memory = driver.allocate({gpu(0), 4_MiB});
    auto const exported = driver.export_memory(memory + 64_KiB);
    ASSERT_TRUE(exported.usable());
    auto const imported = driver.import_memory(exported.handle, 1);
    ASSERT_TRUE(imported.usable());
    driver.free(memory);
    driver.close_import(imported.at);
    auto const report = rig.driver->finish();
    EXPECT_TRUE(has(report.findings, "stale-mapping")) << texts(report.findings);
}

TEST(Auditing, AnImportOfAnotherProcessIsClosedOrLeaks) {
    for (auto const closes : {true, false}) {
        Watched rig;
        auto const memory = rig.inner->allocate({gpu(0), 4_MiB});  // not seen by the audit, as in another process
        auto const exported = rig.inner->export_memory(memory + 64_KiB);
        auto const imported = rig.driver->import_memory(exported.handle, 1);
        ASSERT_TRUE(imported.usable());
        Stream const stream(*rig.driver, 1);
        Allocation const to(*rig.driver, {gpu(1), 64_KiB});
        CopyArguments const arguments{to.address(), imported.at, 64_KiB, 16};
        rig.driver->launch(stream.view(), copy_kernel, &arguments);
        rig.driver->synchronize(stream.view());
        if (closes) {
            rig.driver->close_import(imported.at);
        }
        auto const report = rig.driver->finish();
        EXPECT_EQ(has(report.findings, "leaked-mapping"), !closes) << texts(report.findings);
        EXPECT_EQ(report.findings.size(), closes ? 0U : 1U) << texts(report.findings);
    }
}

TEST(Auditing, AGraphIsAuditedWhenItIsLaunched) {
    Watched rig;
    auto& driver = *rig.driver;
    driver.enable_access({0, 1});
    Allocation from(driver, {gpu(0), 4096});
    Allocation to(driver, {gpu(1), 4096});
    put(driver, from, {1, 0});
    Stream stream(driver, 0);
    driver.begin_capture(stream.view());
    driver.copy(stream.view(), {to.location(), from.location(), 4096});
    auto const graph = driver.end_capture(stream.view());
    auto const events = driver.findings().size();
    driver.launch_graph(graph, stream.view());
    driver.launch_graph(graph, stream.view());
    driver.synchronize(stream.view());
    EXPECT_EQ(look(driver, to, {1, 0}), CheckOutcome{});
    driver.destroy_graph(graph);
    EXPECT_EQ(driver.findings().size(), events) << texts(driver.findings());
}

TEST(Auditing, TheTraceItWritesReadsBackToTheSameFindings) {
    std::string trace;
    AuditingOptions options;
    options.trace = [&](std::string_view line) { trace.append(line).append("\n"); };
    Watched rig(std::move(options));
    auto& driver = *rig.driver;
    {
        Allocation from(driver, {gpu(0), 64_KiB});
        Allocation to(driver, {gpu(1), 64_KiB});
        Stream writer(driver, 0), reader(driver, 1);
        driver.copy(writer.view(), {to.location(), from.location(), 64_KiB, CopyApi::peer});
        put(driver, to, {3, 0});
        driver.synchronize(writer.view());
    }
    auto const live = driver.finish();
    auto const read = audit_text(trace, "trace");
    EXPECT_EQ(live.status(), 2);
    EXPECT_EQ(texts(live.findings), texts(read.findings));
    EXPECT_EQ(live.events, read.events);
}

}  // namespace
}  // namespace peerlane
