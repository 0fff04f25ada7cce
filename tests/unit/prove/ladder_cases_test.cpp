// What the whole ladder makes of a machine: routes, status, and machines of up to 16 devices.
#include <gtest/gtest.h>

#include "simulated.hpp"

namespace peerlane {
namespace {

using test::complaints;
using test::machine_of;
using test::prove_with;
using Lines = std::vector<std::string>;

prove::ProveOptions whole_ladder(std::vector<prove::DirectedPair> pairs = {}) {
    prove::ProveOptions options;
    options.pairs = std::move(pairs);
    options.checks.assign(all_checks.begin(), all_checks.end());
    options.sizes.assign(prove::full_sizes.begin(), prove::full_sizes.end());
    options.ways = true;
    return options;
}

struct Effect {
    const char* effect;
    const char* verdict;
};
constexpr Effect effects[] = {{"zero", "wrong(zero)"},     {"stale", "wrong(stale)"},   {"flip", "wrong(flip)"},
                              {"mirror", "wrong(mirror)"}, {"offset", "wrong(offset)"}, {"hang", "hang"},
                              {"freeze", "hang frozen"},   {"error719", "error719"},    {"no", "no"}};

/// Every number of devices from 2 to 16, a pair and an effect of each; the pair's own other direction and another pair
/// that shares its owner stay right.
TEST(LadderCases, EveryEffectOnMachinesOfTwoToSixteenDevices) {
    int cases = 0;
    for (int devices = 2; devices <= 16; ++devices) {
        auto const machine = machine_of(devices, devices % 2 == 0 ? PathClass::nv : PathClass::sys);
        for (auto const check : {Check::push, Check::pull, Check::store, Check::load, Check::atomic, Check::flag}) {
            for (std::size_t e = static_cast<std::size_t>(devices + static_cast<int>(check)) % 3;
                 e < std::size(effects); e += 3) {
                auto const accessor = cases % devices;
                auto const owner = (accessor + 1 + cases % (devices - 1)) % devices;
                auto const third = (owner + 1) % devices == accessor ? (owner + 2) % devices : (owner + 1) % devices;
                std::vector<prove::DirectedPair> pairs{{accessor, owner}, {owner, accessor}};
                if (third != owner && third != accessor) {
                    pairs.emplace_back(third, owner);
                }
                auto const who = std::to_string(accessor) + ":" + std::to_string(owner);
                auto const fault = std::string(to_string(check)) + ":" + who + "=" + effects[e].effect;
                SCOPED_TRACE(std::to_string(devices) + " devices, " + fault);
                auto const verdicts = prove_with(machine, {fault}, whole_ladder(pairs)).verdicts;
                EXPECT_EQ(complaints(verdicts), Lines{who + " " + to_string(check) + " " + effects[e].verdict});
                ++cases;
            }
        }
    }
    EXPECT_GE(cases, 200);
}

TEST(LadderCases, EightBytesTellEveryKindApart) {
    auto options = whole_ladder({{0, 1}});
    for (auto const* check : {"push", "pull", "store", "load"}) {
        for (auto const* kind : {"zero", "stale", "flip", "mirror", "offset"}) {
            auto const fault = std::string(check) + ":0:1@8-=" + kind;
            SCOPED_TRACE(fault);
            auto const verdicts = prove_with(machine_of(2), {fault}, options).verdicts;
            EXPECT_EQ(complaints(verdicts), Lines{std::string("0:1 ") + check + " wrong(" + kind + ")"});
            EXPECT_EQ((*verdicts.pair(0, 1))[*parse_check(check)].at_bytes, 8u);
        }
    }
}

TEST(LadderCases, AFlagThatHangsBreaksThePairAndBytesStillGo) {
    auto const verdicts = prove_with(machine_of(2), {"flag:0:1=hang"}, whole_ladder()).verdicts;
    EXPECT_EQ(complaints(verdicts), Lines{"0:1 flag hang"});
    EXPECT_EQ(verdicts.status, Status::broken);
    EXPECT_EQ(*verdicts.route(0, 1),
              (RouteVerdict{0, 1, RouteVerdict::Use::direct, Engine::copy, 0, verdicts.route(0, 1)->direct_gbs,
                            verdicts.route(0, 1)->staged_gbs}));
}

TEST(LadderCases, APeerPathSlowerThanTheHostIsStaged) {
    auto const machine = machine_of(2);
    auto const staged = *prove_with(machine, {}).verdicts.route(0, 1)->staged_gbs;
    ASSERT_GT(staged, 11) << "the case needs staging that is faster";
    auto const verdicts = prove_with(machine, {"rate:0:1=9.9GB/s"}, whole_ladder()).verdicts;
    EXPECT_EQ(complaints(verdicts), Lines{});
    EXPECT_EQ(verdicts.status, Status::degraded);
    EXPECT_EQ(verdicts.route(0, 1)->use, RouteVerdict::Use::staged);
    EXPECT_NEAR(*verdicts.route(0, 1)->direct_gbs, 9.9, 0.2);
    EXPECT_EQ(verdicts.route(1, 0)->use, RouteVerdict::Use::direct);
}

TEST(LadderCases, ALatencyOfMillisecondsIsStagedToo) {
    auto const verdicts = prove_with(machine_of(2), {"latency:1:0=49ms"}, whole_ladder()).verdicts;
    EXPECT_EQ(complaints(verdicts), Lines{});
    EXPECT_EQ(verdicts.status, Status::degraded);
    EXPECT_EQ(verdicts.route(1, 0)->use, RouteVerdict::Use::staged);
    EXPECT_EQ(verdicts.route(0, 1)->use, RouteVerdict::Use::direct);
    EXPECT_NEAR((*verdicts.pair(1, 0))[Check::push].small_seconds.value_or(0), 49e-3, 1e-3) << "of 8 bytes";
    EXPECT_LT((*verdicts.pair(0, 1))[Check::push].small_seconds.value_or(1), 1e-3);
    EXPECT_EQ(read_verdicts(write_verdicts(verdicts), "test"), verdicts);
}

TEST(LadderCases, WhereThePusherFailsTheOtherSidePulls) {
    auto const verdicts = prove_with(machine_of(2), {"push:1:0=zero"}, whole_ladder()).verdicts;
    EXPECT_EQ(verdicts.route(1, 0)->use, RouteVerdict::Use::direct);
    EXPECT_EQ(verdicts.route(1, 0)->issuer, 0);
    EXPECT_EQ(verdicts.route(0, 1)->issuer, 0);
    EXPECT_EQ(verdicts.status, Status::broken);
}

TEST(LadderCases, AWrongHostPathIsInconclusiveWhateverDirectSays) {
    for (auto const* effect : {"flip", "hang", "error719"}) {
        auto const verdicts = prove_with(machine_of(2), {std::string("host:0:1=") + effect}, whole_ladder()).verdicts;
        EXPECT_EQ(verdicts.status, Status::inconclusive) << effect;
    }
}

TEST(LadderCases, ALinkThatGoesDownLaterFailsFromThenOn) {
    auto const verdicts = prove_with(machine_of(2), {"link:0:1=down@30ms"}, whole_ladder()).verdicts;
    EXPECT_EQ((*verdicts.pair(0, 1))[Check::claim].result, Result::ok);
    EXPECT_EQ((*verdicts.pair(1, 0))[Check::load].code, 220);
    EXPECT_EQ(verdicts.status, Status::broken);
}

}  // namespace
}  // namespace peerlane
