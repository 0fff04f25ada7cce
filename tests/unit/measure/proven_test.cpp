// Which groups and accesses are measured: bounded on large machines, every sort of pair among them.

#include <map>
#include <set>

#include <gtest/gtest.h>

#include <peerlane/named.hpp>

#include "measure/proven.hpp"

namespace peerlane::measuring {
namespace {

struct Planned {
    SimulatedMachine machine;
    Ground ground;
    std::vector<Leg> legs;
    std::vector<GroupPlan> groups;
    std::map<std::string, std::size_t> count;
    explicit Planned(const std::string& name, std::size_t most = 12)
        : machine(load_machine(name)),
          ground(ground_of(machine.machine(), {}, {}, nullptr, true)),
          legs(proven_legs(ground, false)),
          groups(plan_groups(ground, legs, most)) {
        for (auto const& group : groups) {
            ++count[group.name];
        }
    }
};

TEST(Groups, AreBoundedOnMachinesOfEightAndSixteen) {
    for (auto const* const name : {"dgx-1v", "dgx-2", "mi300x-8", "switchtec-flat-8"}) {
        Planned const planned(name);
        for (auto const& [kind, count] : planned.count) {
            EXPECT_LE(count, 12U) << name << " " << kind;
        }
        for (auto const* const kind : {"duplex", "all out of one", "all into one", "disjoint pairs", "ring", "relay"}) {
            EXPECT_GE(planned.count.count(kind), 1U) << name << " " << kind;
        }
    }
}

TEST(Groups, EverySortOfPairIsThere) {
    Planned const planned("dgx-1v", 4);
    std::set<int> links;
    for (auto const& group : planned.groups) {
        if (group.name == "duplex") {
            auto const& [from, to] = group.moves[0];
            links.insert(planned.machine.machine().pair(from.index, to.index)->nvlinks.value_or(0));
        }
    }
    EXPECT_EQ(links, (std::set<int>{1, 2})) << "NV1 and NV2; the others have no peer access";
}

TEST(Groups, MovesHaveLegsAndNoGroupStandsTwice) {
    Planned const planned("v100-partial-mesh");
    for (std::size_t i = 0; i < planned.groups.size(); ++i) {
        EXPECT_GE(planned.groups[i].moves.size(), 2U);
        for (auto const& [from, to] : planned.groups[i].moves) {
            EXPECT_TRUE(std::any_of(planned.legs.begin(), planned.legs.end(),
                                    [&, a = from, b = to](const Leg& leg) { return leg.from == a && leg.to == b; }));
        }
        for (std::size_t j = 0; j < i; ++j) {
            EXPECT_FALSE(planned.groups[i].moves == planned.groups[j].moves) << planned.groups[i].name;
        }
    }
}

TEST(Groups, HostLegsGoThroughTheNodeNearTheSource) {
    Planned const planned("dgx-1v");
    for (auto const& group : planned.groups) {
        if (group.name == "host legs") {
            auto const device = group.moves[0].first.index;
            EXPECT_EQ(group.moves[0].second, host(*planned.machine.machine().device(device)->numa));
            EXPECT_EQ(group.moves[1].first, group.moves[0].second);
        }
    }
}

TEST(Accesses, OfEveryPairWholeOnlyForSome) {
    Planned const planned("mi300x-8");
    auto const plans = plan_accesses(planned.ground, false);
    std::size_t peers = 0, whole = 0;
    for (auto const& plan : plans) {
        if (plan.place.is_device() && plan.place != gpu(plan.accessor)) {
            ++peers;
            whole += plan.whole ? 1 : 0;
        }
    }
    EXPECT_EQ(peers, 56U);
    EXPECT_EQ(whole, 8U);
}

}  // namespace
}  // namespace peerlane::measuring
