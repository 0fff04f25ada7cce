#include <algorithm>

#include <gtest/gtest.h>

#include <peerlane/named.hpp>
#include <peerlane/planner.hpp>
#include <peerlane/units.hpp>

#include "machine/renumber.hpp"

namespace peerlane {
namespace {

/// Two devices, 0 and 1, on PCIe 4 x16 ports of one NUMA node.
Machine pcie_pair() {
    Machine machine;
    auto& graph = machine.graph;
    graph.nodes = {{NodeKind::numa, 0, "numa:0", "", 0},
                   {NodeKind::host_bridge, 0, "host:0", "", 0},
                   {NodeKind::device, 0, "gpu0", "", -1},
                   {NodeKind::device, 1, "gpu1", "", -1}};
    auto const both = [&](int a, int b, Link link) {
        link.from = a, link.to = b;
        graph.links.push_back(link);
        link.from = b, link.to = a;
        graph.links.push_back(link);
    };
    both(0, 1, {0, 0, LinkKind::memory, {}, {}, 200.0, {}});
    both(2, 1, {0, 0, LinkKind::pcie, 4, 16, 31.5, {}});
    both(3, 1, {0, 0, LinkKind::pcie, 4, 16, 31.5, {}});
    machine.devices.resize(2);
    machine.devices[1].id = 1;
    complete_pairs(machine);
    for (auto& pair : machine.pairs) {
        pair.path = PathClass::phb;
    }
    return machine;
}

Verdicts proven(std::initializer_list<std::tuple<int, int, Check>> ok) {
    Verdicts verdicts;
    verdicts.pairs = {{0, 1, {}}, {1, 0, {}}};
    for (auto const& [accessor, owner, check] : ok) {
        (*verdicts.pair(accessor, owner))[check].result = Result::ok;
    }
    return verdicts;
}

Choice chosen(const Machine& machine, const Verdicts& verdicts, RoutePolicy policy = RoutePolicy::automatic) {
    return choose(machine, gpu(0), gpu(1), 64_MiB, {policy, &verdicts});
}

TEST(Choose, TheProvenSideCarriesTheBytes) {
    auto const machine = pcie_pair();
    EXPECT_EQ(describe(chosen(machine, proven({{0, 1, Check::push}})).routes[0]), "direct, pushed by gpu0");
    EXPECT_EQ(describe(chosen(machine, proven({{1, 0, Check::pull}})).routes[0]), "direct, pulled by gpu1");
    EXPECT_EQ(describe(chosen(machine, proven({{0, 1, Check::store}})).routes[0]), "direct, pushed by gpu0's kernel");
    EXPECT_EQ(describe(chosen(machine, proven({{1, 0, Check::load}})).routes[0]), "direct, pulled by gpu1's kernel");
    EXPECT_EQ(chosen(machine, proven({{1, 0, Check::push}, {0, 1, Check::pull}})).routes[0].legs.size(), 2u)
        << "the other direction proves nothing";
}

TEST(Choose, ADirectPathSlowerThanTheHostIsLeft) {
    auto machine = pcie_pair();
    machine.pair(0, 1)->measured.write_gbs = 9.9;
    machine.host = {{0, 25.0, 25.0, {}, {}}, {1, 25.0, 25.0, {}, {}}};
    auto const choice = chosen(machine, proven({{0, 1, Check::push}}));
    EXPECT_EQ(choice.routes[0].legs.size(), 2u);
    ASSERT_FALSE(choice.rejected.empty());
    EXPECT_NE(choice.rejected[0].reason.find("slower"), std::string::npos);
    EXPECT_NEAR(*choice.rejected[0].predicted_s, 64.0 * 1048576 / 9.9e9, 1e-4);
}

TEST(Choose, DirectOnDemandIsThePlainPushWhereNothingIsProven) {
    auto const choice = chosen(pcie_pair(), proven({}), RoutePolicy::direct);
    EXPECT_EQ(describe(choice.routes[0]), "direct, pushed by gpu0");
    EXPECT_NE(choice.why[0].find("nothing direct may be trusted"), std::string::npos);
}

TEST(Choose, AClaimIsTrustedOnlyWhenAsked) {
    auto const machine = pcie_pair();
    EXPECT_EQ(choose(machine, gpu(0), gpu(1), 64_MiB).routes[0].legs.size(), 2u);
    PlanOptions options;
    options.trust_claimed = true;
    auto const choice = choose(machine, gpu(0), gpu(1), 64_MiB, options);
    EXPECT_EQ(choice.routes[0].legs.size(), 1u);
    EXPECT_NE(choice.why[0].find("claimed, not proven"), std::string::npos);
}

TEST(Choose, AWrongHostPathIsNotUsed) {
    auto verdicts = proven({});
    verdicts.control = {{0, 1, {}}};
    verdicts.control[0].staged.result = Result::wrong;
    auto const choice = chosen(pcie_pair(), verdicts);
    EXPECT_TRUE(choice.routes.empty());
    EXPECT_EQ(choice.why[0], "nothing that may be trusted joins these places");
}

TEST(Choose, ChunksGrowWithSizeAndStayFew) {
    for (auto const bytes : {1_KiB, 256_KiB, 1_MiB, 16_MiB + 1, 64_MiB, 1_GiB, 4_GiB}) {
        auto const choice = choose(pcie_pair(), gpu(0), gpu(1), bytes);
        auto const& route = choice.routes[0];

        EXPECT_LE((bytes + route.chunk - 1) / route.chunk, 64u) << bytes;
        EXPECT_LE(route.chunk * static_cast<std::uint64_t>(route.buffers), 128_MiB) << bytes;
        EXPECT_GE(route.buffers, 1);
    }
}

TEST(Choose, StagingMemoryIsBoundedFirst) {
    PlanOptions options;
    options.staging_bytes = 1_MiB;
    auto const choice = choose(pcie_pair(), gpu(0), gpu(1), 1_GiB, options);
    EXPECT_EQ(choice.routes[0].chunk * static_cast<std::uint64_t>(choice.routes[0].buffers), 1_MiB);
}

TEST(Choose, PlacesThatAreNotThereAreNamed) {
    auto const message = [](Place from, Place to, std::uint64_t bytes = 1) {
        try {
            (void)choose(pcie_pair(), from, to, bytes);
        } catch (const std::invalid_argument& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(message(gpu(0), gpu(7)), "this machine has no gpu7: it has 2 devices");
    EXPECT_NE(message(host(3), gpu(0)).find("no host:3"), std::string::npos);
    EXPECT_NE(message(host(), host()).find("no device takes part"), std::string::npos);
    EXPECT_NE(message(gpu(0), gpu(1), 0).find("size is 0"), std::string::npos);
}

TEST(Choose, EveryRejectedWayHasItsReason) {
    auto const choice = chosen(pcie_pair(), proven({{0, 1, Check::push}}));
    EXPECT_EQ(choice.rejected.size(), 4u);
    for (auto const& rejected : choice.rejected) {
        EXPECT_FALSE(rejected.reason.empty());
    }
}

/// Of a profile without measured plans, with a plan of its choice for 256 MiB measured as `part` of what it predicts.
Profile with_measured_split(const Machine& machine, const Verdicts& verdicts, double part) {
    auto profile = nominal_profile(machine);
    for (auto& curve : profile.legs) {
        curve.basis = Basis::measured;
    }
    auto const choice = Planner(machine, verdicts, profile).explain(gpu(0), gpu(1), 256_MiB);
    LoadedPlan plan;
    for (auto const& route : choice.routes) {
        auto const gbs = route.share * choice.predicted_gbs * part;
        plan.routes.push_back({route.legs, route.chunk == 0 ? 256_MiB : route.chunk, gbs});
    }
    profile.plans.push_back(plan);
    return profile;
}

TEST(Choose, RoutesThatWereMeasuredTogetherHaveWhatTheyHadThen) {
    auto machine = pcie_pair();
    machine.pair(0, 1)->measured.write_gbs = 40;
    for (auto& link : machine.graph.links) {
        if (link.kind == LinkKind::pcie) {
            link.capacity_gbs = 50;
        }
    }
    for (auto& pair : machine.pairs) {  // so that it shares nothing with the way through the host
        pair.path = PathClass::nv;
    }
    machine.graph.links.push_back({2, 3, LinkKind::nvlink, {}, {}, 50.0, {}});
    machine.graph.links.push_back({3, 2, LinkKind::nvlink, {}, {}, 50.0, {}});
    auto const verdicts = proven({{0, 1, Check::push}});
    auto const ask = [&](double part) {
        return Planner(machine, verdicts, with_measured_split(machine, verdicts, part))
            .explain(gpu(0), gpu(1), 256_MiB);
    };
    auto const good = ask(1.0);
    ASSERT_EQ(good.routes.size(), 2U);
    EXPECT_NEAR(ask(0.9).predicted_gbs / good.predicted_gbs, 0.9, 0.03);
    EXPECT_EQ(ask(0.3).routes.size(), 1U) << "then one route alone is faster";
}

TEST(Choose, WhatIsKnownOfTheLinksServesAProcessThatNumbersItsDevicesOtherwise) {
    auto whole = load_machine("dgx-1v").machine();
    Machine seen;  // as a runtime tells of them: from the last to the first
    for (auto& device : whole.devices) {
        device.bus = "0000:0" + std::to_string(device.id) + ":00.0";
    }
    for (auto device = whole.devices.rbegin(); device != whole.devices.rend(); ++device) {
        seen.devices.emplace_back();
        seen.devices.back().id = static_cast<int>(seen.devices.size()) - 1;
        seen.devices.back().bus = device->bus;
    }
    complete_pairs(seen);
    for (auto& pair : seen.pairs) {
        pair.claim = true;
    }
    auto const known = as_seen(whole, seen);
    ASSERT_TRUE(known);
    PlanOptions options;
    options.trust_claimed = true;
    auto const relays = [](const Choice& choice) {
        return std::count_if(choice.routes.begin(), choice.routes.end(), [](const Route& route) {
            return route.legs.size() == 2 && route.legs.front().to.is_device();
        });
    };
    auto const there = choose(whole, gpu(0), gpu(4), 256_MiB, options);
    auto const here = choose(*known, gpu(7), gpu(3), 256_MiB, options);
    EXPECT_GT(relays(there), 0) << "over NVLink";
    EXPECT_EQ(relays(here), relays(there));
    EXPECT_EQ(here.routes.size(), there.routes.size());
    EXPECT_NEAR(here.predicted_s, there.predicted_s, 0.05 * there.predicted_s);
    EXPECT_EQ(relays(choose(seen, gpu(7), gpu(3), 256_MiB, options)), 0) << "without links there is nothing to tell";
}

}  // namespace
}  // namespace peerlane
