// Plans that are known: measured rates of real machines in, and what the planner has to say of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <peerlane/named.hpp>
#include <peerlane/planner.hpp>
#include <peerlane/units.hpp>

namespace peerlane {
namespace {

Machine named(const char* name) {
    return load_machine(name).machine();
}

void rate(Machine& machine, int from, int to, double gbs) {
    machine.pair(from, to)->measured.write_gbs = gbs;
    machine.pair(to, from)->measured.read_gbs = gbs;
}

void rate_both(Machine& machine, int a, int b, double gbs) {
    rate(machine, a, b, gbs);
    rate(machine, b, a, gbs);
}

void host_rates(Machine& machine, double gbs) {
    machine.host.clear();
    for (auto const& device : machine.devices) {
        machine.host.push_back({device.id, gbs, gbs, {}, {}});
    }
}

/// 4 V100, two links where there are two: rates of the published matrices.
Machine v100_partial_mesh() {
    auto machine = named("v100-partial-mesh");
    rate_both(machine, 0, 1, 48.3);
    rate_both(machine, 1, 3, 48.3);
    rate_both(machine, 2, 3, 48.3);
    rate_both(machine, 0, 2, 24.2);
    rate_both(machine, 0, 3, 9.8);
    rate_both(machine, 1, 2, 9.8);
    host_rates(machine, 11.0);
    return machine;
}

Planner trusting(Machine machine, Profile profile = {}) {
    PlannerOptions options;
    options.trust_claimed = true;
    return {std::move(machine), {}, std::move(profile), options};
}

struct Known {
    RoutePolicy policy;
    std::optional<int> over;
    double least_gbs, most_gbs;
    const char* plan;  ///< brief, without shares
};

std::string kinds(const std::vector<Route>& routes) {
    std::string text;
    for (auto route : routes) {
        text += (text.empty() ? "" : " + ") + brief({route});
    }
    return text;
}

void expect(const Planner& planner, Place from, Place to, std::uint64_t bytes, const std::vector<Known>& known) {
    for (auto const& one : known) {
        auto const choice = planner.explain(from, to, bytes, one.policy, one.over);
        EXPECT_THAT(kinds(choice.routes), testing::HasSubstr(one.plan));
        EXPECT_GE(choice.predicted_gbs, one.least_gbs) << one.plan;
        EXPECT_LE(choice.predicted_gbs, one.most_gbs) << one.plan;
    }
}

TEST(KnownAnswers, V100PartialMesh) {
    auto const planner = trusting(v100_partial_mesh());
    expect(planner, gpu(0), gpu(3), 1_GiB,
           {{RoutePolicy::direct, {}, 9.7, 9.8, "pu"},
            {RoutePolicy::staged, {}, 10.8, 11.0, "staged host:0"},
            {RoutePolicy::relay, 1, 46.5, 48.3, "relay gpu1"},
            {RoutePolicy::relay, 2, 23, 24.2, "relay gpu2"},
            {RoutePolicy::automatic, {}, 70.5, 84, "relay gpu1 + relay gpu2"}});
    auto const without = planner.explain(gpu(0), gpu(3), 1_GiB);
    for (auto const& rejected : without.rejected) {
        ASSERT_TRUE(rejected.predicted_s);
        EXPECT_GT(*rejected.predicted_s, without.predicted_s);
    }
}

TEST(KnownAnswers, Dgx1vRelaysOverTwoAndSix) {
    auto machine = named("dgx-1v");
    host_rates(machine, 11.0);
    for (auto& pair : machine.pairs) {
        if (pair.nvlinks) {
            pair.measured.write_gbs = pair.measured.read_gbs = 24.2 * *pair.nvlinks;
        }
    }
    auto const planner = trusting(machine);
    auto const choice = planner.explain(gpu(0), gpu(4), 1_GiB);
    EXPECT_THAT(kinds(choice.routes), testing::HasSubstr("relay gpu2"));
    EXPECT_THAT(kinds(choice.routes), testing::HasSubstr("relay gpu6"));
    // 48.4 over the two, and what the host adds.
    EXPECT_GE(choice.predicted_gbs, 47);
    EXPECT_LE(choice.predicted_gbs, 48.4 + 11.0);
}

TEST(KnownAnswers, StagedWhereDirectIsSlower) {
    auto machine = named("rtx4090-6-p2p-hurts");
    for (auto& pair : machine.pairs) {
        pair.measured = {};
        pair.claim = true;
        pair.measured.write_gbs = pair.measured.read_gbs = 9.9;
    }
    host_rates(machine, 22.0);
    auto const choice = trusting(machine).explain(gpu(0), gpu(3), 256_MiB);
    ASSERT_EQ(choice.routes.size(), 1U);
    EXPECT_THAT(kinds(choice.routes), testing::HasSubstr("staged host"));
}

TEST(KnownAnswers, A100PciePairsHaveNoDirectWayBetweenPairs) {
    auto const choice = trusting(named("a100-pcie-pairs-4")).explain(gpu(0), gpu(2), 256_MiB);
    for (auto const& route : choice.routes) {
        EXPECT_GT(route.legs.size(), 1U);
    }
    ASSERT_FALSE(choice.routes.empty());
    auto const direct = std::find_if(choice.rejected.begin(), choice.rejected.end(),
                                     [](const Rejected& r) { return r.routes.front().legs.size() == 1; });
    ASSERT_NE(direct, choice.rejected.end());
    EXPECT_FALSE(direct->predicted_s.has_value());
    EXPECT_THAT(direct->reason, testing::HasSubstr("claims no peer access"));
}

TEST(KnownAnswers, Mi300xSplitsOverItsSevenLinks) {
    auto const choice = trusting(named("mi300x-8")).explain(gpu(0), gpu(1), 1_GiB);
    auto const text = kinds(choice.routes);
    EXPECT_THAT(text, testing::HasSubstr("push"));
    for (auto const* over : {"relay gpu2", "relay gpu3", "relay gpu4", "relay gpu5", "relay gpu6", "relay gpu7"}) {
        EXPECT_THAT(text, testing::HasSubstr(over));
    }
}

/// What two H200 were seen to do (times of single copies and of copies back to back, 2026-11-30).
Profile h200_profile() {
    Profile profile;
    auto const leg = [&](Place from, Place to, Engine engine, Place issuer, double once_s, double queued_s,
                         double gbs) {
        LegCurve curve{{from, to, engine, issuer}, Basis::measured, {}, {}};
        for (std::uint64_t bytes = 256; bytes <= 1_GiB; bytes *= 4) {
            auto const moving = static_cast<double>(bytes) / (gbs * 1e9);
            curve.curve.points.push_back({bytes, once_s + moving, 0.01});
            curve.queued.points.push_back({bytes, queued_s + moving, 0.01});
        }
        profile.legs.push_back(curve);
    };
    for (auto const& [a, b] : {std::pair(0, 1), std::pair(1, 0)}) {
        leg(gpu(a), gpu(b), Engine::copy, gpu(a), 11.1e-6, 2.9e-6, 396.7);
        leg(gpu(a), gpu(b), Engine::copy, gpu(b), 13e-6, 6.2e-6, 395.6);
        leg(gpu(a), gpu(b), Engine::kernel, gpu(a), 11.2e-6, 4.4e-6, 370);
        leg(gpu(a), gpu(b), Engine::kernel, gpu(b), 12e-6, 4.4e-6, 375);
        leg(gpu(a), host(0), Engine::copy, gpu(a), 11e-6, 4.4e-6, 55.3);
        leg(host(0), gpu(a), Engine::copy, gpu(a), 11e-6, 4.4e-6, 55.5);
        auto const out = Leg{gpu(a), host(0), Engine::copy, gpu(a)};
        auto const in = Leg{host(0), gpu(b), Engine::copy, gpu(b)};
        auto const peer = Leg{gpu(a), gpu(b), Engine::copy, gpu(a)};
        profile.loaded.push_back({"host legs", 64_MiB, {{out, 55.3, 53.1}, {in, 55.5, 53.1}}});
        profile.loaded.push_back(
            {"fabric beside host legs", 64_MiB, {{peer, 396.7, 394}, {out, 55.3, 53.1}, {in, 55.5, 53.1}}});
        AccessCosts remote{a, gpu(b), 860e-9, {}, {}, {}, {}, {}, {}};
        remote.reads = {{4, 4, 359}, {4, 8, 186}, {4, 32, 46.7}, {4, 128, 35.2}, {4, 4096, 31.3}};
        remote.touches = {{1_MiB, 9e-6, -1}, {256_MiB, 720e-6, -1}};
        AccessCosts local{a, gpu(a), 149e-9, {}, {}, {}, {}, {}, {}};
        local.reads = {{4, 4, 1682}, {4, 8, 1587}, {4, 32, 566}, {4, 128, 247}, {4, 4096, 485}};
        local.touches = {{1_MiB, 5e-6, -1}, {256_MiB, 62e-6, -1}};
        profile.access.push_back(remote);
        profile.access.push_back(local);
    }
    profile.host_costs.copy_call_s = 2.7e-6;
    return profile;
}

TEST(KnownAnswers, H200PairSendsAboutElevenPercentOfAGibThroughTheHost) {
    auto const planner = trusting(named("h200-pair"), h200_profile());
    auto const large = planner.explain(gpu(0), gpu(1), 1_GiB);
    ASSERT_EQ(large.routes.size(), 2U);
    EXPECT_EQ(brief({large.routes[0]}), "push") << "issued first";
    EXPECT_EQ(brief({large.routes[1]}), "staged host:0");
    EXPECT_NEAR(large.routes[1].share, 0.11, 0.01);
    EXPECT_NEAR(large.predicted_gbs, 396.7 * 1.12, 396.7 * 0.02);
    auto const small = planner.explain(gpu(0), gpu(1), 64_KiB);
    ASSERT_EQ(small.routes.size(), 1U);
    EXPECT_EQ(describe(small.routes[0]), "direct, pushed by gpu0");
    // The best share grows with the size: between the table of the facts page and the mover's own (bench/results,
    // splits: 64 MiB 0.06, 256 MiB 0.08, 1 GiB 0.10).
    for (auto const& [bytes, share] : {std::pair(64_MiB, 0.07), std::pair(128_MiB, 0.08), std::pair(256_MiB, 0.09),
                                       std::pair(512_MiB, 0.10), std::pair(2_GiB, 0.11)}) {
        auto const choice = planner.explain(gpu(0), gpu(1), bytes);
        ASSERT_EQ(choice.routes.size(), 2U) << size_text(bytes);
        EXPECT_NEAR(choice.routes[1].share, share, 0.02) << size_text(bytes);
    }
}

// Eight devices of a fabric: six relays, all over the ports of the direct way, are faster lanes than the host's and
// gain nothing. The host's is tried all the same.
TEST(KnownAnswers, ManyDevicesOfAFabricSplitOverTheHostAsTwoDo) {
    for (auto const* name : {"h200-pair", "h200-4", "h200-8", "h100-8"}) {
        auto const choice = trusting(named(name)).explain(gpu(0), gpu(1), 1_GiB);
        ASSERT_EQ(choice.routes.size(), 2U) << name;
        EXPECT_EQ(brief({choice.routes[0]}), "push") << name;
        EXPECT_EQ(brief({choice.routes[1]}), "staged host:0") << name;
        EXPECT_NEAR(choice.routes[1].share, 0.11, 0.02) << name;
    }
}

// As the driver alone describes it: no links, no node of the host. What was measured says that nothing is shared.
TEST(KnownAnswers, H200PairWithoutItsLinksSendsAsMuchThroughTheHost) {
    Machine bare;
    bare.devices.resize(2);
    for (int i = 0; i < 2; ++i) {
        bare.devices[static_cast<std::size_t>(i)].id = i;
        Pair pair;
        pair.accessor = i;
        pair.owner = 1 - i;
        pair.claim = true;
        bare.pairs.push_back(pair);
    }
    auto profile = h200_profile();
    auto const any_node = [](Leg& leg) {
        leg.from = leg.from.is_host() ? host() : leg.from;
        leg.to = leg.to.is_host() ? host() : leg.to;
    };
    for (auto& curve : profile.legs) {
        any_node(curve.leg);
    }
    for (auto& group : profile.loaded) {
        for (auto& loaded : group.legs) {
            any_node(loaded.leg);
        }
    }
    auto const planner = trusting(bare, profile);
    for (auto const bytes : {64_MiB, 1_GiB}) {
        auto const choice = planner.explain(gpu(0), gpu(1), bytes);
        ASSERT_EQ(choice.routes.size(), 2U) << size_text(bytes);
        EXPECT_NEAR(choice.routes[1].share, bytes == 1_GiB ? 0.11 : 0.07, 0.02);
    }
}

TEST(KnownAnswers, H200AccessInPlaceAgainstCopying) {
    auto const planner = trusting(named("h200-pair"), h200_profile());
    auto const once = planner.access({1, gpu(0), 256_MiB, 1, 0, {}});
    ASSERT_TRUE(once.margin);
    EXPECT_LE(*once.margin / (1 + *once.margin), 0.05) << "remote and copy are about as fast";
    EXPECT_EQ(planner.access({1, gpu(0), 256_MiB, 4, 0, {}}).access, "copy");
    EXPECT_EQ(planner.access({1, gpu(0), 256_MiB, 4, 0, 1_GiB}).access, "keep");
    auto const tight = planner.access({1, gpu(0), 256_MiB, 4, 0, 1_MiB});
    EXPECT_THAT(tight.why, testing::Contains(testing::HasSubstr("a copy for each touch, as it does not fit")));
    EXPECT_GT(tight.predicted_s, planner.access({1, gpu(0), 256_MiB, 4, 0, {}}).predicted_s);
    EXPECT_EQ(planner.access({1, gpu(0), 256_MiB, 1, 4, {}}).access, "copy");
}

TEST(KnownAnswers, ABusyLinkChangesTheAnswer) {
    PlannerOptions options;
    options.trust_claimed = true;
    options.busy = {{gpu(0), gpu(1)}};
    Planner const planner(v100_partial_mesh(), {}, {}, options);
    auto const quiet = trusting(v100_partial_mesh()).explain(gpu(0), gpu(3), 256_MiB);
    auto const busy = planner.explain(gpu(0), gpu(3), 256_MiB);
    EXPECT_GT(busy.predicted_s, quiet.predicted_s * 1.2);
    EXPECT_THAT(kinds(busy.routes), testing::HasSubstr("relay gpu2"));
    auto const direct = planner.explain(gpu(0), gpu(1), 256_MiB, RoutePolicy::direct);
    EXPECT_NEAR(direct.predicted_gbs, 24.2, 1) << "half of the link";
}

TEST(KnownAnswers, OneWayMachinesPushWhereOnlyPushIsProven) {
    Verdicts verdicts;
    verdicts.pairs = {{0, 1, {}}, {1, 0, {}}};
    (*verdicts.pair(0, 1))[Check::push].result = Result::ok;
    Planner const planner(named("h200-pair"), verdicts, h200_profile());
    EXPECT_EQ(describe(planner.choose(gpu(0), gpu(1), 64_KiB).routes), "direct, pushed by gpu0");
    for (auto const& route : planner.choose(gpu(1), gpu(0), 1_GiB).routes) {
        EXPECT_EQ(route.legs.size(), 2U) << "that direction was not proven";
    }
}

TEST(KnownAnswers, HostMemoryReachesADeviceOverItsPeersLinksToo) {
    auto const planner = trusting(named("h200-pair"), h200_profile());
    auto const choice = planner.explain(host(0), gpu(0), 1_GiB);
    ASSERT_EQ(choice.routes.size(), 2U);
    EXPECT_EQ(choice.routes[0].legs.size(), 1U);
    EXPECT_EQ(choice.routes[1].legs[0].to, gpu(1));
    EXPECT_NEAR(choice.routes[0].share, 0.5, 0.03);
    EXPECT_NEAR(choice.predicted_gbs, 108, 4);
}

TEST(Planner, ATableGivesWhatPlanningEachSizeGives) {
    auto const planner = trusting(named("h200-pair"), h200_profile());
    for (std::uint64_t bytes = 300; bytes < 6_GiB; bytes = bytes * 5 / 3) {
        auto const& looked_up = planner.choose(gpu(0), gpu(1), bytes);
        auto const planned = planner.explain(gpu(0), gpu(1), bytes);
        EXPECT_EQ(&looked_up, &planner.choose(gpu(0), gpu(1), bytes)) << "prepared once";
        auto const took = planner.predict(looked_up.routes, bytes);
        ASSERT_TRUE(took);
        EXPECT_LE(*took, planned.predicted_s * 1.035) << size_text(bytes);
    }
    auto const ranges = planner.ranges(gpu(0), gpu(1));
    ASSERT_GE(ranges.size(), 2U);
    EXPECT_EQ(ranges.front().from, 0U);
    EXPECT_EQ(brief(ranges.front().choice.routes), "push");
    EXPECT_EQ(ranges.back().choice.routes.size(), 2U);
}

TEST(Planner, ProvenByAProfileIsWhatItMeasured) {
    auto const verdicts = proven_by(h200_profile());
    ASSERT_EQ(verdicts.pairs.size(), 2U);
    for (auto const check : {Check::push, Check::pull, Check::store, Check::load}) {
        EXPECT_EQ((*verdicts.pair(0, 1))[check].result, Result::ok);
    }
    EXPECT_EQ((*verdicts.pair(0, 1))[Check::atomic].result, Result::skipped);
    EXPECT_TRUE(proven_by(nominal_profile(named("h200-pair"))).pairs.empty()) << "nominal legs prove nothing";
}

}  // namespace
}  // namespace peerlane
