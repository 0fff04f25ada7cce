#include <numeric>

#include <gtest/gtest.h>
#include <peerlane/cluster.hpp>
#include <peerlane/named.hpp>
#include <peerlane/units.hpp>

namespace peerlane {
namespace {

std::vector<Flow> flows_of(const SimulatedMachine& node, int nodes, const std::string& pattern, std::uint64_t bytes) {
    auto const all = cluster_devices(node.machine(), nodes);
    std::vector<int> devices(all.devices.size());
    std::iota(devices.begin(), devices.end(), 0);
    return pattern_flows(pattern, all, devices, {.bytes = bytes});
}

TEST(Cluster, OneNodeTakesAsLongAsTheMachineItself) {
    for (auto const* name : {"a100-8", "azure-ndv5"}) {
        auto const node = load_machine(name);
        for (auto const* pattern : {"pair:0:1", "shift:3", "ring", "halo"}) {
            auto const flows = flows_of(node, 1, pattern, 64 * MiB);
            auto const one = simulate(node, flows, {.relief = false}).makespan_s;
            EXPECT_NEAR(simulate_cluster(node, 1, flows).makespan_s, one, 0.03 * one) << name << " " << pattern;
        }
    }
}

TEST(Cluster, EachRailMovesWhatItsAdapterLetsThrough) {
    // Device i of every node sends to device i of the next: eight rails, nothing shared, so 1 or 16 nodes are the same.
    auto const node = load_machine("azure-ndv5");
    auto const few = simulate_cluster(node, 2, flows_of(node, 2, "shift:8", 256 * MiB));
    auto const many = simulate_cluster(node, 16, flows_of(node, 16, "shift:8", 256 * MiB));
    EXPECT_NEAR(few.makespan_s, many.makespan_s, 1e-9);
    // PCIe 5 x16 carries 63 GB/s less overhead.
    auto const gbs = *many.flows[5].gbs();
    EXPECT_GT(gbs, 45);
    EXPECT_LT(gbs, 63.1);
}

TEST(Cluster, OneAdapterServesAllThatEnterOneDevice) {
    auto const node = load_machine("azure-ndv5");
    auto const one = simulate_cluster(node, 2, {{gpu(0), gpu(8), 64 * MiB}});
    auto const two = simulate_cluster(node, 3, {{gpu(0), gpu(16), 64 * MiB}, {gpu(8), gpu(16), 64 * MiB}});
    EXPECT_NEAR(two.makespan_s, 2 * one.makespan_s, 0.05 * two.makespan_s);
    EXPECT_NE(two.bottleneck.find("node2/"), std::string::npos) << two.bottleneck;
}

TEST(Cluster, DelayedRatesMoveEveryByteInAboutTheSameTime) {
    // Just above and just below the number of flows from which rates may lag: the same density of traffic.
    auto const node = load_machine("a100-8");
    auto const exact = simulate_cluster(node, 4, flows_of(node, 4, "random:5000,3", 4 * MiB));
    auto const lagging = simulate_cluster(node, 4, flows_of(node, 4, "random:5001,3", 4 * MiB));
    EXPECT_NEAR(lagging.makespan_s, exact.makespan_s, 0.03 * exact.makespan_s);
    for (auto const& link : lagging.links) {
        EXPECT_LE(link.utilization, 1 + 1e-6) << link.name;
    }
    for (auto const& flow : lagging.flows) {
        EXPECT_TRUE(flow.end_s);
    }
}

TEST(Cluster, RefusesWhatHasNoMeaning) {
    auto const node = load_machine("azure-ndv5");
    EXPECT_THROW((void)simulate_cluster(node, 2, {{gpu(0), gpu(16), 1}}), std::invalid_argument);
    EXPECT_THROW((void)simulate_cluster(node, 2, {{host(), gpu(1), 1}}), std::invalid_argument);
    EXPECT_THROW((void)simulate_cluster(node, 2, {{gpu(0), gpu(1), 0}}), std::invalid_argument);
    EXPECT_THROW((void)simulate_cluster(load_machine("dgx-1v"), 2, {{gpu(0), gpu(8), 1}}), std::invalid_argument)
        << "it has no network adapter";
    EXPECT_THROW((void)cluster_devices(node.machine(), 0), std::invalid_argument);
    EXPECT_THROW((void)cluster_devices(node.machine(), 5000), std::invalid_argument);
}

}  // namespace
}  // namespace peerlane
