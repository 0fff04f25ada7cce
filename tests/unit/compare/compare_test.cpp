// Many nodes that should be alike.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peerlane/compare.hpp>
#include <peerlane/error.hpp>
#include <peerlane/named.hpp>

#include "machine/write/writers.hpp"

namespace peerlane {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A small change of rate that repeats: nodes are never equal to the last digit.
double jitter(int node, int pair) {
    return 1 + 0.03 * ((node * 7 + pair * 13) % 11 - 5) / 5;
}

Verdicts verdicts_of(const Machine& machine, int node) {
    Verdicts verdicts;
    int number = 0;
    for (auto const& pair : machine.pairs) {
        PairVerdict verdict{pair.accessor, pair.owner};
        for (auto const check : all_checks) {
            verdict[check].result = Result::ok;
        }
        verdict[Check::push].gbs = 350 * jitter(node, number++);
        verdicts.pairs.push_back(verdict);
        verdicts.control.push_back({pair.accessor, pair.owner, {Result::ok}});
        verdicts.control.back().staged.gbs = 45 * jitter(node, number);
    }
    judge(verdicts);
    return verdicts;
}

NodeReport node_of(const Machine& machine, const Verdicts& verdicts, int number) {
    return report_of("node-" + std::to_string(number), machine, verdicts, {{"driver", "580.65"}, {"kernel", "6.8.0"}});
}

std::vector<NodeReport> fleet(int count) {
    auto const machine = load_machine("h100-8").machine();
    std::vector<NodeReport> nodes;
    for (int i = 0; i < count; ++i) {
        nodes.push_back(node_of(machine, verdicts_of(machine, i), i));
    }
    return nodes;
}

std::vector<std::string> texts(const OddNode& node) {
    std::vector<std::string> all;
    for (auto const& one : node.differences) {
        all.push_back(one.text);
    }
    return all;
}

TEST(Compare, TwoHundredNodesOfWhichThreeAreOddInDifferentWays) {
    auto nodes = fleet(200);
    auto const whole = load_machine("h100-8").machine();
    // One device fell off the bus.
    auto seven = whole;
    seven.devices.pop_back();
    std::erase_if(seven.pairs, [](const Pair& pair) { return pair.accessor == 7 || pair.owner == 7; });
    nodes[17] = node_of(seven, verdicts_of(seven, 17), 17);
    // One pair is slow.
    auto slow = verdicts_of(whole, 90);
    (*slow.pair(2, 5))[Check::push].gbs = 200;
    judge(slow);
    nodes[90] = node_of(whole, slow, 90);
    // One check fails, under another driver.
    auto failing = verdicts_of(whole, 150);
    (*failing.pair(4, 1))[Check::load].result = Result::wrong;
    (*failing.pair(4, 1))[Check::load].kind = WrongKind::stale;
    judge(failing);
    nodes[150] = node_of(whole, failing, 150);
    nodes[150].traits["driver"] = "570.10";

    auto const found = compare(nodes, 0.1);
    EXPECT_EQ(found.nodes, 200);
    EXPECT_THAT(found.alike, AllOf(Contains("8 x NVIDIA H100 80GB HBM3"), Contains("driver 580.65"),
                                   Contains("kernel 6.8.0"), Contains("56 NV18")));
    ASSERT_THAT(found.odd, SizeIs(3));
    EXPECT_EQ(found.odd[0].name, "node-150");
    EXPECT_THAT(texts(found.odd[0]), ElementsAre("4:1 load wrong (stale)", "driver is 570.10, not 580.65"));
    EXPECT_EQ(found.odd[1].name, "node-17");
    EXPECT_THAT(texts(found.odd[1]), ElementsAre("7 devices, not 8"));
    EXPECT_EQ(found.odd[2].name, "node-90");
    EXPECT_THAT(texts(found.odd[2]), ElementsAre(HasSubstr("2>5 is 43 % slower: 200 GB/s, not 350")));
}

TEST(Compare, WithinTheToleranceNothingDiffers) {
    EXPECT_THAT(compare(fleet(50), 0.1).odd, IsEmpty());
    EXPECT_THAT(compare(fleet(50), 0.0).odd, testing::Not(IsEmpty()));
    EXPECT_THAT(compare(fleet(1), 0.1).odd, IsEmpty());
    EXPECT_THAT(compare({}, 0.1).odd, IsEmpty());
}

TEST(Compare, ASlowDeviceIsCountedNotListedPairByPair) {
    auto nodes = fleet(20);
    for (auto& [direction, gbs] : nodes[3].rates) {
        gbs = direction.first == 6 || direction.second == 6 ? 100 : gbs;
    }
    auto const found = compare(nodes, 0.1);
    ASSERT_THAT(found.odd, SizeIs(1));
    ASSERT_THAT(found.odd[0].differences, SizeIs(5));
    EXPECT_EQ(found.odd[0].differences.back().text, "and 10 more of that kind");
}

TEST(Compare, AnotherTopologyOfAsManyDevicesIsToldByItsPaths) {
    auto nodes = fleet(9);
    auto machine = load_machine("h100-8").machine();
    for (auto const& [a, b] : {std::pair(0, 1), std::pair(1, 0)}) {
        machine.pair(a, b)->nvlinks = 17;
    }
    nodes[4] = node_of(machine, verdicts_of(machine, 4), 4);
    auto const found = compare(nodes, 0.1);
    ASSERT_THAT(found.odd, SizeIs(1));
    EXPECT_EQ(found.odd[0].differences[0].kind, Difference::Kind::topology);
    EXPECT_THAT(found.odd[0].differences[0].text, HasSubstr("2 NV17"));
}

TEST(Compare, WhatIsUsualIsNoDifferenceHoweverBadItIs) {
    auto nodes = fleet(10);
    for (auto& node : nodes) {
        node.causes = {"iommu-translating"};
    }
    nodes[2].causes.emplace_back("link-downgraded");
    auto const found = compare(nodes, 0.1);
    EXPECT_THAT(found.alike, Contains("found iommu-translating"));
    ASSERT_THAT(found.odd, SizeIs(1));
    EXPECT_THAT(texts(found.odd[0]), ElementsAre("found link-downgraded"));
}

TEST(Compare, AFileThatCannotBeReadIsTheWorst) {
    auto nodes = fleet(5);
    nodes[1] = {};
    nodes[1].name = "broken";
    nodes[1].unreadable = "broken:1: no JSON";
    auto const found = compare(nodes, 0.1);
    ASSERT_THAT(found.odd, SizeIs(1));
    EXPECT_EQ(found.odd[0].differences[0].kind, Difference::Kind::unreadable);
}

TEST(Compare, AgainstOneThatIsAsItShouldBe) {
    auto const nodes = fleet(2);
    EXPECT_THAT(differences(nodes[0], nodes[1], 0.1), IsEmpty());
    auto worse = nodes[1];
    worse.rates[{0, 1}] = 50;
    worse.traits["driver"] = "1.0";
    worse.traits["extra"] = "not in the golden one";
    EXPECT_THAT(differences(nodes[0], worse, 0.1), SizeIs(2));
}

TEST(ReadReport, EveryDocumentOfOurs) {
    auto const machine = load_machine("h200-pair").machine();
    auto const verdicts = verdicts_of(machine, 0);
    auto const of_verdicts = read_report(write_verdicts(verdicts), "v.json");
    EXPECT_EQ(of_verdicts.devices, 2);
    EXPECT_THAT(of_verdicts.rates, SizeIs(2));
    auto const of_machine = read_report(write::json(machine), "m.json");
    EXPECT_EQ(of_machine.traits.at("topology"), "2 NV18");
    EXPECT_THAT(of_machine.rates, IsEmpty());
    auto text = write::json(machine);
    text.erase(std::remove(text.begin(), text.end(), '\n'), text.end());
    auto const record = "{\"schema\":\"peerlane.record/1\"}\n{\"machine\":" + text + "}\n{\"begin\":{}}\n";
    auto const cut = read_report(record, "r.jsonl");
    EXPECT_THAT(cut.failed, ElementsAre("the run did not come to its end"));
    auto const whole = read_report(record + "{\"verdicts\":" + write_verdicts(verdicts, -1) + "}\n", "r.jsonl");
    EXPECT_THAT(whole.failed, IsEmpty());
    EXPECT_EQ(whole.devices, 2);
    EXPECT_EQ(whole.status, Status::healthy);
}

TEST(ReadReport, OtherTextsAreRefusedWithTheFile) {
    for (auto const* const text : {"", "{}", "[1,2]", "{\"schema\": \"peerlane.plan/1\"}", "{\"schema\":",
                                   "{\"schema\":\"peerlane.record/1\"}\n", "{\"schema\": \"peerlane.verdicts/1\"}",
                                   "{\"schema\":\"peerlane.record/1\"}\n{\"machine\":{\"devices\":3}}\n"}) {
        try {
            static_cast<void>(read_report(text, "odd.json"));
            ADD_FAILURE() << text;
        } catch (const InputError& error) {
            EXPECT_EQ(error.file(), "odd.json") << text;
        }
    }
}

}  // namespace
}  // namespace peerlane
