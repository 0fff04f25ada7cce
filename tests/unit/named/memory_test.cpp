// Memory of simulated machines: no two places share an address.

#include <gtest/gtest.h>

#include <peerlane/driver/owned.hpp>
#include <peerlane/named.hpp>
#include <peerlane/units.hpp>

namespace peerlane {
namespace {

std::vector<Place> places_of(const Machine& machine) {
    std::vector<Place> all;
    for (auto const& device : machine.devices) {
        all.push_back(gpu(device.id));
    }
    for (auto const& node : machine.graph.nodes) {
        if (node.kind == NodeKind::numa) {
            all.push_back(host(node.index));
        }
    }
    return all;
}

/// By its owner's eyes: every allocation is found at its first and last byte.
void expect_apart(Driver& driver, const std::vector<Place>& places, int rounds) {
    std::vector<Allocation> all;
    for (int round = 0; round < rounds; ++round) {
        for (auto const place : places) {
            all.emplace_back(
                driver, AllocationRequest{place, 3_MiB + 5, place.is_host() ? MemoryKind::pinned : MemoryKind::plain});
        }
    }
    for (auto const& one : all) {
        for (auto const offset : {std::uint64_t{0}, one.bytes() - 1}) {
            auto const found = driver.whereabouts(one.address() + offset);
            EXPECT_EQ(found.base, one.address());
            EXPECT_EQ(found.place, one.location().place);
        }
    }
}

// Eight nodes of the host: the seventh lay where device 0 lies, and a copy staged through it wrote into that device.
TEST(SimulatedMemory, OfEveryPlaceOfEveryMachineLiesApart) {
    for (auto const& named : named_machines()) {
        auto const machine = load_machine(named.name);
        auto const driver = open_simulated(machine);
        expect_apart(*driver, places_of(machine.machine()), 3);
        EXPECT_FALSE(testing::Test::HasFailure()) << named.name;
    }
}

TEST(SimulatedMemory, OfNodesWithAnyNumberLiesApart) {
    auto machine = load_machine("a6000-6").machine();  // POWER9 numbers nodes from 255 down
    auto number = 255;
    for (auto& node : machine.graph.nodes) {
        if (node.kind == NodeKind::numa) {
            node.index = number--;
            node.name = "numa:" + std::to_string(node.index);
        }
    }
    for (auto& device : machine.devices) {
        device.numa.reset();
    }
    auto const driver = open_simulated(SimulatedMachine(machine));
    expect_apart(*driver, places_of(machine), 3);
}

}  // namespace
}  // namespace peerlane
