// Which steps a proof takes, and what is made of their outcomes.
#include <array>
#include <stdexcept>

#include <gtest/gtest.h>

#include <peerlane/prove.hpp>

#include "prove/ladder.hpp"

namespace peerlane::prove {
namespace {

Machine machine_of(int devices) {
    Machine machine;
    for (int id = 0; id < devices; ++id) {
        machine.devices.push_back({id});
    }
    complete_pairs(machine);
    return machine;
}

constexpr std::array<std::uint64_t, 3> sizes{16 * MiB + 36, 4096, 4096};

TEST(Steps, EveryPairGetsTheWholeLadderInOrder) {
    auto const steps = first_proof_steps(machine_of(4), {}, sizes, 9);
    EXPECT_EQ(steps.size(), 12u * (6 + 1));
    int controls = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(steps[i].seed, 9u);
        if (steps[i].kind == ProbeStep::Kind::control) {
            ++controls;
            EXPECT_EQ(steps[i].sizes, (std::vector<std::uint64_t>{4096, 16 * MiB + 36}));
            continue;
        }
        if (steps[i].check == Check::claim) {
            for (std::size_t k = 0; k < 6; ++k) {
                EXPECT_EQ(steps[i + k].check, all_checks[k]);
                EXPECT_EQ(steps[i + k].accessor, steps[i].accessor);
                EXPECT_EQ(steps[i + k].sizes.empty(), k < 2);
            }
        }
    }
    EXPECT_EQ(controls, 12);
    EXPECT_EQ(describe(steps[0]), "control 0>1");
    EXPECT_EQ(describe(steps[1]), "control 1>0");
    EXPECT_EQ(describe(steps[4]), "0:1 push");
    EXPECT_EQ(describe(steps[10]), "1:0 push") << "both directions of two devices follow each other";
}

TEST(Steps, OnePairGetsTheControlOfBothItsDataDirections) {
    std::array<DirectedPair, 2> const pair{{{2, 1}, {2, 1}}};
    auto const steps = first_proof_steps(machine_of(3), pair, sizes, 1);
    ASSERT_EQ(steps.size(), 8u);
    EXPECT_EQ(describe(steps[0]), "control 2>1");
    EXPECT_EQ(describe(steps[1]), "control 1>2");
    EXPECT_EQ(describe(steps[2]), "2:1 claim");
}

TEST(Steps, RefusesPairsAndSizesThatAreNone) {
    for (auto const& pair : {DirectedPair{0, 2}, DirectedPair{-1, 0}, DirectedPair{1, 1}}) {
        std::array<DirectedPair, 1> const pairs{pair};
        EXPECT_THROW(first_proof_steps(machine_of(2), pairs, sizes, 1), std::invalid_argument);
    }
    std::array<std::uint64_t, 1> const zero{0};
    EXPECT_THROW(first_proof_steps(machine_of(2), {}, zero, 1), std::invalid_argument);
    EXPECT_THROW(first_proof_steps(machine_of(2), {}, {}, 1), std::invalid_argument);
    EXPECT_TRUE(first_proof_steps(machine_of(1), {}, sizes, 1).empty());
}

TEST(Assemble, SortsAndSaysWhatWasNotTried) {
    auto const machine = machine_of(3);
    std::vector<ProbeOutcome> const outcomes{
        {{ProbeStep::Kind::check, Check::push, 2, 0}, {Result::ok}},
        {{ProbeStep::Kind::control, Check::claim, 2, 0}, {Result::ok}},
        {{ProbeStep::Kind::check, Check::claim, 0, 2}, {Result::no}},
        {{ProbeStep::Kind::check, Check::claim, 2, 0}, {Result::ok}},
    };
    auto const verdicts = assemble(machine, outcomes, 3, true);
    EXPECT_TRUE(verdicts.simulated);
    EXPECT_EQ(verdicts.seed, 3u);
    ASSERT_EQ(verdicts.pairs.size(), 2u);
    EXPECT_EQ(verdicts.pairs[0].accessor, 0);
    EXPECT_EQ((*verdicts.pair(2, 0))[Check::push].result, Result::ok);
    EXPECT_EQ((*verdicts.pair(2, 0))[Check::flag].result, Result::skipped);
    EXPECT_EQ((*verdicts.pair(2, 0))[Check::flag].reason, "not part of this proof");
    ASSERT_EQ(verdicts.control.size(), 1u);
    EXPECT_EQ(verdicts.route(2, 0)->use, RouteVerdict::Use::direct);
    EXPECT_THROW(assemble(machine_of(2), outcomes, 3, true), std::invalid_argument);
}

TEST(Limits, NoDecoyWhereWritingFailedBefore) {
    ProbeStep const push{ProbeStep::Kind::check, Check::push, 0, 1}, store{ProbeStep::Kind::check, Check::store, 0, 1};
    ProbeStep const pull{ProbeStep::Kind::check, Check::pull, 0, 1}, load{ProbeStep::Kind::check, Check::load, 0, 1};
    ProbeStep const other{ProbeStep::Kind::check, Check::pull, 1, 0};
    for (auto const result : {Result::hang, Result::error}) {
        std::vector<ProbeOutcome> const before{{push, {result}}, {store, {Result::ok}}};
        EXPECT_FALSE(limits_of(pull, before, 2).decoy);
        EXPECT_TRUE(limits_of(load, before, 2).decoy);
        EXPECT_TRUE(limits_of(other, before, 2).decoy);
    }
    EXPECT_TRUE(limits_of(pull, {{push, {Result::wrong}}}, 2).decoy);
    EXPECT_EQ(limits_of(pull, {}, 10).seconds_per_size, 2);
    ProbeStep const sized{ProbeStep::Kind::check, Check::pull, 0, 1, {8, 4096}};
    EXPECT_DOUBLE_EQ(limits_of(sized, {}, 1).seconds_per_size, 0.4);
}

}  // namespace
}  // namespace peerlane::prove
