// Each test states the system and the expected numbers, then the code.

#include "model/sharing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "sharing_oracle.hpp"

namespace peerlane::model {
namespace {

constexpr double tight = 1e-9;

using Uses = std::vector<Use>;

TEST(Sharing, OneFlowTakesTheWholeLink) {
    // x <= 50  =>  x = 50
    Sharing sharing({50.0});
    FlowId const flow = sharing.add(Uses{{0}});
    EXPECT_EQ(sharing.solve().size(), 1u);
    EXPECT_NEAR(sharing.rate(flow), 50.0, tight);
    EXPECT_NEAR(sharing.load(0), 50.0, tight);
}

TEST(Sharing, SharesAreProportions) {
    // x1 + x2 <= 3, x1 = 2 x2  =>  x1 = 2, x2 = 1
    Sharing sharing({3.0});
    FlowId const first = sharing.add(Uses{{0}}, 2.0), second = sharing.add(Uses{{0}}, 1.0);
    sharing.solve();
    EXPECT_NEAR(sharing.rate(first), 2.0, tight);
    EXPECT_NEAR(sharing.rate(second), 1.0, tight);
}

TEST(Sharing, WeightsTakeMoreOfALink) {
    // x1 + 2 x2 <= 6, x1 = x2  =>  both 2, the link is full
    Sharing sharing({6.0});
    FlowId const light = sharing.add(Uses{{0, 1.0}}), heavy = sharing.add(Uses{{0, 2.0}});
    sharing.solve();
    EXPECT_NEAR(sharing.rate(light), 2.0, tight);
    EXPECT_NEAR(sharing.rate(heavy), 2.0, tight);
    EXPECT_NEAR(sharing.load(0), 6.0, tight);
}

TEST(Sharing, ALinkNamedTwiceCountsTwice) {
    // A flow that crosses one link twice: 2 x <= 10  =>  x = 5
    Sharing sharing({10.0});
    FlowId const flow = sharing.add(Uses{{0}, {0}});
    sharing.solve();
    EXPECT_NEAR(sharing.rate(flow), 5.0, tight);
    EXPECT_NEAR(sharing.load(0), 10.0, tight);
}

TEST(Sharing, WhatACapLeavesGoesToTheOthers) {
    // x1 + x2 + x3 <= 12, x1 <= 2  =>  2, 5, 5
    Sharing sharing({12.0});
    FlowId const slow = sharing.add(Uses{{0}}, 1.0, 2.0), a = sharing.add(Uses{{0}}), b = sharing.add(Uses{{0}});
    sharing.solve();
    EXPECT_NEAR(sharing.rate(slow), 2.0, tight);
    EXPECT_NEAR(sharing.rate(a), 5.0, tight);
    EXPECT_NEAR(sharing.rate(b), 5.0, tight);
}

TEST(Sharing, TheLongFlowOfALineYields) {
    // Links of 10, 4 and 10; one flow over all three and one on each: x0 + x2 <= 4 fills first  =>  2 each;
    // then x1 = 10 - 2, x3 = 10 - 2
    Sharing sharing({10.0, 4.0, 10.0});
    FlowId const all = sharing.add(Uses{{0}, {1}, {2}});
    FlowId const first = sharing.add(Uses{{0}}), second = sharing.add(Uses{{1}}), third = sharing.add(Uses{{2}});
    sharing.solve();
    EXPECT_NEAR(sharing.rate(all), 2.0, tight);
    EXPECT_NEAR(sharing.rate(first), 8.0, tight);
    EXPECT_NEAR(sharing.rate(second), 2.0, tight);
    EXPECT_NEAR(sharing.rate(third), 8.0, tight);
}

TEST(Sharing, FourFlowsThroughOneUplink) {
    // Four devices of 12 GB/s behind an uplink of 11: 2.75 each. One leaves: 11 / 3 each.
    Sharing sharing({12.0, 12.0, 12.0, 12.0, 11.0});
    std::array<FlowId, 4> flows{};
    for (int device = 0; device < 4; ++device)
        flows[device] = sharing.add(Uses{{device}, {4}});
    sharing.solve();
    for (FlowId const flow : flows)
        EXPECT_NEAR(sharing.rate(flow), 2.75, tight);
    sharing.remove(flows[1]);
    EXPECT_EQ(sharing.solve().size(), 3u);
    EXPECT_NEAR(sharing.rate(flows[0]), 11.0 / 3.0, tight);
    EXPECT_NEAR(sharing.load(1), 0.0, tight);
    EXPECT_NEAR(sharing.load(4), 11.0, tight);
}

TEST(Sharing, AFlowWithoutLinksRunsAtItsCap) {
    Sharing sharing({1.0});
    FlowId const local = sharing.add({}, 1.0, 7.5);
    sharing.solve();
    EXPECT_NEAR(sharing.rate(local), 7.5, tight);
}

TEST(Sharing, ALinkThatIsDownStopsItsFlowsAndNoOthers) {
    // x1 on links 0 and 1, x2 on link 0. Link 1 goes to zero: x1 = 0, x2 = 8. It comes back: 4 and 4.
    Sharing sharing({8.0, 8.0});
    FlowId const across = sharing.add(Uses{{0}, {1}}), here = sharing.add(Uses{{0}});
    sharing.solve();
    sharing.set_capacity(1, 0.0);
    sharing.solve();
    EXPECT_EQ(sharing.rate(across), 0.0);
    EXPECT_NEAR(sharing.rate(here), 8.0, tight);
    sharing.set_capacity(1, 8.0);
    sharing.solve();
    EXPECT_NEAR(sharing.rate(across), 4.0, tight);
    EXPECT_NEAR(sharing.rate(here), 4.0, tight);
}

TEST(Sharing, OnlyChangedFlowsAreReported) {
    // Links 0 and 1 have nothing in common: a second flow on link 0 changes nothing on link 1. A cap above the fair
    // share changes nothing either.
    Sharing sharing({10.0, 10.0});
    FlowId const zero = sharing.add(Uses{{0}}), one = sharing.add(Uses{{1}});
    EXPECT_EQ(sharing.solve().size(), 2u);
    EXPECT_TRUE(sharing.solve().empty());
    FlowId const late = sharing.add(Uses{{0}});
    auto const changed = sharing.solve();
    EXPECT_EQ(changed.size(), 2u);
    EXPECT_EQ(std::count(changed.begin(), changed.end(), one), 0);
    sharing.set_cap(late, 6.0);
    EXPECT_TRUE(sharing.solve().empty());
    sharing.set_cap(late, 3.0);
    EXPECT_EQ(sharing.solve().size(), 2u);
    EXPECT_NEAR(sharing.rate(zero), 7.0, tight);
}

TEST(Sharing, RatesAreThoseOfTheLastSolve) {
    Sharing sharing({10.0});
    FlowId const flow = sharing.add(Uses{{0}});
    EXPECT_EQ(sharing.rate(flow), 0.0);
    sharing.solve();
    sharing.set_capacity(0, 4.0);
    EXPECT_NEAR(sharing.rate(flow), 10.0, tight);
    EXPECT_NEAR(sharing.load(0), 10.0, tight);
    sharing.solve();
    EXPECT_NEAR(sharing.load(0), 4.0, tight);
}

TEST(Sharing, AReusedIdIsANewFlow) {
    Sharing sharing({10.0, 3.0});
    FlowId const old = sharing.add(Uses{{0}});
    sharing.solve();
    sharing.remove(old);
    FlowId const next = sharing.add(Uses{{1}});
    EXPECT_EQ(next, old);
    EXPECT_EQ(sharing.rate(next), 0.0);
    auto const changed = sharing.solve();
    ASSERT_EQ(changed.size(), 1u);
    EXPECT_NEAR(sharing.rate(next), 3.0, tight);
    EXPECT_EQ(sharing.load(0), 0.0);
}

TEST(Sharing, SharesFarApartKeepTheSmallFlowRight) {
    // x1 = 1e12 level with cap 1, x2 = level: x1 stops at 1, x2 takes the 9 that are left although the sum of shares
    // held 1e12 before.
    Sharing sharing({10.0});
    FlowId const big = sharing.add(Uses{{0}}, 1e12, 1.0), small = sharing.add(Uses{{0}}, 1e-3);
    sharing.solve();
    EXPECT_NEAR(sharing.rate(big), 1.0, tight);
    EXPECT_NEAR(sharing.rate(small), 9.0, tight);
}

TEST(Sharing, RefusesWhatHasNoMeaning) {
    EXPECT_THROW(Sharing({-1.0}), std::invalid_argument);
    EXPECT_THROW(Sharing({std::nan("")}), std::invalid_argument);
    Sharing sharing({1.0});
    EXPECT_THROW(sharing.add({}), std::invalid_argument);
    EXPECT_THROW(sharing.add(Uses{{0, 0.0}}), std::invalid_argument);
    EXPECT_THROW(sharing.add(Uses{{1}}), std::invalid_argument);
    EXPECT_THROW(sharing.add(Uses{{0, -1.0}}), std::invalid_argument);
    EXPECT_THROW(sharing.add(Uses{{0}}, 0.0), std::invalid_argument);
    EXPECT_THROW(sharing.add(Uses{{0}}, 1.0, -1.0), std::invalid_argument);
    EXPECT_THROW(sharing.remove(0), std::invalid_argument);
    FlowId const flow = sharing.add(Uses{{0}});
    sharing.remove(flow);
    EXPECT_THROW((void)sharing.rate(flow), std::invalid_argument);
    EXPECT_THROW((void)sharing.load(1), std::invalid_argument);
}

TEST(SharingRandom, AgreesWithTheNaiveOracleOnAThousandSystems) {
    for (std::uint32_t seed = 1; seed <= 1000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomSystem const system = random_system(seed);
        Sharing sharing(system.capacity);
        std::vector<FlowId> ids;
        for (OracleFlow const& flow : system.flows)
            ids.push_back(sharing.add(flow.uses, flow.share, flow.cap));
        sharing.solve();
        auto const expected = naive_max_min(system.capacity, system.flows);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            ASSERT_NEAR(sharing.rate(ids[i]), expected[i], 1e-6 * std::max(1.0, expected[i])) << "flow " << i;
        }
    }
}

TEST(SharingRandom, LoadsAreSumsAndStayWithinCapacity) {
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomSystem const system = random_system(seed);
        Sharing sharing(system.capacity);
        std::vector<FlowId> ids;
        for (OracleFlow const& flow : system.flows)
            ids.push_back(sharing.add(flow.uses, flow.share, flow.cap));
        sharing.solve();
        std::vector<double> sum(system.capacity.size(), 0.0);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            for (Use const& use : system.flows[i].uses)
                sum[static_cast<std::size_t>(use.link)] += use.weight * sharing.rate(ids[i]);
        }
        for (std::size_t link = 0; link < sum.size(); ++link) {
            ASSERT_NEAR(sharing.load(static_cast<int>(link)), sum[link], 1e-9 * std::max(1.0, sum[link]));
            ASSERT_LE(sum[link], system.capacity[link] * (1.0 + 1e-9) + 1e-9);
        }
    }
}

TEST(SharingRandom, AnyHistoryEndsWhereAFreshStartEnds) {
    for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random(seed);
        RandomSystem system = random_system(seed);
        Sharing sharing(system.capacity);
        std::vector<std::pair<FlowId, OracleFlow>> live;
        std::vector<double> reported(4096, -1.0);
        for (int step = 0; step < 200; ++step) {
            auto const what = random() % 10;
            if (what < 5 || live.empty()) {
                OracleFlow const flow = random_flow(random, static_cast<int>(system.capacity.size()));
                live.emplace_back(sharing.add(flow.uses, flow.share, flow.cap), flow);
                reported[live.back().first] = -1.0;
            } else if (what < 8) {
                auto const which = random() % live.size();
                sharing.remove(live[which].first);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
            } else if (what == 8) {
                auto const which = random() % live.size();
                live[which].second.cap = 0.5 + static_cast<double>(random() % 100) / 10.0;
                sharing.set_cap(live[which].first, live[which].second.cap);
            } else {
                auto const link = random() % system.capacity.size();
                system.capacity[link] = static_cast<double>(random() % 40);
                sharing.set_capacity(static_cast<int>(link), system.capacity[link]);
            }
            if (random() % 3 == 0)
                continue;  // several changes before one solve
            for (FlowId const flow : sharing.solve())
                reported[flow] = sharing.rate(flow);
            Sharing fresh(system.capacity);
            std::vector<FlowId> ids;
            for (auto const& [id, flow] : live)
                ids.push_back(fresh.add(flow.uses, flow.share, flow.cap));
            fresh.solve();
            for (std::size_t i = 0; i < live.size(); ++i) {
                ASSERT_NEAR(sharing.rate(live[i].first), fresh.rate(ids[i]), 1e-9 * std::max(1.0, fresh.rate(ids[i])));
                ASSERT_EQ(reported[live[i].first], sharing.rate(live[i].first)) << "a change was not reported";
            }
            for (std::size_t link = 0; link < system.capacity.size(); ++link) {
                ASSERT_NEAR(sharing.load(static_cast<int>(link)), fresh.load(static_cast<int>(link)), 1e-8);
            }
        }
    }
}

TEST(SharingRandom, ScalingCapacitiesAndCapsScalesRates) {
    for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomSystem system = random_system(seed);
        Sharing once(system.capacity);
        for (OracleFlow const& flow : system.flows)
            once.add(flow.uses, flow.share, flow.cap);
        once.solve();
        for (double& capacity : system.capacity)
            capacity *= 3.0;
        Sharing thrice(system.capacity);
        for (OracleFlow const& flow : system.flows)
            thrice.add(flow.uses, flow.share, flow.cap * 3.0);
        thrice.solve();
        for (FlowId flow = 0; flow < system.flows.size(); ++flow) {
            ASSERT_NEAR(thrice.rate(flow), 3.0 * once.rate(flow), 1e-8 * std::max(1.0, thrice.rate(flow)));
        }
    }
}

}  // namespace
}  // namespace peerlane::model
