#include <gtest/gtest.h>

#include <numeric>

#include "move/adapt.hpp"
#include "unit/mover/rig.hpp"

namespace peerlane {
namespace {

using namespace testing_mover;
using move::correct;

TEST(Correct, SmallDifferencesChangeNothing) {
    EXPECT_FALSE(correct({{0.9, 0.9, 1.00}, {0.1, 0.1, 1.04}}).changed);
    EXPECT_FALSE(correct({{1.0, 1.0, 1.0}}).changed);
}

// rates 0.9 / 1 and 0.1 / 2: together the second would carry 0.05 / 0.95; half of the way there, sum 1
TEST(Correct, GoesHalfOfTheWay) {
    auto const correction = correct({{0.9, 0.9, 1.0}, {0.1, 0.1, 2.0}});
    ASSERT_TRUE(correction.changed);
    EXPECT_NEAR(correction.shares[1], (0.1 + 0.05 / 0.95) / 2, 1e-9);
    EXPECT_NEAR(correction.shares[0] + correction.shares[1], 1.0, 1e-9);
}

TEST(Correct, StaysWithinHalfAndOneAndAHalfOfThePlan) {
    auto const correction = correct({{0.5, 0.5, 1.0}, {0.5, 0.27, 10.0}});
    EXPECT_NEAR(correction.shares[1] / correction.shares[0], 0.25 / (0.5 + (0.5 / (0.5 + 0.027) - 0.5) / 2), 1e-9);
    auto const dropped = correct({{0.5, 0.75, 1.0}, {0.5, 0.25, 3.0}});
    EXPECT_EQ(dropped.shares, (std::vector<double>{1.0, 0.0}));
}

TEST(Correct, SettlesWhereAllEndTogether) {
    std::vector<move::Observed> routes{{0.9, 0.9, 0}, {0.1, 0.1, 0}};
    double const rates[] = {400, 30};
    for (int i = 0; i < 12; ++i) {
        for (std::size_t r = 0; r < 2; ++r) {
            routes[r].seconds = routes[r].share / rates[r];
        }
        auto const correction = correct(routes);
        for (std::size_t r = 0; r < 2; ++r) {
            routes[r].share = correction.shares[r];
        }
    }
    EXPECT_NEAR(routes[1].seconds / routes[0].seconds, 1.0, 0.06);
    EXPECT_NEAR(std::accumulate(routes.begin(), routes.end(), 0.0, [](double s, auto& r) { return s + r.share; }), 1,
                1e-9);
}

Choice two_ways() {
    return choice_of(256_MiB, {{0.8, {push(gpu(0), gpu(1)), push(gpu(1), gpu(3))}, 4_MiB, 4},
                               {0.2, {push(gpu(0), gpu(2)), push(gpu(2), gpu(3))}, 4_MiB, 4}});
}

/// Seconds of one copy by the routes that the adaptation has now, which looks at it afterwards.
double copied(Rig& rig, move::Adaptation& adaptation, std::vector<Finding>& findings) {
    move::Resources resources(*rig.driver, 64_MiB);
    move::Executor executor(*rig.driver);
    Bytes source(*rig.driver, gpu(0), 256_MiB), target(*rig.driver, gpu(3), 256_MiB);
    Stream stream(*rig.driver, 0);
    auto const start = rig.driver->now();
    auto const how = adaptation.begin(*rig.driver, 0);
    executor.submit(adaptation.routes(), 256_MiB, target.at(), source.at(), stream.view(), resources, how);
    rig.driver->synchronize(stream.view());
    auto const seconds = rig.driver->now() - start;
    if (auto finding = adaptation.look(*rig.driver, gpu(0), gpu(3), 256_MiB)) {
        findings.push_back(*finding);
    }
    return seconds;
}

// The plan says 4 : 1, the links have 2 : 1: after some copies both routes end together.
TEST(Adaptation, FollowsWhatTheRoutesTake) {
    Rig rig("v100-partial-mesh");
    move::Adaptation adaptation(two_ways().routes);
    std::vector<Finding> findings;
    auto const first = copied(rig, adaptation, findings);
    double last = 0;
    for (int i = 0; i < 20; ++i) {
        last = copied(rig, adaptation, findings);
    }
    EXPECT_TRUE(findings.empty());
    EXPECT_LT(last, 0.9 * first);
    EXPECT_NEAR(adaptation.routes()[1].share, 0.3, 0.02);  // one and a half of the plan
}

TEST(Adaptation, DropsARouteThatTurnedSlowWithAFinding) {
    Rig rig("v100-partial-mesh", {"rate:2:3=x0.05"});
    move::Adaptation adaptation(two_ways().routes);
    std::vector<Finding> findings;
    for (int i = 0; i < 30; ++i) {
        copied(rig, adaptation, findings);
    }
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].code, "route-slow");
    EXPECT_NE(findings[0].evidence[0].find("gpu2"), std::string::npos) << findings[0].evidence[0];
    ASSERT_EQ(adaptation.routes().size(), 1u);
    EXPECT_EQ(adaptation.routes()[0].share, 1.0);
}

// 16 MiB over the fabric take 50 us; a host lane that carries an eighth of it takes longer than it saves.
TEST(Adaptation, ASplitThatDoesNotPayIsGivenUp) {
    for (auto const pays : {false, true}) {
        Rig rig("h200-pair");
        auto const bytes = pays ? 512_MiB : 4_MiB;
        move::Adaptation adaptation({{0.92, {push(gpu(0), gpu(1))}, 0, 0},
                                     {0.08, {leg(gpu(0), host(0)), leg(host(0), gpu(1))}, bytes / 128, 4}});
        move::Resources resources(*rig.driver, 64_MiB);
        move::Executor executor(*rig.driver);
        Bytes source(*rig.driver, gpu(0), bytes), target(*rig.driver, gpu(1), bytes);
        Stream stream(*rig.driver, 0);
        for (int i = 0; i < 60; ++i) {
            auto const how = adaptation.begin(*rig.driver, 0);
            executor.submit(adaptation.routes(), bytes, target.at(), source.at(), stream.view(), resources, how);
            rig.driver->synchronize(stream.view());
            auto const finding = adaptation.look(*rig.driver, gpu(0), gpu(1), bytes);
            EXPECT_TRUE(!finding || !pays);
        }
        EXPECT_EQ(adaptation.routes().size(), pays ? 2u : 1u);
    }
}

/// Seconds of one copy of 512 MiB by push and a host lane, with the share that the lane has.
struct BesideTheHost {
    explicit BesideTheHost(double share)
        : adaptation({{1 - share, {push(gpu(0), gpu(1))}, 0, 0},
                      {share, {leg(gpu(0), host(0)), leg(host(0), gpu(1))}, 4_MiB, 4}}) {}
    double copied() {
        auto const start = rig.driver->now();
        auto const how = adaptation.begin(*rig.driver, 0);
        executor.submit(adaptation.routes(), 512_MiB, target.at(), source.at(), stream.view(), resources, how);
        rig.driver->synchronize(stream.view());
        auto const seconds = rig.driver->now() - start;
        EXPECT_FALSE(adaptation.look(*rig.driver, gpu(0), gpu(1), 512_MiB));
        return seconds;
    }
    Rig rig{"h200-pair"};
    move::Adaptation adaptation;
    move::Resources resources{*rig.driver, 64_MiB};
    move::Executor executor{*rig.driver};
    Bytes source{*rig.driver, gpu(0), 512_MiB}, target{*rig.driver, gpu(1), 512_MiB};
    Stream stream{*rig.driver, 0};
};

// Whatever part the plan gives to the others, what it settles at is not slower, and near the best of all parts.
TEST(Adaptation, WhatItSettlesAtIsNearTheBestPart) {
    double best = 1;
    for (auto share = 0.06; share < 0.14; share += 0.01) {
        BesideTheHost fixed(share);
        for (int i = 0; i < 2; ++i) {  // the first one makes staging memory
            auto const seconds = fixed.copied();
            best = i == 0 ? best : std::min(best, seconds);
        }
    }
    for (auto const planned : {0.08, 0.10, 0.12}) {
        BesideTheHost adapted(planned);
        adapted.copied();
        auto const first = adapted.copied();
        double last = 0;
        for (int i = 0; i < 80; ++i) {
            last = adapted.copied();
        }
        EXPECT_EQ(adapted.adaptation.routes().size(), 2u);
        EXPECT_LE(last, first * 1.005) << planned;
        EXPECT_LE(last, best * 1.015) << planned;
    }
}

TEST(Adaptation, DropsWhatFailedButNeverAll) {
    move::Adaptation adaptation(two_ways().routes);
    EXPECT_TRUE(adaptation.drop(push(gpu(2), gpu(3))));
    ASSERT_EQ(adaptation.routes().size(), 1u);
    EXPECT_FALSE(adaptation.drop(push(gpu(0), gpu(1))));
    EXPECT_EQ(adaptation.routes().size(), 1u);
}

// Whatever the adaptation is at when a leg fails: it goes on with the routes that are left.
TEST(Adaptation, ALegMayFailAtAnyMoment) {
    constexpr auto bytes = 64_MiB;
    auto const by_host = leg(gpu(0), host(0));
    for (int fails_after = 0; fails_after < 45; ++fails_after) {
        Rig rig("h100-8");
        move::Adaptation adaptation({{0.8, {push(gpu(0), gpu(1))}, 0, 0},
                                     {0.1, {push(gpu(0), gpu(2)), push(gpu(2), gpu(1))}, 1_MiB, 4},
                                     {0.1, {by_host, leg(host(0), gpu(1))}, 1_MiB, 4}});
        move::Resources resources(*rig.driver, 64_MiB);
        move::Executor executor(*rig.driver);
        Bytes source(*rig.driver, gpu(0), bytes), target(*rig.driver, gpu(1), bytes);
        Stream stream(*rig.driver, 0);
        for (int i = 0; i < 80; ++i) {
            auto const how = adaptation.begin(*rig.driver, 0);
            executor.submit(adaptation.routes(), bytes, target.at(), source.at(), stream.view(), resources, how);
            rig.driver->synchronize(stream.view());
            (void)adaptation.look(*rig.driver, gpu(0), gpu(1), bytes);
            if (i == fails_after) {
                (void)adaptation.drop(by_host);
            }
            auto sum = 0.0;
            for (auto const& route : adaptation.routes()) {
                sum += route.share;
                EXPECT_GT(route.share, 0);
                EXPECT_TRUE(i < fails_after || route.legs.front() != by_host);
            }
            ASSERT_NEAR(sum, 1, 1e-9) << "copy " << i << ", failure after " << fails_after;
        }
    }
}

}  // namespace
}  // namespace peerlane
