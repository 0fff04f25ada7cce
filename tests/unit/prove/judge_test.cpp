// Routes and status from checks.
#include <gtest/gtest.h>

#include "make.hpp"

namespace peerlane {
namespace {

using test::healthy_pair;
using Use = RouteVerdict::Use;

TEST(Judge, HealthyPairIsPushedBothWays) {
    auto verdicts = healthy_pair();
    judge(verdicts);
    EXPECT_EQ(verdicts.status, Status::healthy);
    ASSERT_EQ(verdicts.routes.size(), 2u);
    EXPECT_EQ(*verdicts.route(0, 1), (RouteVerdict{0, 1, Use::direct, Engine::copy, 0, 396.0, 37.0}));
    EXPECT_EQ(*verdicts.route(1, 0), (RouteVerdict{1, 0, Use::direct, Engine::copy, 1, 396.0, 37.0}));
}

TEST(Judge, RoutesFallBackInWrittenOrder) {
    auto verdicts = healthy_pair();
    auto& pushing = *verdicts.pair(0, 1);
    auto& pulling = *verdicts.pair(1, 0);
    pushing[Check::push] = test::wrong(WrongKind::flip);
    judge(verdicts);
    EXPECT_EQ(verdicts.route(0, 1)->engine, Engine::copy);
    EXPECT_EQ(verdicts.route(0, 1)->issuer, 1);
    pulling[Check::pull] = test::wrong(WrongKind::zero);
    judge(verdicts);
    EXPECT_EQ(verdicts.route(0, 1)->engine, Engine::kernel);
    EXPECT_EQ(verdicts.route(0, 1)->issuer, 0);
    pushing[Check::store] = test::wrong(WrongKind::stale);
    judge(verdicts);
    EXPECT_EQ(verdicts.route(0, 1)->engine, Engine::kernel);
    EXPECT_EQ(verdicts.route(0, 1)->issuer, 1);
    pulling[Check::load] = test::wrong(WrongKind::offset);
    judge(verdicts);
    EXPECT_EQ(verdicts.route(0, 1)->use, Use::staged);
    EXPECT_EQ(verdicts.route(0, 1)->issuer, -1);
    EXPECT_EQ(verdicts.route(1, 0)->use, Use::direct);
    EXPECT_EQ(verdicts.status, Status::broken);
    verdicts.control[0].staged = test::wrong(WrongKind::flip);
    judge(verdicts);
    EXPECT_EQ(verdicts.route(0, 1)->use, Use::none);
    EXPECT_EQ(verdicts.status, Status::inconclusive);
}

TEST(Judge, EveryFailureOfAClaimedPairBreaksIt) {
    for (auto const check : all_checks) {
        for (auto const result : {Result::wrong, Result::hang, Result::error}) {
            auto verdicts = healthy_pair();
            (*verdicts.pair(1, 0))[check] = {result};
            judge(verdicts);
            EXPECT_EQ(verdicts.status, Status::broken) << to_string(check) << " " << to_string(result);
        }
    }
}

TEST(Judge, NoByDesignIsHealthy) {
    auto verdicts = healthy_pair();
    (*verdicts.pair(0, 1))[Check::atomic] = {Result::no};
    judge(verdicts);
    EXPECT_EQ(verdicts.status, Status::healthy);
    for (auto& pair : verdicts.pairs) {
        test::deny(pair);
    }
    judge(verdicts);
    EXPECT_EQ(verdicts.status, Status::healthy);
    EXPECT_EQ(verdicts.route(0, 1)->use, Use::staged);
    EXPECT_FALSE(verdicts.route(0, 1)->direct_gbs);
}

TEST(Judge, DeniedEverywhereWithoutControlTellsNothing) {
    auto verdicts = healthy_pair();
    for (auto& pair : verdicts.pairs) {
        test::deny(pair);
    }
    verdicts.control.clear();
    judge(verdicts);
    EXPECT_EQ(verdicts.status, Status::inconclusive);
    EXPECT_EQ(verdicts.route(1, 0)->use, Use::none);
}

TEST(Judge, OneWayClaimIsDegradedAndTheOtherWayIsPulled) {
    auto verdicts = healthy_pair();
    test::deny(*verdicts.pair(0, 1));
    judge(verdicts);
    EXPECT_EQ(verdicts.status, Status::degraded);
    EXPECT_EQ(verdicts.route(0, 1)->use, Use::direct);
    EXPECT_EQ(verdicts.route(0, 1)->issuer, 1);
    EXPECT_EQ(verdicts.route(1, 0)->issuer, 1);
}

TEST(Judge, NoSlotLeftIsDegraded) {
    auto verdicts = healthy_pair();
    (*verdicts.pair(0, 1))[Check::map] = {Result::no};
    judge(verdicts);
    EXPECT_EQ(verdicts.status, Status::degraded);
}

TEST(Judge, ControlArmOverrulesEverything) {
    for (auto const result : {Result::wrong, Result::hang, Result::error}) {
        auto verdicts = healthy_pair();
        (*verdicts.pair(0, 1))[Check::push] = test::wrong(WrongKind::flip);
        verdicts.control[1].staged = {result};
        judge(verdicts);
        EXPECT_EQ(verdicts.status, Status::inconclusive) << to_string(result);
    }
}

TEST(Judge, DirectSlowerThanStagedIsStagedAndDegraded) {
    auto verdicts = healthy_pair();
    for (auto const check : {Check::push, Check::store}) {
        (*verdicts.pair(0, 1))[check].gbs = 9.9;
    }
    for (auto const check : {Check::pull, Check::load}) {
        (*verdicts.pair(1, 0))[check].gbs = 9.9;
    }
    judge(verdicts);
    EXPECT_EQ(verdicts.status, Status::degraded);
    EXPECT_EQ(*verdicts.route(0, 1), (RouteVerdict{0, 1, Use::staged, Engine::copy, -1, 9.9, 37.0}));
    EXPECT_EQ(verdicts.route(1, 0)->use, Use::direct);
}

TEST(Judge, AClearlyFasterSideWinsOverTheWrittenOrder) {
    auto verdicts = healthy_pair();
    (*verdicts.pair(0, 1))[Check::push].gbs = 120;
    judge(verdicts);
    EXPECT_EQ(verdicts.route(0, 1)->issuer, 1);
    (*verdicts.pair(1, 0))[Check::pull].gbs = 130;
    for (auto const check : {Check::load}) {
        (*verdicts.pair(1, 0))[check].gbs = 125;
    }
    (*verdicts.pair(0, 1))[Check::store].gbs = 125;
    judge(verdicts);
    EXPECT_EQ(verdicts.route(0, 1)->issuer, 0) << "within 10 % the order decides";
}

TEST(Judge, NothingRanIsInconclusive) {
    Verdicts none;
    judge(none);
    EXPECT_EQ(none.status, Status::inconclusive);
    auto verdicts = healthy_pair();
    for (auto& pair : verdicts.pairs) {
        pair.checks.fill({});
    }
    judge(verdicts);
    EXPECT_EQ(verdicts.status, Status::inconclusive);
}

TEST(Judge, IsAFunctionOfChecksAlone) {
    auto verdicts = healthy_pair();
    judge(verdicts);
    auto again = verdicts;
    again.status = Status::broken;
    again.routes.push_back({5, 6});
    judge(again);
    EXPECT_EQ(again, verdicts);
}

TEST(Verdicts, LookupsFindWhatIsThere) {
    auto verdicts = healthy_pair();
    judge(verdicts);
    EXPECT_EQ(verdicts.pair(1, 0)->accessor, 1);
    EXPECT_EQ(verdicts.pair(0, 2), nullptr);
    EXPECT_EQ(verdicts.control_of(1, 0)->source, 1);
    EXPECT_EQ(verdicts.control_of(2, 0), nullptr);
    EXPECT_EQ(verdicts.route(0, 3), nullptr);
}

TEST(Verdicts, WordsReadBack) {
    for (auto const check : all_checks) {
        EXPECT_EQ(parse_check(to_string(check)), check);
    }
    EXPECT_EQ(parse_check("control"), std::nullopt);
    EXPECT_EQ(parse_result("hang"), Result::hang);
    EXPECT_EQ(parse_result(""), std::nullopt);
}

}  // namespace
}  // namespace peerlane
