// Those that look at memory, looked at themselves; and the questions that a host asks before a step.

#include <gtest/gtest.h>

#include "prove/wire.hpp"
#include "unit/prove/make.hpp"
#include "unit/prove/simulated.hpp"

namespace peerlane {
namespace {

using prove::ProbeStep;

ProbeStep self_test_of(int device) {
    return {ProbeStep::Kind::self_test, Check::claim, device, device, {}, 5};
}

TEST(SelfTest, EveryPlantedByteIsFoundOnEveryDevice) {
    auto const machine = test::machine_of(3);
    auto const host = prove::in_process_host({.open = [&] { return open_simulated(machine); }});
    auto const outcomes = host->run({self_test_of(0), self_test_of(1), self_test_of(2)}, 10, {}, {});
    ASSERT_EQ(outcomes.size(), 3U);
    for (auto const& outcome : outcomes) {
        EXPECT_EQ(outcome.result.result, Result::ok) << outcome.result.reason;
        EXPECT_EQ(outcome.result.sizes.size(), 2U);
    }
    auto const verdicts = prove::assemble(machine.machine(), outcomes, 5, true);
    ASSERT_EQ(verdicts.self_tests.size(), 3U);
    EXPECT_EQ(verdicts.self_tests[2].device, 2);
}

TEST(SelfTest, NothingCanBeToldWhereAVerifierIsBlind) {
    auto verdicts = test::healthy_pair();
    verdicts.self_tests = {{0, {Result::ok}}, {1, {Result::ok}}};
    judge(verdicts);
    EXPECT_EQ(verdicts.status, Status::healthy);
    EXPECT_EQ(read_verdicts(write_verdicts(verdicts), "x"), verdicts);
    verdicts.self_tests[1].found.result = Result::wrong;
    judge(verdicts);
    EXPECT_EQ(verdicts.status, Status::inconclusive);
}

TEST(SelfTest, GoesOverTheWire) {
    prove::wire::Request const request{self_test_of(1), {}};
    EXPECT_EQ(prove::wire::read_request(prove::wire::write(request)), request);
    EXPECT_EQ(describe(request.step), "self-test 1");
}

TEST(Veto, ASteppedOverStepHasTheReasonAndNeverBegins) {
    auto const machine = test::machine_of(2);
    auto const host = prove::in_process_host(
        {.open = [&] { return open_simulated(machine); },
         .veto = [](const ProbeStep& step) { return step.owner == 0 ? std::string("device 0 is busy") : ""; }});
    std::vector<std::string> begun, ended;
    auto const outcomes = host->run(
        {self_test_of(0), self_test_of(1)}, 10, [&](const ProbeStep& step) { begun.push_back(describe(step)); },
        [&](const prove::ProbeOutcome& outcome) { ended.push_back(describe(outcome.step)); });
    EXPECT_EQ(begun, std::vector<std::string>{"self-test 1"});
    EXPECT_EQ(ended, (std::vector<std::string>{"self-test 0", "self-test 1"}));
    EXPECT_EQ(outcomes[0].result.result, Result::skipped);
    EXPECT_EQ(outcomes[0].result.reason, "device 0 is busy");
}

}  // namespace
}  // namespace peerlane
