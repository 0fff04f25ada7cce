// What the simulated hardware does beyond its description. Each test measures it through the driver: nothing else can
// see it.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <peerlane/units.hpp>

#include "unit/sim/pair.hpp"

namespace peerlane {
namespace {

using namespace testing_sim;

/// Four devices, each with a PCIe 5 x16 port below one of two root ports of a socket: (0, 1) and (2, 3).
Machine two_switches() {
    Machine machine;
    auto& graph = machine.graph;
    graph.nodes.push_back({NodeKind::numa, 0, "numa:0", "", 0});
    auto const both = [&](int a, int b, Link link) {
        link.from = a;
        link.to = b;
        graph.links.push_back(link);
        std::swap(link.from, link.to);
        graph.links.push_back(link);
    };
    for (int s = 0; s < 2; ++s) {
        graph.nodes.push_back({NodeKind::host_bridge, s, fmt::format("host:{}", s), "", 0});
        auto const host_bridge = static_cast<int>(graph.nodes.size()) - 1;
        both(host_bridge, 0, {0, 0, LinkKind::memory, {}, {}, 300.0, {}});
        graph.nodes.push_back({NodeKind::pci_bridge, s, fmt::format("bridge:{}", s), "", -1});
        auto const bridge = static_cast<int>(graph.nodes.size()) - 1;
        both(bridge, host_bridge, {0, 0, LinkKind::pcie, 5, 16, 63.0, {}});
        for (int d = 2 * s; d < 2 * s + 2; ++d) {
            machine.devices.push_back({});
            machine.devices.back().id = d;
            graph.nodes.push_back({NodeKind::device, d, fmt::format("gpu{}", d), "", -1});
            both(static_cast<int>(graph.nodes.size()) - 1, bridge, {0, 0, LinkKind::pcie, 5, 16, 63.0, {}});
        }
    }
    complete_pairs(machine);
    return machine;
}

struct Move {
    int from, to;
};

/// Seconds of each of these pushed copies of 256 MiB, all at once.
std::vector<double> times(Driver& driver, const std::vector<Move>& moves) {
    constexpr auto bytes = 256_MiB;
    std::vector<Allocation> memory;
    std::vector<Stream> streams;
    std::vector<Event> begins, ends;
    for (auto const& move : moves) {
        driver.enable_access({move.from, move.to});
        memory.emplace_back(driver, AllocationRequest{gpu(move.from), bytes});
        memory.emplace_back(driver, AllocationRequest{gpu(move.to), bytes});
        streams.emplace_back(driver, move.from);
        begins.emplace_back(driver, move.from, true);
        ends.emplace_back(driver, move.from, true);
    }
    for (std::size_t i = 0; i < moves.size(); ++i) {
        driver.record(begins[i].view(), streams[i].view());
        driver.copy(streams[i].view(), {memory[2 * i + 1].location(), memory[2 * i].location(), bytes, CopyApi::peer});
        driver.record(ends[i].view(), streams[i].view());
    }
    std::vector<double> seconds;
    for (std::size_t i = 0; i < moves.size(); ++i) {
        driver.synchronize(ends[i].view());
        seconds.push_back(driver.elapsed(begins[i].view(), ends[i].view()));
    }
    return seconds;
}

std::unique_ptr<Driver> open(const Machine& machine, const SimEffects& effects = {}, std::uint64_t seed = 1) {
    SimOptions options;
    options.effects = effects;
    options.seed = seed;
    return open_simulated(SimulatedMachine(machine), options);
}

double rate(double seconds) {
    return static_cast<double>(256_MiB) / seconds / 1e9;
}

TEST(SimEffects, JitterIsBoundedSeededAndRepeats) {
    SimEffects effects;
    effects.jitter = 0.05;
    auto const run = [&](std::uint64_t seed) {
        auto const driver = open(switched(2), effects, seed);
        std::vector<double> all;
        for (int i = 0; i < 50; ++i) {
            all.push_back(times(*driver, {{0, 1}}).front());
        }
        return all;
    };
    auto const plain = times(*open(switched(2)), {{0, 1}}).front();
    auto const jittered = run(1);
    EXPECT_EQ(jittered, run(1));
    EXPECT_NE(jittered, run(2));
    auto const [least, most] = std::minmax_element(jittered.begin(), jittered.end());
    EXPECT_GT(*least, 0.94 * plain);
    EXPECT_LT(*most, 1.06 * plain);
    EXPECT_LT(*least, 0.97 * plain) << "fifty draws that all lie near the middle";
    EXPECT_GT(*most, 1.03 * plain);
}

TEST(SimEffects, ASecondCopyOfADeviceGetsLessWhereEnginesAreNotServedAlike) {
    SimEffects effects;
    effects.arbitration = 0.5;
    auto const fair = times(*open(two_switches()), {{0, 1}, {0, 2}});
    EXPECT_NEAR(fair[0] / fair[1], 1.0, 0.02);
    auto const unfair = times(*open(two_switches(), effects), {{0, 1}, {0, 2}});
    // Shares 1 and 1/2 of a port that carries 0.74 while two leave it: the first ends after 3/2 / 0.74 of its time
    // alone, the second, half of which is left, 1/2 later.
    EXPECT_NEAR(unfair[0] / unfair[1], 2.027 / 2.527, 0.02);
}

TEST(SimEffects, AnUndeclaredSharedPortShowsOnlyWhenBothUseIt) {
    SimEffects effects;
    effects.shared_ports.push_back({{0, 1}, 400});
    auto const alone = times(*open(switched(4), effects), {{0, 2}});
    EXPECT_NEAR(rate(alone[0]), 386, 6);
    auto const both = times(*open(switched(4), effects), {{0, 2}, {1, 3}});
    EXPECT_NEAR(rate(both[0]), 200, 2);
    EXPECT_NEAR(rate(both[1]), 200, 2);
    auto const declared = times(*open(switched(4)), {{0, 2}, {1, 3}});
    EXPECT_NEAR(rate(declared[0]), 386, 6);
}

TEST(SimEffects, ASlowLinkSlowsItsDirectionOnly) {
    SimEffects effects;
    effects.slow_links.push_back({"gpu1", "nvswitch:0", 50});
    auto const driver = open(switched(2), effects);
    EXPECT_NEAR(rate(times(*driver, {{1, 0}})[0]), 50, 1);
    EXPECT_NEAR(rate(times(*driver, {{0, 1}})[0]), 386, 6);
}

TEST(SimEffects, WritesOfOnePortTowardsTwoOthersCollapse) {
    SimEffects effects;
    effects.write_collapse_gbs = 2.7;
    auto three = two_switches();
    // A third root port with one device.
    auto& graph = three.graph;
    auto const add = [&](NodeKind kind, int index, const char* name, int above, LinkKind link, double gbs) {
        graph.nodes.push_back({kind, index, name, "", kind == NodeKind::host_bridge ? 0 : -1});
        auto const node = static_cast<int>(graph.nodes.size()) - 1;
        graph.links.push_back({node, above, link, 5, 16, gbs, {}});
        graph.links.push_back({above, node, link, 5, 16, gbs, {}});
        return node;
    };
    three.devices.push_back({});
    three.devices.back().id = 4;
    auto const port = add(NodeKind::host_bridge, 2, "host:2", 0, LinkKind::memory, 300);
    add(NodeKind::device, 4, "gpu4", port, LinkKind::pcie, 63);
    complete_pairs(three);
    auto const one_target = times(*open(three, effects), {{0, 2}, {1, 3}});
    EXPECT_GT(rate(one_target[0]), 20);
    auto const two_targets = times(*open(three, effects), {{0, 2}, {1, 4}});
    EXPECT_NEAR(rate(two_targets[0]), 1.35, 0.02);
    auto const without = times(*open(three), {{0, 2}, {1, 4}});
    EXPECT_GT(rate(without[0]), 20);
}

TEST(SimEffects, ADeviceMayRunFewerCopiesThanItClaims) {
    SimEffects effects;
    effects.engines = 1;
    auto const driver = open(two_switches(), effects);
    auto const both = times(*driver, {{0, 1}, {0, 2}});
    // Each is timed from its own stream's begin: the second waits for all of the first.
    EXPECT_NEAR(both[1] / both[0], 2.0, 0.2);
    EXPECT_EQ(driver->capabilities(0).copy_engines, 3);
}

TEST(SimEffects, HiddenOnesAreDrawnFromTheSeedAndTheBytesStayRight) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        for (auto const& machine : {switched(4), two_switches()}) {
            auto const effects = hidden_effects(machine, seed);
            auto const again = hidden_effects(machine, seed);
            EXPECT_EQ(effects.jitter, again.jitter);
            EXPECT_EQ(effects.slow_links.at(0).gbs, again.slow_links.at(0).gbs);
            EXPECT_NE(effects.jitter, hidden_effects(machine, seed + 1).jitter);
            auto const driver = open(machine, effects, seed);
            EXPECT_EQ(driver->machine(), open(machine)->machine());
            Allocation from(*driver, {gpu(0), 4_MiB}), to(*driver, {gpu(3), 4_MiB});
            driver->enable_access({0, 3});
            put(*driver, from, {7, 0});
            Stream stream(*driver, 0);
            driver->copy(stream.view(), {to.location(), from.location(), 4_MiB, CopyApi::peer});
            driver->synchronize(stream.view());
            EXPECT_EQ(look(*driver, to, {7, 0}), CheckOutcome{}) << "seed " << seed;
        }
    }
}

// What they do shows in what is measured: somewhere a copy is much slower than on the machine that is described.
TEST(SimEffects, HiddenOnesShowInWhatIsMeasured) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        std::vector<Move> all;
        for (int i = 0; i < 4; ++i) {
            all.push_back({i, (i + 1) % 4});
        }
        auto const machine = switched(4);
        auto const plain = times(*open(machine), all);
        auto const hidden = times(*open(machine, hidden_effects(machine, seed), seed), all);
        auto slowest = 0.0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            slowest = std::max(slowest, hidden[i] / plain[i]);
        }
        EXPECT_GT(slowest, 1.2) << "seed " << seed;
    }
}

TEST(SimEffects, NothingOfThemIsInTheFactsOfTheDriver) {
    SimEffects effects;
    effects.shared_ports.push_back({{0, 1}, 100});
    effects.slow_links.push_back({"gpu1", "nvswitch:0", 50});
    effects.write_collapse_gbs = 2.7;
    EXPECT_EQ(open(switched(4), effects)->machine(), open(switched(4))->machine());
}

}  // namespace
}  // namespace peerlane
