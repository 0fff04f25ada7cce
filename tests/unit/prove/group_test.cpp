// Pairs together, links that go down, devices that stay busy.
#include <algorithm>

#include <gtest/gtest.h>

#include "simulated.hpp"

namespace peerlane {
namespace {

using test::complaints;
using test::machine_of;
using test::prove_with;
using Lines = std::vector<std::string>;

prove::ProveOptions with_groups() {
    prove::ProveOptions options;
    options.groups = true;
    return options;
}

std::vector<std::string> names_of(const Verdicts& verdicts) {
    std::vector<std::string> names;
    for (auto const& group : verdicts.groups) {
        names.push_back(group.name + (group.pull ? " pulled" : " pushed"));
    }
    return names;
}

TEST(Groups, EveryPatternBothWaysOnAHealthyMachine) {
    for (auto const devices : {3, 4, 8}) {
        for (auto const path : {PathClass::nv, PathClass::pix, PathClass::sys}) {
            auto const verdicts = prove_with(machine_of(devices, path), {}, with_groups()).verdicts;
            EXPECT_EQ(complaints(verdicts), Lines{});
            EXPECT_EQ(verdicts.status, Status::healthy) << devices;
            EXPECT_EQ(verdicts.groups.size(), static_cast<std::size_t>(devices == 3 ? 14 : 2 * (2 * devices + 2)));
            for (auto const& group : verdicts.groups) {
                EXPECT_EQ(group.result, Result::ok) << group.name << ": " << group.reason;
                ASSERT_EQ(group.rates.size(), group.pairs.size());
                EXPECT_DOUBLE_EQ(*group.gbs, *std::min_element(group.rates.begin(), group.rates.end()));
                EXPECT_FALSE(collapsed(verdicts, group)) << group.name;
            }
        }
    }
}

TEST(Groups, TwoDevicesMoveBothWaysAtOnce) {
    auto const verdicts = prove_with(machine_of(2), {}, with_groups()).verdicts;
    EXPECT_EQ(names_of(verdicts), (Lines{"all at once pushed", "all at once pulled"}));
}

TEST(Groups, PairsThatAreGoodAloneAndCollapseTogetherAreFound) {
    auto const verdicts = prove_with(machine_of(4), {"together:3+=0.04GB/s"}, with_groups()).verdicts;
    EXPECT_EQ(complaints(verdicts), Lines{});
    EXPECT_EQ(verdicts.status, Status::degraded);
    for (auto const& group : verdicts.groups) {
        EXPECT_EQ(group.result, Result::ok);
        EXPECT_EQ(collapsed(verdicts, group), group.pairs.size() >= 3) << group.name;
        if (group.pairs.size() >= 3) {
            EXPECT_NEAR(*group.gbs, 0.04, 0.002);
        }
    }
}

TEST(Groups, PairsThatShareNothingGetWhatTheyGetAlone) {
    auto const verdicts = prove_with(machine_of(4, PathClass::nv), {}, with_groups()).verdicts;
    for (auto const& group : verdicts.groups) {
        if (group.name == "disjoint pairs") {
            auto const alone = *(*verdicts.pair(0, 1))[group.pull ? Check::pull : Check::push].gbs;
            EXPECT_NEAR(*group.gbs, alone, 0.05 * alone);
        }
    }
}

TEST(Groups, AMachineThatAnswersLateIsRatedOverFewerCopies) {
    auto const slow = prove_with(machine_of(2), {"rate:any:any=0.02GB/s"}, with_groups()).verdicts;
    for (auto const& group : slow.groups) {
        EXPECT_EQ(group.result, Result::ok) << group.reason;
        EXPECT_NEAR(*group.gbs, 0.02, 0.001);
    }
}

TEST(Groups, PairsThatFailedAreLeftOut) {
    auto const verdicts = prove_with(machine_of(3), {"push:0:1=flip"}, with_groups()).verdicts;
    for (auto const& group : verdicts.groups) {
        EXPECT_EQ(group.result, Result::ok);
        for (auto const& pair : group.pairs) {
            EXPECT_FALSE(!group.pull && pair == std::pair(0, 1));
        }
    }
    EXPECT_EQ(verdicts.groups.size(), 12u) << "pushes out of 0 and into 1 are no groups any more";
}

TEST(Groups, HalfOfTheMappingSlotsIsEnoughForAllAtOnce) {
    auto const verdicts = prove_with(machine_of(6), {"map:any:any=limit3"}, with_groups()).verdicts;
    for (auto const& group : verdicts.groups) {
        EXPECT_EQ(group.result, Result::ok) << group.name << ": " << group.reason;
    }
    auto const fewer = prove_with(machine_of(6), {"map:any:any=limit1"}, with_groups()).verdicts;
    EXPECT_EQ(complaints(fewer), Lines{});
    EXPECT_EQ(fewer.groups.back().result, Result::skipped);
    EXPECT_NE(fewer.groups.back().reason.find("cannot be mapped beside the others"), std::string::npos);
}

TEST(Groups, VerdictsReadBack) {
    auto const verdicts = prove_with(machine_of(3), {"together:3+=0.04GB/s"}, with_groups()).verdicts;
    EXPECT_EQ(read_verdicts(write_verdicts(verdicts), "test"), verdicts);
}

TEST(Ways, GrantsOfPoolAndVirtualMemoryAreKeptInTheMapCheck) {
    prove::ProveOptions options;
    options.checks.assign(all_checks.begin(), all_checks.end());
    options.ways = true;
    auto const verdicts = prove_with(machine_of(3), {"load:0:1=flip"}, options).verdicts;
    EXPECT_EQ(complaints(verdicts), Lines{"0:1 load wrong(flip)"});
    for (auto const& pair : verdicts.pairs) {
        auto const& ways = pair[Check::map].ways;
        if (pair.accessor == 0 && pair.owner == 1) {
            ASSERT_EQ(ways.size(), 5u);
            EXPECT_EQ(ways[1].result, Result::skipped) << "a pair whose kernels do not work tells nothing of grants";
            EXPECT_NE(ways[2].reason.find("are not right"), std::string::npos) << ways[2].reason;
            EXPECT_EQ(ways[4].way, "import_virtual");
            EXPECT_EQ(ways[4].result, Result::skipped);
            continue;
        }
        ASSERT_EQ(ways.size(), 5u);
        EXPECT_EQ(ways[0].way, "enable");
        EXPECT_EQ(ways[1], (MappingWay{"pool", Result::ok}));
        EXPECT_EQ(ways[2], (MappingWay{"virtual", Result::ok}));
        EXPECT_EQ(ways[3], (MappingWay{"import_legacy", Result::ok}));
        EXPECT_EQ(ways[4], (MappingWay{"import_virtual", Result::ok}));
    }
    EXPECT_EQ(read_verdicts(write_verdicts(verdicts), "test"), verdicts);
}

TEST(Ways, ARefusedGrantDegradesAndWrongBytesBreak) {
    auto verdicts = prove_with(machine_of(2), {}).verdicts;
    verdicts.pairs[0][Check::map].ways.push_back({"pool", Result::error, 801, "refused"});
    judge(verdicts);
    EXPECT_EQ(verdicts.status, Status::degraded);
    verdicts.pairs[0][Check::map].ways.back().result = Result::skipped;
    judge(verdicts);
    EXPECT_EQ(verdicts.status, Status::healthy);
    verdicts.pairs[0][Check::map].ways.back().result = Result::wrong;
    judge(verdicts);
    EXPECT_EQ(verdicts.status, Status::broken);
}

TEST(Link, DownBothWaysIsAnErrorThatSticksToNothing) {
    auto const proof = prove_with(machine_of(3), {"link:0:1=down@0ms"});
    EXPECT_EQ(proof.opened, 1) << "no fresh driver is needed";
    EXPECT_EQ(proof.verdicts.status, Status::broken);
    auto const lines = complaints(proof.verdicts);
    EXPECT_EQ(lines, (Lines{"0:1 push error220", "0:1 pull error220", "0:1 store error220", "0:1 load error220",
                            "1:0 push error220", "1:0 pull error220", "1:0 store error220", "1:0 load error220"}));
    EXPECT_EQ(proof.verdicts.route(0, 1)->use, RouteVerdict::Use::staged);
}

TEST(Wedge, NothingMoreIsSentToADeviceThatStaysBusy) {
    auto const proof = prove_with(machine_of(3), {"store:0:1=hang", "wedge:0"});
    auto const& verdicts = proof.verdicts;
    EXPECT_EQ((*verdicts.pair(0, 1))[Check::store].result, Result::hang);
    for (auto const& [accessor, owner] : {std::pair(0, 2), std::pair(2, 0), std::pair(1, 0)}) {
        for (auto const check : prove::first_checks) {
            auto const& result = (*verdicts.pair(accessor, owner))[check];
            EXPECT_EQ(result.result, Result::skipped) << accessor << ":" << owner << " " << to_string(check);
            EXPECT_EQ(result.reason, "device 0 is still busy with what 0:1 store left running");
        }
    }
    for (auto const check : prove::first_checks) {
        EXPECT_EQ((*verdicts.pair(1, 2))[check].result, Result::ok) << to_string(check);
    }
    EXPECT_EQ(std::count(proof.journal.begin(), proof.journal.end(), "begin 0:2 push"), 0);
    EXPECT_EQ(std::count(proof.journal.begin(), proof.journal.end(), "end 0:2 push skipped"), 1);
}

TEST(Wedge, WithoutAHangItIsNeverNoticed) {
    EXPECT_EQ(complaints(prove_with(machine_of(2), {"wedge:0"}).verdicts), Lines{});
}

}  // namespace
}  // namespace peerlane
