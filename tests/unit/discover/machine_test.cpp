/// Whole machines: fixtures and a played management library in, the machine out.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fake_nvml.hpp"
#include "fixture.hpp"

namespace peerlane {
namespace {

using testing_discover::FakeNvml;
using testing_discover::Fixture;
using testing_discover::links_to;

Discovery discover_fixture(const std::string& name, std::shared_ptr<const NvmlApi> nvml = nullptr) {
    Fixture const fixture(name);
    return discover(fixture.roots(), std::move(nvml));
}

std::multiset<std::string> codes(const Machine& machine) {
    std::multiset<std::string> found;
    for (auto const& notice : machine.notices) {
        found.insert(notice.code);
    }
    return found;
}

std::string path(const Machine& machine, int a, int b) {
    return to_string(machine.pair(a, b)->path);
}

/// Both directions of every link are there and alike, and pairs have the same path both ways.
void expect_symmetric(const Machine& machine) {
    for (auto const& link : machine.graph.links) {
        auto const back = std::find_if(machine.graph.links.begin(), machine.graph.links.end(), [&](const Link& other) {
            return other.from == link.to && other.to == link.from && other.kind == link.kind;
        });
        ASSERT_NE(back, machine.graph.links.end());
        EXPECT_EQ(back->width, link.width);
        EXPECT_EQ(back->capacity_gbs, link.capacity_gbs);
    }
    for (auto const& pair : machine.pairs) {
        EXPECT_EQ(pair.path, machine.pair(pair.owner, pair.accessor)->path) << pair.accessor << ":" << pair.owner;
    }
}

TEST(DiscoverMachine, ThisMachineDoesNotHarm) {
    auto const found = discover();
    EXPECT_EQ(found.machine.origin.kind, "live");
    EXPECT_EQ(found.machine.pairs.size(),
              found.machine.devices.size() * (found.machine.devices.size() - (found.machine.devices.empty() ? 0 : 1)));
    if (found.machine.devices.empty()) {
        EXPECT_EQ(codes(found.machine).count("no-gpu"), 1U);
    }
    EXPECT_FALSE(system_text(found).empty());
}

TEST(DiscoverMachine, TwoSocketsWithSwitches) {
    auto const machine = discover_fixture("two-socket-switches").machine;
    ASSERT_EQ(machine.devices.size(), 7U);
    EXPECT_EQ(machine.devices[0].bus, "0000:13:00.0");
    EXPECT_EQ(machine.devices[6].bus, "0000:83:00.0");
    EXPECT_EQ(path(machine, 0, 1), "PIX");
    EXPECT_EQ(path(machine, 2, 3), "PIX");
    EXPECT_EQ(path(machine, 0, 2), "PXB");
    EXPECT_EQ(path(machine, 1, 3), "PXB");
    EXPECT_EQ(path(machine, 0, 4), "NODE");
    EXPECT_EQ(path(machine, 5, 6), "PHB");
    EXPECT_EQ(path(machine, 0, 5), "SYS");
    EXPECT_EQ(path(machine, 4, 6), "SYS");
    expect_symmetric(machine);
    EXPECT_EQ(machine.origin.virtualized, false);
    EXPECT_EQ(machine.devices[0].pcie_generation, 4) << "idle at 2.5 GT/s, yet both ends can 16";
    EXPECT_EQ(machine.devices[0].numa, 0);
    EXPECT_EQ(machine.devices[5].numa, 1);
    EXPECT_NEAR(*machine.pair(0, 1)->nominal_gbs, 31.5, 0.1);
    ASSERT_EQ(machine.nics.size(), 1U) << "a virtual function is no adapter of its own";
    EXPECT_EQ(machine.nics[0].name, "mlx5_0");
    EXPECT_EQ(machine.nics[0].paths[2], PathClass::pix);
    EXPECT_EQ(machine.nics[0].paths[0], PathClass::pxb);
    EXPECT_EQ(machine.nics[0].paths[5], PathClass::sys);
    EXPECT_EQ(codes(machine), (std::multiset<std::string>{"management-missing"}));
    auto const uplink = machine.graph.find("bridge:0000:11:00.0");
    ASSERT_GE(uplink, 0);
    EXPECT_EQ(machine.graph.find("bridge:0000:12:00.0"), -1) << "a downstream port is part of its switch";
    EXPECT_EQ(machine.graph.find("bridge:0000:10:01.0"), -1)
        << "a root port with one thing below it is part of the link";
    auto const up = std::find_if(machine.graph.links.begin(), machine.graph.links.end(), [&](const Link& link) {
        return link.from == uplink &&
               machine.graph.nodes[static_cast<std::size_t>(link.to)].kind == NodeKind::host_bridge;
    });
    ASSERT_NE(up, machine.graph.links.end());
    EXPECT_EQ(up->generation, 5);
    EXPECT_EQ(up->width, 16);
}

TEST(DiscoverMachine, FlatGuest) {
    auto const machine = discover_fixture("flat-guest").machine;
    ASSERT_EQ(machine.devices.size(), 4U);
    EXPECT_EQ(machine.origin.virtualized, true);
    for (auto const& device : machine.devices) {
        EXPECT_FALSE(device.numa);
        EXPECT_EQ(device.pcie_width, 16);
    }
    auto const found = codes(machine);
    EXPECT_EQ(found.count("virtual"), 1U);
    EXPECT_EQ(found.count("numa-unknown"), 1U);
    EXPECT_EQ(found.count("flat-tree"), 1U);
    EXPECT_EQ(found.count("speed-unknown"), 0U);
    EXPECT_EQ(path(machine, 0, 3), "PHB");
}

TEST(DiscoverMachine, MissingNumaIsUnknown) {
    auto const machine = discover_fixture("numa-missing").machine;
    ASSERT_EQ(machine.devices.size(), 2U);
    EXPECT_FALSE(machine.devices[0].numa);
    EXPECT_EQ(machine.origin.virtualized, false);
    EXPECT_EQ(codes(machine).count("numa-unknown"), 1U);
    EXPECT_EQ(codes(machine).count("flat-tree"), 0U) << "two root ports are a real tree";
    EXPECT_EQ(path(machine, 0, 1), "PHB");
    EXPECT_EQ(machine.devices[0].pcie_width, 8);
}

TEST(DiscoverMachine, OneNarrowLinkIsSeenAndIdleOnesAreNot) {
    auto const machine = discover_fixture("one-x4-link").machine;
    ASSERT_EQ(machine.devices.size(), 2U);
    EXPECT_EQ(machine.devices[0].pcie_width, 16);
    EXPECT_EQ(machine.devices[1].pcie_width, 4);
    EXPECT_EQ(machine.devices[1].pcie_generation, 4);
    EXPECT_NEAR(*machine.pair(0, 1)->nominal_gbs, 7.88, 0.01);
    EXPECT_NEAR(*machine.pair(1, 0)->nominal_gbs, 7.88, 0.01);
}

TEST(DiscoverMachine, ADeadLinkHasNoSpeed) {
    auto const machine = discover_fixture("dead-link").machine;
    ASSERT_EQ(machine.devices.size(), 1U);
    EXPECT_FALSE(machine.devices[0].pcie_generation);
    EXPECT_FALSE(machine.devices[0].pcie_width);
    EXPECT_EQ(codes(machine).count("speed-unknown"), 1U);
}

TEST(DiscoverMachine, NoPciTreeButManagementAnswers) {
    FakeNvml nvml;
    nvml.devices = {{.bus = "00000000:81:00.0", .name = "NVIDIA A10G"},
                    {.bus = "00000000:07:00.0", .name = "NVIDIA A10G"}};
    nvml.ancestor = 30;
    auto const machine = discover_fixture("no-pci", nvml.api()).machine;
    ASSERT_EQ(machine.devices.size(), 2U);
    EXPECT_EQ(machine.devices[0].bus, "0000:07:00.0") << "in bus order, whatever the library's order";
    EXPECT_EQ(machine.devices[0].uuid, "GPU-00000001");
    EXPECT_EQ(path(machine, 0, 1), "PHB");
    EXPECT_EQ(machine.devices[0].pcie_generation, 5);
    EXPECT_NEAR(*machine.pair(0, 1)->nominal_gbs, 63.0, 0.1);
    EXPECT_EQ(codes(machine).count("tree-unknown"), 1U);
}

TEST(DiscoverMachine, NoPciTreeAndNoManagement) {
    auto const machine = discover_fixture("no-pci").machine;
    EXPECT_TRUE(machine.devices.empty());
    auto const found = codes(machine);
    EXPECT_EQ(found.count("tree-unknown"), 1U);
    EXPECT_EQ(found.count("no-gpu"), 1U);
    EXPECT_EQ(found.count("management-missing"), 1U);
}

TEST(DiscoverMachine, ADeviceThatTheTreeDoesNotHave) {
    FakeNvml nvml;
    nvml.devices = {{.bus = "00000000:01:00.0", .name = "NVIDIA GeForce RTX 4090"}};
    auto const machine = discover_fixture("wsl", nvml.api()).machine;
    ASSERT_EQ(machine.devices.size(), 1U);
    EXPECT_EQ(machine.origin.virtualized, true);
    EXPECT_EQ(codes(machine).count("tree-unknown"), 1U);
}

TEST(DiscoverMachine, H200PairInAVirtualMachine) {
    FakeNvml nvml;
    for (auto const* bus : {"00000000:00:06.0", "00000000:00:07.0"}) {
        nvml.devices.push_back(
            {.bus = bus, .name = "NVIDIA H200", .links = links_to("FFFFFFFF:FF:FF.0", 18), .virtualization = 1});
    }
    auto const found = discover_fixture("h200-pair-vm", nvml.api());
    auto const& machine = found.machine;
    ASSERT_EQ(machine.devices.size(), 2U);
    EXPECT_EQ(path(machine, 0, 1), "NV");
    EXPECT_EQ(machine.pair(0, 1)->nvlinks, 18);
    EXPECT_EQ(machine.pair(1, 0)->nvlinks, 18);
    EXPECT_NEAR(*machine.pair(0, 1)->nominal_gbs, 478.1, 0.1);
    EXPECT_EQ(machine.devices[0].nvlinks, 18);
    EXPECT_EQ(machine.devices[0].nvlink_state, "active");
    EXPECT_EQ(machine.devices[0].model, "NVIDIA H200");
    EXPECT_EQ(machine.devices[0].compute_capability, 90);
    EXPECT_EQ(machine.devices[0].pcie_generation, 5);
    EXPECT_EQ(machine.devices[0].cpu_affinity, "0-31");
    EXPECT_FALSE(machine.devices[0].numa);
    EXPECT_EQ(machine.pair(0, 1)->claims.read, "OK");
    EXPECT_EQ(machine.pair(0, 1)->claims.pcie, "NS");
    EXPECT_EQ(machine.pair(0, 1)->claim, true);
    EXPECT_EQ(machine.origin.virtualized, true);
    auto const notices = codes(machine);
    EXPECT_EQ(notices, (std::multiset<std::string>{"flat-tree", "numa-unknown", "unknown-link-target", "virtual"}));
    EXPECT_GE(machine.graph.find("nvswitch:0"), 0);
    expect_symmetric(machine);
    EXPECT_EQ(found.nvml.driver_version, "580.159.04");
    EXPECT_EQ(found.nvml.devices[0].links[0].generation, 4);
    auto const text = system_text(found);
    EXPECT_NE(text.find("0000:00:06.0"), std::string::npos);
    EXPECT_NE(text.find("driver 580.159.04, 2 devices"), std::string::npos);
}

TEST(DiscoverMachine, BridgePairsWithOneLinkDown) {
    FakeNvml nvml;
    nvml.nvlink_status = 5;
    auto const add = [&](const char* bus, const char* peer) {
        nvml.devices.push_back({.bus = bus,
                                .name = "NVIDIA GeForce RTX 3090",
                                .links = links_to(peer, 4, 0),
                                .nvlink_version = 5,
                                .link_gbs = 14.0625,
                                .most_generation = 4});
    };
    add("00000000:01:00.0", "00000000:02:00.0");
    add("00000000:02:00.0", "00000000:01:00.0");
    add("00000000:03:00.0", "00000000:81:00.0");
    add("00000000:81:00.0", "00000000:03:00.0");
    nvml.devices[2].links[3].active = 0;
    nvml.devices[3].links[3].active = 0;
    auto const machine = discover_fixture("nvlink-bridge-pairs", nvml.api()).machine;
    ASSERT_EQ(machine.devices.size(), 4U);
    EXPECT_EQ(path(machine, 0, 1), "NV");
    EXPECT_EQ(machine.pair(0, 1)->nvlinks, 4);
    EXPECT_NEAR(*machine.pair(0, 1)->nominal_gbs, 56.25, 0.01);
    EXPECT_EQ(path(machine, 2, 3), "NV") << "a bridge may cross sockets";
    EXPECT_EQ(machine.pair(2, 3)->nvlinks, 3);
    EXPECT_NEAR(*machine.pair(3, 2)->nominal_gbs, 42.19, 0.01);
    EXPECT_EQ(machine.devices[2].inactive_nvlinks, std::vector<int>{3});
    EXPECT_EQ(path(machine, 0, 2), "PHB");
    EXPECT_EQ(path(machine, 0, 3), "SYS");
    EXPECT_FALSE(machine.pair(0, 2)->nvlinks);
    EXPECT_EQ(machine.pair(0, 1)->claims.nvlink, "NS") << "links that are there, and a driver that does not offer them";
    expect_symmetric(machine);
}

TEST(DiscoverMachine, UnevenSpreadOverSwitchesCountsAllLinks) {
    FakeNvml nvml;
    auto const spread = [](std::vector<int> counts) {
        std::vector<testing_discover::FakeLink> links;
        for (int i = 0; i < 4; ++i) {
            auto const some =
                links_to("00000000:0" + std::to_string(5 + i) + ":00.0", counts[static_cast<std::size_t>(i)], 255);
            links.insert(links.end(), some.begin(), some.end());
        }
        return links;
    };
    for (auto const* bus : {"00000000:1b:00.0", "00000000:2b:00.0", "00000000:8b:00.0", "00000000:9b:00.0"}) {
        auto const odd = nvml.devices.size() % 2 != 0;
        nvml.devices.push_back({.bus = bus,
                                .name = "NVIDIA H100 80GB HBM3",
                                .links = spread(odd ? std::vector{4, 4, 5, 5} : std::vector{5, 5, 4, 4})});
    }
    auto const machine = discover_fixture("hgx-h100-switches", nvml.api()).machine;
    ASSERT_EQ(machine.devices.size(), 4U) << "a switch of the same vendor is no device";
    for (auto const& pair : machine.pairs) {
        EXPECT_EQ(pair.path, PathClass::nv);
        EXPECT_EQ(pair.nvlinks, 18);
        EXPECT_NEAR(*pair.nominal_gbs, 478.1, 0.1);
    }
    expect_symmetric(machine);
    EXPECT_EQ(codes(machine).count("unknown-link-target"), 0U);
}

TEST(DiscoverMachine, SwitchesOfTwoBoardsAreOneFabricOnlyWhereTheDriverOffersIt) {
    FakeNvml nvml;
    nvml.devices = {{.bus = "0000:1b:00.0", .name = "Tesla V100", .links = links_to("0000:05:00.0", 6)},
                    {.bus = "0000:2b:00.0", .name = "Tesla V100", .links = links_to("0000:05:00.0", 6)},
                    {.bus = "0000:8b:00.0", .name = "Tesla V100", .links = links_to("0000:06:00.0", 6)},
                    {.bus = "0000:9b:00.0", .name = "Tesla V100", .links = links_to("0000:06:00.0", 6)}};
    nvml.nvlink_status_of = {{0, 0, 5, 5}, {0, 0, 5, 5}, {5, 5, 0, 0}, {5, 5, 0, 0}};
    auto const apart = discover_fixture("hgx-h100-switches", nvml.api()).machine;
    EXPECT_EQ(path(apart, 0, 1), "NV");
    EXPECT_EQ(path(apart, 0, 2), "SYS");
    EXPECT_EQ(apart.graph.nodes[static_cast<std::size_t>(apart.graph.find("nvswitch:0"))].bus, "0000:05:00.0");
    nvml.nvlink_status_of.clear();
    nvml.release = std::make_shared<std::promise<void>>();
    auto const joined = discover_fixture("hgx-h100-switches", nvml.api()).machine;
    EXPECT_EQ(path(joined, 0, 2), "NV");
    EXPECT_EQ(joined.pair(0, 2)->nvlinks, 6);
}

TEST(DiscoverMachine, ALinkToAnUnseenDeviceIsNoSwitch) {
    FakeNvml nvml;
    nvml.nvlink_status = 5;
    nvml.devices = {
        {.bus = "0000:01:00.0", .name = "NVIDIA GeForce RTX 3090", .links = links_to("0000:42:00.0", 4, 0)},
        {.bus = "0000:02:00.0", .name = "NVIDIA GeForce RTX 3090", .links = links_to("0000:43:00.0", 4, 0)}};
    auto const machine = discover_fixture("nvlink-bridge-pairs", nvml.api()).machine;
    ASSERT_EQ(machine.devices.size(), 2U);
    EXPECT_EQ(path(machine, 0, 1), "PHB");
    EXPECT_EQ(codes(machine).count("unknown-link-target"), 2U);
    EXPECT_EQ(codes(machine).count("device-hidden"), 1U) << "two of four are not offered to this process";
}

TEST(DiscoverMachine, AmdDevicesWithXgmi) {
    auto const machine = discover_fixture("amd-mi300x").machine;
    ASSERT_EQ(machine.devices.size(), 4U) << "neither the virtual function nor the console chip is a device";
    for (auto const& pair : machine.pairs) {
        EXPECT_EQ(pair.path, PathClass::xgmi);
        EXPECT_NEAR(*pair.nominal_gbs, 64.0, 0.01);
    }
    EXPECT_EQ(codes(machine).count("management-missing"), 0U) << "nobody needs NVIDIA's library here";
    expect_symmetric(machine);
}

TEST(DiscoverMachine, MemoryOfADeviceIsNoPlaceOfTheHost) {
    auto const machine = discover_fixture("grace-hopper").machine;
    ASSERT_EQ(machine.devices.size(), 2U);
    EXPECT_EQ(machine.devices[0].memory_numa, 4);
    EXPECT_FALSE(machine.devices[1].memory_numa);
    EXPECT_GE(machine.graph.numa_node(0), 0);
    EXPECT_GE(machine.graph.numa_node(1), 0);
    EXPECT_EQ(machine.graph.numa_node(4), -1);
    EXPECT_EQ(machine.graph.numa_node(5), -1) << "neither CPUs nor memory";
    EXPECT_EQ(path(machine, 0, 1), "SYS");
    EXPECT_FALSE(machine.origin.virtualized) << "nothing tells";
}

TEST(DiscoverMachine, ABridgeThatJoinsTwoDevices) {
    auto const machine = discover_fixture("two-below-one-port").machine;
    ASSERT_EQ(machine.devices.size(), 2U);
    EXPECT_EQ(path(machine, 0, 1), "PIX");
    EXPECT_EQ(machine.origin.virtualized, true);
    EXPECT_GE(machine.graph.find("bridge:0000:00:03.0"), 0);
}

TEST(DiscoverMachine, MigIsTold) {
    FakeNvml nvml;
    nvml.devices = {{.bus = "0000:00:06.0", .name = "NVIDIA H100", .mig = 1, .mig_instances = 3},
                    {.bus = "0000:00:07.0", .name = "NVIDIA H100"}};
    nvml.read_status = nvml.write_status = 2;
    auto const machine = discover_fixture("h200-pair-vm", nvml.api()).machine;
    EXPECT_EQ(machine.devices[0].mig, true);
    EXPECT_EQ(machine.devices[0].mig_instances, 3);
    EXPECT_EQ(machine.devices[0].nvlink_state, "refused-mig");
    EXPECT_EQ(machine.devices[1].mig, false);
    EXPECT_EQ(machine.devices[1].nvlink_state, "unsupported");
    EXPECT_EQ(machine.pair(0, 1)->claims.read, "GNS");
    EXPECT_EQ(machine.pair(0, 1)->claim, false);
}

TEST(DiscoverMachine, TextOfASystemWithoutDevices) {
    Fixture const fixture("no-pci");
    auto const text = system_text(discover(fixture.roots(), nullptr));
    EXPECT_NE(text.find("PCI: no tree here"), std::string::npos);
    EXPECT_NE(text.find("NVIDIA kernel module: not loaded"), std::string::npos);
    EXPECT_NE(text.find("note no-gpu"), std::string::npos);
}

TEST(DiscoverMachine, EveryFixtureHoldsTheLaws) {
    for (auto const* name : {"two-socket-switches", "flat-guest", "numa-missing", "one-x4-link", "dead-link", "no-pci",
                             "wsl", "h200-pair-vm", "nvlink-bridge-pairs", "amd-mi300x", "hgx-h100-switches",
                             "grace-hopper", "nested-roots", "two-below-one-port"}) {
        SCOPED_TRACE(name);
        auto const found = discover_fixture(name);
        expect_symmetric(found.machine);
        std::set<std::string> names;
        for (auto const& node : found.machine.graph.nodes) {
            EXPECT_TRUE(names.insert(node.name).second) << node.name;
        }
        for (auto const& link : found.machine.graph.links) {
            EXPECT_NE(link.width, std::optional(0));
            EXPECT_NE(link.capacity_gbs, std::optional(0.0));
            EXPECT_NE(link.from, link.to);
        }
        EXPECT_EQ(found.machine, machine_from(found.host, found.nvml)) << "the second half depends on the facts alone";
    }
}

}  // namespace
}  // namespace peerlane
