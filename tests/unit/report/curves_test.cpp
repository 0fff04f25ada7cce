// What is predicted of each kind of way: laws that hold for every machine, and single cases.

#include <gtest/gtest.h>

#include <peerlane/named.hpp>
#include <peerlane/report.hpp>

#include "verdicts.hpp"

namespace peerlane {
namespace {

using report_tests::all_right;

const WayCurve* way(const DirectionCurves& curves, const std::string& name) {
    for (auto const& one : curves.ways) {
        if (one.name == name) {
            return &one;
        }
    }
    return nullptr;
}

TEST(Curves, TheChosenWayIsTheFastestUpToATie) {
    auto const machine = load_machine("v100-partial-mesh").machine();
    Planner const planner(machine, all_right(machine), {});
    auto const curves = curves_of(planner, {{0, 1}, {0, 3}, {3, 0}});
    ASSERT_EQ(curves.directions.size(), 3U);
    ASSERT_GE(curves.sizes.size(), 10U);
    for (auto const& direction : curves.directions) {
        ASSERT_EQ(direction.chosen.size(), curves.sizes.size());
        for (std::size_t i = 0; i < curves.sizes.size(); ++i) {
            ASSERT_GE(direction.chosen[i], 0);
            auto const chosen = direction.ways.at(static_cast<std::size_t>(direction.chosen[i])).seconds[i];
            ASSERT_TRUE(chosen.has_value());
            EXPECT_EQ(*chosen,
                      planner.explain(gpu(direction.source), gpu(direction.destination), curves.sizes[i]).predicted_s);
            for (auto const& other : direction.ways) {
                ASSERT_EQ(other.seconds.size(), curves.sizes.size());
                // A further route has to gain something before it is taken (plan::Decision).
                EXPECT_TRUE(!other.seconds[i] || *chosen <= *other.seconds[i] * 1.15)
                    << other.name << " at " << curves.sizes[i];
            }
        }
        EXPECT_EQ(direction.ranges.front().from, curves.sizes.front());
    }
}

TEST(Curves, OnlyWhatMayBeUsedIsThere) {
    auto const machine = load_machine("h200-pair").machine();
    auto verdicts = all_right(machine);
    auto const one = curves_of(Planner(machine, verdicts, {}), {{0, 1}}).directions.front();
    EXPECT_NE(way(one, "direct"), nullptr);
    EXPECT_NE(way(one, "staged"), nullptr);
    EXPECT_EQ(way(one, "relayed"), nullptr) << "there is no third device";
    for (auto& pair : verdicts.pairs) {
        for (auto& check : pair.checks) {
            check = CheckResult{Result::no};
        }
    }
    judge(verdicts);
    auto const none = curves_of(Planner(machine, verdicts, {}), {{0, 1}}).directions.front();
    ASSERT_EQ(none.ways.size(), 1U);
    EXPECT_EQ(none.ways.front().name, "staged");
    EXPECT_EQ(none.chosen, std::vector<int>(none.chosen.size(), 0));
}

TEST(Curves, WhereNothingMayBeUsedNothingIsChosen) {
    auto const machine = load_machine("h200-pair").machine();
    auto verdicts = all_right(machine);
    for (auto& pair : verdicts.pairs) {
        for (auto& check : pair.checks) {
            check = CheckResult{Result::wrong};
        }
    }
    for (auto& arm : verdicts.control) {
        arm.staged = CheckResult{Result::wrong};
    }
    judge(verdicts);
    auto const curves = curves_of(Planner(machine, verdicts, {}), {{0, 1}}).directions.front();
    EXPECT_TRUE(curves.ways.empty());
    EXPECT_EQ(curves.chosen, std::vector<int>(curves.chosen.size(), -1));
    ASSERT_EQ(curves.ranges.size(), 1U);
    EXPECT_EQ(curves.ranges.front().words, "nothing that may be used");
}

TEST(Curves, ProvenRatesStandInForThoseOfTheDescription) {
    auto const machine = load_machine("h200-pair").machine();
    auto verdicts = all_right(machine);
    for (auto const check : {Check::push, Check::store}) {
        (*verdicts.pair(0, 1))[check].gbs = 50;
    }
    for (auto const check : {Check::pull, Check::load}) {
        (*verdicts.pair(1, 0))[check].gbs = 50;
    }
    judge(verdicts);
    Planner const planner(with_proven_rates(machine, verdicts), verdicts, {});
    auto const curves = curves_of(planner, {{0, 1}, {1, 0}});
    auto const& slow = *way(*curves.of(0, 1), "direct");
    auto const& fast = *way(*curves.of(1, 0), "direct");
    auto const gbs = [&](const WayCurve& curve) {
        return static_cast<double>(curves.sizes.back()) / curve.seconds.back().value() / 1e9;
    };
    EXPECT_NEAR(gbs(slow), 50, 5);
    EXPECT_NEAR(gbs(fast), 300, 30);
    EXPECT_EQ(curves.of(0, 5), nullptr);
}

}  // namespace
}  // namespace peerlane
