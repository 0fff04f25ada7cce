// Simulations against what the driver does, against sums, and strategy against strategy.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

#include <gtest/gtest.h>
#include <peerlane/driver.hpp>
#include <peerlane/named.hpp>
#include <peerlane/simulation.hpp>
#include <peerlane/units.hpp>

namespace peerlane {
namespace {

std::vector<int> all_of(const Machine& machine) {
    std::vector<int> devices;
    for (auto const& device : machine.devices) {
        devices.push_back(device.id);
    }
    return devices;
}

std::vector<Flow> flows_on(const SimulatedMachine& machine, const std::string& pattern, std::uint64_t bytes) {
    return pattern_flows(pattern, machine.machine(), all_of(machine.machine()), {.bytes = bytes});
}

Simulation run(const SimulatedMachine& machine, const std::vector<Flow>& flows, Strategy strategy = Strategy::driver,
               const std::vector<Fault>& faults = {}) {
    return simulate(machine, flows, {.strategy = strategy, .faults = faults, .relief = false});
}

/// The same copies by one host thread through the seam: enabled where claimed, a stream for each flow. Returns the time
/// from the first call to the last observed completion.
double through_the_driver(const SimulatedMachine& machine, const std::vector<Flow>& flows) {
    auto const driver = open_simulated(machine);
    struct Made {
        Location to, from;
        StreamView stream;
    };
    std::vector<Made> made;
    // Memory of the host lies near the device, as frameworks pin it.
    auto const room = [&](Place place, Place other, std::uint64_t bytes) -> Location {
        if (place.is_host()) {
            place = host(machine.machine().devices[static_cast<std::size_t>(other.index)].numa.value_or(Place::any));
        }
        auto const kind = place.is_device() ? MemoryKind::plain : MemoryKind::pinned;
        return {place, driver->allocate({.place = place, .bytes = bytes, .kind = kind})};
    };
    for (auto const& flow : flows) {
        if (flow.src.is_device() && flow.dst.is_device() && driver->can_access(flow.src.index, flow.dst.index)) {
            driver->enable_access({flow.src.index, flow.dst.index});
        }
        auto const issuer = flow.src.is_device() ? flow.src.index : flow.dst.index;
        made.push_back({room(flow.dst, flow.src, flow.bytes), room(flow.src, flow.dst, flow.bytes),
                        driver->create_stream(issuer, StreamKind::nonblocking, {})});
    }
    auto const begin = driver->now();
    for (std::size_t i = 0; i < flows.size(); ++i) {
        driver->copy(made[i].stream, {made[i].to, made[i].from, flows[i].bytes});
    }
    for (auto const& each : made) {
        driver->synchronize(each.stream);
    }
    return driver->now() - begin;
}

TEST(Simulate, GivesWhatTheDriverGives) {
    for (auto const* name : {"dgx-1v", "h200-pair", "rtx4090-8-dual-epyc", "switchtec-flat-8", "rtx3090-no-p2p-8"}) {
        auto const machine = load_machine(name);
        for (auto const* pattern :
             {"pair:0:1", "pair:0:host", "shift:1", "one-to-all:0", "all-to-all", "host-to-all"}) {
            auto const flows = flows_on(machine, pattern, 64 * MiB);
            auto const simulated = run(machine, flows).makespan_s;
            auto const driven = through_the_driver(machine, flows);
            // One thread makes the calls there, a thread for each device here; and completion is observed there.
            auto const calls = 4e-6 * static_cast<double>(flows.size()) + 20e-6;
            EXPECT_NEAR(simulated, driven, calls + 0.002 * driven) << name << " " << pattern;
        }
    }
}

TEST(Simulate, LoadsAreSumsOfFlows) {
    auto const machine = load_machine("dgx-2");  // every pair is joined: nothing is staged
    auto const flows = flows_on(machine, "all-to-all", 8 * MiB);
    auto const simulation = run(machine, flows);
    ASSERT_TRUE(simulation.complete()) << simulation.failure;
    EXPECT_EQ(simulation.bytes, 240.0 * 8 * MiB);
    double highest = 0;
    for (auto const& link : simulation.links) {
        EXPECT_LE(link.utilization, 1 + 1e-9) << link.name;
        EXPECT_NEAR(link.utilization * link.capacity_gbs * 1e9 * simulation.makespan_s, link.bytes, 1e-3 * link.bytes);
        highest = std::max(highest, link.utilization);
        if (link.name == "memory of gpu3") {  // 15 out of it and 15 into it
            EXPECT_EQ(link.bytes, 30.0 * 8 * MiB);
        }
    }
    auto const bottleneck = std::find_if(simulation.links.begin(), simulation.links.end(),
                                         [&](const LinkLoad& link) { return link.name == simulation.bottleneck; });
    ASSERT_NE(bottleneck, simulation.links.end());
    EXPECT_NEAR(bottleneck->utilization, highest, 1e-9);
}

TEST(Simulate, FlowsEndAfterTheyBeginAndTheMakespanIsTheLast) {
    auto const machine = load_machine("rtx4090-8-dual-epyc");
    auto const flows = pattern_flows("random:500,7", machine.machine(), all_of(machine.machine()),
                                     {.bytes = 4 * MiB, .step_s = 20e-6});
    auto const simulation = run(machine, flows);
    double last = 0;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        auto const& result = simulation.flows[i];
        EXPECT_EQ(result.flow, flows[i]);
        EXPECT_DOUBLE_EQ(result.start_s, 20e-6 * static_cast<double>(i));
        ASSERT_TRUE(result.began_s && result.end_s);
        EXPECT_GT(*result.began_s, result.start_s);
        EXPECT_GT(*result.end_s, *result.began_s);
        last = std::max(last, *result.end_s);
    }
    EXPECT_DOUBLE_EQ(simulation.makespan_s, last);
}

TEST(Simulate, PhasesFollowEachOther) {
    auto const machine = load_machine("h200-pair");
    auto const one = run(machine, flows_on(machine, "ring", 64 * MiB));
    auto const three = run(machine, pattern_flows("ring", machine.machine(), {0, 1}, {.bytes = 64 * MiB, .phases = 3}));
    EXPECT_NEAR(three.makespan_s, 3 * one.makespan_s, 1e-6 * three.makespan_s);
    EXPECT_GE(three.flows[2].start_s, *three.flows[0].end_s);
}

TEST(Simulate, EqualInputGivesEqualBits) {
    auto const machine = load_machine("dgx-2");
    auto const flows = flows_on(machine, "random:3000,11", 1 * MiB);
    auto const a = run(machine, flows), b = run(machine, flows);
    EXPECT_EQ(a.makespan_s, b.makespan_s);
    EXPECT_EQ(a.links, b.links);
}

TEST(Simulate, MoreFlowsThanTheWindowEndInOrderOfSubmission) {
    // One engine's worth of equal copies between two devices: a queue, whatever part of it the engine has seen.
    auto const machine = load_machine("h200-pair");
    auto const flows = pattern_flows("random:2000,1", machine.machine(), {0, 1}, {.bytes = 1 * MiB});
    auto const simulation = run(machine, flows);
    double before = 0;
    for (auto const& result : simulation.flows) {
        if (result.flow.src == gpu(0)) {
            EXPECT_GE(*result.began_s, before - 1e-12);
            before = *result.began_s;
        }
    }
}

TEST(Simulate, FaultsOfTheMachineAreTold) {
    auto const machine = load_machine("h200-pair");
    auto const flows = flows_on(machine, "ring", 1 * MiB);
    auto const hang = run(machine, flows, Strategy::driver, {parse_fault("push:0:1=hang")});
    EXPECT_NE(hang.failure.find("never ends"), std::string::npos) << hang.failure;
    EXPECT_FALSE(hang.flows[0].end_s);
    EXPECT_TRUE(hang.flows[1].end_s);
    auto const dead = run(machine, flows, Strategy::driver, {parse_fault("push:0:1=error700")});
    EXPECT_NE(dead.failure.find("illegal"), std::string::npos) << dead.failure;
    auto const slow = run(machine, flows, Strategy::driver, {parse_fault("rate:0:1=x0.1")});
    EXPECT_GT(slow.makespan_s, 3 * run(machine, flows).makespan_s);
}

TEST(Simulate, RefusesWhatTheMachineCannotHold) {
    auto const machine = load_machine("h200-pair");
    EXPECT_THROW((void)run(machine, {{gpu(0), gpu(2), 1}}), std::invalid_argument);
    EXPECT_THROW((void)run(machine, {{gpu(0), gpu(1), 0}}), std::invalid_argument);
    EXPECT_THROW((void)run(machine, {{host(), host(0), 1}}), std::invalid_argument);
    EXPECT_THROW((void)run(machine, {{gpu(0), gpu(1), std::uint64_t{1} << 45}}), std::invalid_argument);
}

TEST(Simulate, TheLibraryStagesWhatAHostBridgeParts) {
    auto const machine = load_machine("dgx-1v");
    auto const simulation = run(machine, {{gpu(0), gpu(1), 64 * MiB}, {gpu(0), gpu(5), 64 * MiB}}, Strategy::library);
    EXPECT_EQ(simulation.plans[0][0].legs.size(), 1U) << "joined by NVLink";
    EXPECT_EQ(simulation.plans[1][0].legs.size(), 2U) << "through shared host memory";
}

TEST(Strategies, OursIsNeverSlowerThanTheDriver) {
    // Every pattern on every machine, at a size of its own, drawn: all of them at all sizes take minutes.
    constexpr std::array<std::uint64_t, 4> sizes{4 * KiB, 1 * MiB, 32 * MiB, 256 * MiB};
    std::mt19937 draw(20);
    std::map<std::uint64_t, int> drawn;
    for (auto const& named : named_machines()) {
        auto const machine = load_machine(named.name);
        for (auto const* pattern : {"pair:0:1", "one-to-all:0", "all-to-one:0", "shift:1", "permutation:1",
                                    "all-to-all", "ring", "halo", "random:20,3", "host-to-all", "all-to-host"}) {
            auto const bytes = sizes[draw() % sizes.size()];
            ++drawn[bytes];
            auto const flows = flows_on(machine, pattern, bytes);
            auto const ours = run(machine, flows, Strategy::peerlane).makespan_s;
            auto const drivers = run(machine, flows).makespan_s;
            EXPECT_LE(ours, drivers * 1.001) << named.name << " " << pattern << " " << size_text(bytes);
        }
    }
    EXPECT_EQ(drawn.size(), sizes.size());
}

TEST(Strategies, AllToAllOfDgx1IsHalfAgainAsFast) {
    auto const machine = load_machine("dgx-1v");
    auto const flows = flows_on(machine, "all-to-all", 64 * MiB);
    auto const gain = run(machine, flows).makespan_s / run(machine, flows, Strategy::peerlane).makespan_s;
    EXPECT_GE(gain, 1.5);
    RecordProperty("gain", std::to_string(gain));
}

TEST(Relief, OfTheOnlyLinkHalvesTheTime) {
    // host:0 to gpu0 crosses one port: nothing else limits it.
    auto const machine = load_machine("rtx3090-no-p2p-8");
    auto const simulation = simulate(machine, flows_on(machine, "host-to-all", 256 * MiB));
    ASSERT_TRUE(simulation.relief);
    EXPECT_GE(simulation.relief->gain, 1.0);
    EXPECT_LE(simulation.relief->gain, 2.0 + 1e-9);
    EXPECT_NEAR(simulation.relief->gain, simulation.makespan_s / simulation.relief->makespan_s, 1e-9);
}

TEST(Placement, OfFourOnDgx1KeepsToTheQuads) {
    auto const machine = load_machine("dgx-1v");
    auto const ranked = rank_placements(machine, all_of(machine.machine()), 4, "all-to-all", {.bytes = 64 * MiB}, {});
    ASSERT_EQ(ranked.size(), 70U);
    EXPECT_TRUE(std::is_sorted(ranked.begin(), ranked.end(),
                               [](auto& a, auto& b) { return a.makespan_s < b.makespan_s * (1 - 1e-9); }));
    // Sets in which every pair has an NVLink of its own: {0,1,2,3} and {4,5,6,7}.
    EXPECT_EQ(ranked[0].devices, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(ranked[1].devices, (std::vector<int>{4, 5, 6, 7}));
    EXPECT_GT(ranked[2].makespan_s, ranked[1].makespan_s * 1.1);
}

TEST(Placement, OfFourOnTwoSocketsStaysOnOne) {
    auto const machine = load_machine("rtx4090-8-dual-epyc");
    auto const ranked = rank_placements(machine, all_of(machine.machine()), 4, "all-to-all", {.bytes = 64 * MiB}, {});
    EXPECT_EQ(ranked[0].devices, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(ranked[1].devices, (std::vector<int>{4, 5, 6, 7}));
}

TEST(Placement, OfSetsThatAreImagesIsThatOfEachSetAlone) {
    for (auto const& named : named_machines()) {
        auto const machine = load_machine(named.name);
        auto devices = all_of(machine.machine());
        devices.resize(std::min<std::size_t>(devices.size(), 8));
        for (auto const* pattern : {"all-to-all", "shift:1", "host-to-all"}) {
            for (auto const strategy : {Strategy::driver, Strategy::library}) {
                auto const count = devices.size() > 2 ? 3 : 2;
                if (devices.size() < 2) {
                    continue;
                }
                SimulationOptions options{.strategy = strategy};
                auto const quick = rank_placements(machine, devices, count, pattern, {.bytes = 8 * MiB}, options);
                options.symmetry = false;
                auto const each = rank_placements(machine, devices, count, pattern, {.bytes = 8 * MiB}, options);
                ASSERT_EQ(quick.size(), each.size());
                for (auto const& set : each) {
                    auto const same =
                        std::find_if(quick.begin(), quick.end(), [&](auto& q) { return q.devices == set.devices; });
                    ASSERT_NE(same, quick.end());
                    EXPECT_NEAR(same->makespan_s, set.makespan_s, 1e-6 * set.makespan_s)
                        << named.name << " " << pattern << " " << to_string(strategy) << " " << set.devices[0]
                        << set.devices[1] << set.devices.back();
                    EXPECT_NEAR(same->utilization, set.utilization, 1e-6);
                }
            }
        }
    }
}

TEST(Placement, Refuses) {
    auto const machine = load_machine("h200-pair");
    EXPECT_THROW((void)rank_placements(machine, {0, 1}, 3, "ring", {.bytes = 1}), std::invalid_argument);
    EXPECT_THROW((void)rank_placements(machine, {0, 1}, 1, "ring", {.bytes = 1}), std::invalid_argument);
    EXPECT_THROW((void)rank_placements(machine, {0, 1}, 2, "rings", {.bytes = 1}), std::invalid_argument);
}

}  // namespace
}  // namespace peerlane
