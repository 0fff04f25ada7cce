// Those that look at memory, looked at themselves; and the questions that a host asks before a step.

#include <gtest/gtest.h>

#include <peerlane/units.hpp>

#include "prove/self_test.hpp"
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

/// What the self-test says of device 1 when these look.
CheckResult judged(const prove::Verifier& owner, const prove::Verifier& on_host) {
    auto const driver = open_simulated(test::machine_of(2));
    prove::Bench bench(*driver);
    bench.focus({1});
    bench.allow(10);
    return prove::self_test(bench, 1, 5, owner, on_host);
}

TEST(SelfTest, AVerifierThatCannotFindThePlantedByteIsReported) {
    prove::Verifier const blind = [](prove::Bench&, const prove::Watched&) { return CheckOutcome{}; };
    auto const owner = judged(blind, prove::host_looks);
    EXPECT_EQ(owner.result, Result::wrong);
    EXPECT_EQ(owner.first_bad_offset, 0U);
    EXPECT_EQ(owner.reason.find("the owner's kernel did not find a wrong byte planted at offset 0"), 0U)
        << owner.reason;
    auto const on_host = judged(prove::owner_looks, blind);
    EXPECT_EQ(on_host.result, Result::wrong);
    EXPECT_EQ(on_host.reason.find("the host's comparison did not find"), 0U) << on_host.reason;
    EXPECT_EQ(judged(prove::owner_looks, prove::host_looks).result, Result::ok);
}

TEST(SelfTest, ABlindLastByteAndAFalseAlarmAreReported) {
    prove::Verifier const short_sighted = [](prove::Bench& bench, prove::Watched watched) {
        --watched.bytes;
        return prove::owner_looks(bench, watched);
    };
    auto const missed = judged(short_sighted, prove::host_looks);
    EXPECT_EQ(missed.result, Result::wrong);
    EXPECT_EQ(missed.first_bad_offset, *missed.at_bytes - 1);
    prove::Verifier const nervous = [](prove::Bench& bench, const prove::Watched& watched) {
        auto seen = prove::owner_looks(bench, watched);
        ++seen.bad;
        return seen;
    };
    EXPECT_EQ(judged(nervous, prove::host_looks).reason.find("the owner's kernel sees wrong bytes where none is"), 0U);
    prove::Verifier const elsewhere = [](prove::Bench& bench, const prove::Watched& watched) {
        auto seen = prove::owner_looks(bench, watched);
        seen.first_bad += 8;
        return seen;
    };
    EXPECT_EQ(judged(elsewhere, prove::host_looks).result, Result::wrong) << "found, but not where it is";
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

TEST(SelfTest, ADeviceHeldByAnotherProcessCannotBeTold) {
    auto verdicts = test::healthy_pair();
    CheckResult held;
    held.result = Result::error;
    held.code = 46;
    held.reason = "another process holds the device exclusively";
    verdicts.self_tests = {{0, held}, {1, {Result::ok}}};
    for (auto const check : {Check::push, Check::pull, Check::store, Check::load}) {
        (*verdicts.pair(0, 1))[check] = held;
    }
    judge(verdicts);
    EXPECT_EQ(verdicts.status, Status::inconclusive) << "nothing is broken that could not be looked at";
}

/// Two devices, of which one has so much memory left.
SimulatedMachine nearly_full(std::uint64_t bytes) {
    auto machine = test::machine_of(2).machine();
    machine.devices[1].memory_bytes = bytes;
    return SimulatedMachine(machine);
}

TEST(FullDevice, SizesThatDoNotFitAreLeftOutAndTold) {
    prove::ProveOptions options;
    options.sizes.assign(prove::full_sizes.begin(), prove::full_sizes.end());
    options.groups = true;
    auto const verdicts = test::prove_with(nearly_full(2 * MiB), {}, options).verdicts;
    EXPECT_EQ(test::complaints(verdicts), std::vector<std::string>{});
    EXPECT_EQ(verdicts.status, Status::healthy);
    auto const& push = (*verdicts.pair(0, 1))[Check::push];
    EXPECT_EQ(push.sizes, (std::vector<std::uint64_t>{8, 4 * KiB, 64 * KiB, 512 * KiB + 4}));
    EXPECT_NE(push.reason.find("device 1 has no"), std::string::npos) << push.reason;
    EXPECT_EQ(verdicts.groups.at(0).result, Result::skipped);
    EXPECT_EQ(read_verdicts(write_verdicts(verdicts), "test"), verdicts);
}

TEST(FullDevice, WithNoRoomAtAllNothingCanBeTold) {
    auto const verdicts = test::prove_with(nearly_full(1), {}).verdicts;
    EXPECT_EQ(verdicts.status, Status::inconclusive);
    auto const& push = (*verdicts.pair(0, 1))[Check::push];
    EXPECT_EQ(push.result, Result::skipped);
    EXPECT_NE(push.reason.find("device 1 has no"), std::string::npos) << push.reason;
}

TEST(FullDevice, TheSelfTestLooksAtWhatFits) {
    auto const host = prove::in_process_host({.open = [] { return open_simulated(nearly_full(64 * KiB)); }});
    auto const outcomes = host->run({self_test_of(1)}, 10, {}, {});
    EXPECT_EQ(outcomes.at(0).result.result, Result::ok) << outcomes.at(0).result.reason;
    EXPECT_EQ(outcomes.at(0).result.sizes.size(), 1U);
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
