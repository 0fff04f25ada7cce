// Lookups, words, nominal rates, lists of CPUs, and classes of ways through a graph.

#include <stdexcept>

#include <gtest/gtest.h>

#include "machine/cpu_list.hpp"
#include "machine/nominal.hpp"
#include "machine/parts.hpp"
#include "machine/paths.hpp"

namespace peerlane {
namespace {

Machine machine_of(int devices) {
    Machine machine;
    for (int id = 0; id < devices; ++id) {
        Device device;
        device.id = id;
        machine.devices.push_back(device);
    }
    return machine;
}

TEST(MachineCore, PairsAreFoundByAccessorAndOwner) {
    auto machine = machine_of(3);
    complete_pairs(machine);
    ASSERT_EQ(machine.pairs.size(), 6U);
    for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) {
            auto const* const pair = machine.pair(a, b);
            ASSERT_EQ(pair == nullptr, a == b);
            if (pair != nullptr) {
                EXPECT_EQ(pair->accessor, a);
                EXPECT_EQ(pair->owner, b);
            }
        }
    }
    EXPECT_EQ(machine.pair(0, 3), nullptr);
    EXPECT_EQ(machine.pair(-1, 0), nullptr);
    EXPECT_EQ(machine.device(3), nullptr);
    machine.pair(2, 1)->path = PathClass::pix;
    EXPECT_EQ(machine.pairs.back().path, PathClass::pix);
}

TEST(MachineCore, CompletingKeepsWhatIsThereAndSorts) {
    auto machine = machine_of(2);
    std::swap(machine.devices[0], machine.devices[1]);
    Pair known;
    known.accessor = 1;
    known.owner = 0;
    known.path = PathClass::nv;
    known.nvlinks = 4;
    machine.pairs = {known};
    machine.nics.push_back({"mlx5_0", std::nullopt, {}});
    complete_pairs(machine);
    EXPECT_EQ(machine.devices[0].id, 0);
    EXPECT_EQ(machine.pair(0, 1)->path, PathClass::unknown);
    EXPECT_EQ(*machine.pair(1, 0), known);
    EXPECT_EQ(machine.nics[0].paths, std::vector<PathClass>(2, PathClass::unknown));
}

TEST(MachineCore, CompletingRefusesWhatIsNoMachine) {
    auto gap = machine_of(2);
    gap.devices[1].id = 2;
    EXPECT_THROW(complete_pairs(gap), std::invalid_argument);
    auto outside = machine_of(2);
    outside.pairs.resize(1);
    outside.pairs[0].owner = 5;
    EXPECT_THROW(complete_pairs(outside), std::invalid_argument);
    auto doubled = machine_of(2);
    doubled.pairs.resize(2);
    doubled.pairs[0].owner = doubled.pairs[1].owner = 1;
    EXPECT_THROW(complete_pairs(doubled), std::invalid_argument);
    auto crowd = machine_of(most_devices + 1);
    EXPECT_THROW(complete_pairs(crowd), std::invalid_argument);
}

TEST(MachineCore, PathWordsGoBothWays) {
    for (auto const path : {PathClass::unknown, PathClass::sys, PathClass::node, PathClass::phb, PathClass::pxb,
                            PathClass::pix, PathClass::xgmi, PathClass::nv}) {
        EXPECT_EQ(parse_path_class(to_string(path)), path);
    }
    EXPECT_EQ(parse_path_class("soc"), PathClass::sys);
    EXPECT_EQ(parse_path_class("Node"), PathClass::node);
    EXPECT_EQ(parse_path_class("NV18"), std::nullopt);
    EXPECT_EQ(parse_path_class(""), std::nullopt);
    for (auto const kind : {NodeKind::device, NodeKind::pci_bridge, NodeKind::host_bridge, NodeKind::numa,
                            NodeKind::nvswitch, NodeKind::nic, NodeKind::other}) {
        EXPECT_EQ(parse_node_kind(to_string(kind)), kind);
    }
    for (auto const kind : {LinkKind::pcie, LinkKind::nvlink, LinkKind::xgmi, LinkKind::interconnect, LinkKind::memory,
                            LinkKind::network}) {
        EXPECT_EQ(parse_link_kind(to_string(kind)), kind);
    }
}

TEST(Nominal, PcieByGenerationAndWidth) {
    EXPECT_NEAR(*pcie_gbs(3, 16), 15.75, 0.01);
    EXPECT_NEAR(*pcie_gbs(4, 16), 31.51, 0.01);
    EXPECT_NEAR(*pcie_gbs(5, 16), 63.02, 0.01);
    EXPECT_NEAR(*pcie_gbs(1, 1), 0.25, 1e-9);
    EXPECT_EQ(pcie_gbs(std::nullopt, 16), std::nullopt);
    EXPECT_EQ(pcie_gbs(4, 0), std::nullopt);
    EXPECT_EQ(pcie_gbs(9, 16), std::nullopt);
    EXPECT_EQ(pcie_generation("16 GT/s"), 4);
    EXPECT_EQ(pcie_generation("32.0 GT/s PCIe"), 5);
    EXPECT_EQ(pcie_generation("2.5GT/s"), 1);
    EXPECT_EQ(pcie_generation(""), std::nullopt);
    EXPECT_EQ(pcie_generation("Unknown"), std::nullopt);
    EXPECT_EQ(pcie_generation("3 GT/s"), std::nullopt);
    for (int generation = 1; generation <= 7; ++generation) {
        EXPECT_EQ(pcie_generation(pcie_speed_text(generation)), generation);
    }
}

std::optional<FabricPart> part(const char* model) {
    Device device;
    device.model = model;
    return nvlink_part(device);
}

TEST(Nominal, NvlinkByPart) {
    EXPECT_NEAR(part("NVIDIA H200")->link_gbs * 18, 478.1, 0.1);
    EXPECT_EQ(part("NVIDIA A100-SXM4-40GB")->links, 12);
    EXPECT_EQ(part("NVIDIA A10G")->links, 0);
    EXPECT_EQ(part("NVIDIA A800-SXM4-80GB")->links, 8);
    EXPECT_EQ(part("NVIDIA GeForce RTX 4090")->links, 0);
    EXPECT_EQ(part("NVIDIA RTX 6000 Ada Generation")->links, 0);
    EXPECT_EQ(part("NVIDIA RTX A6000")->links, 4);
    EXPECT_EQ(part("NVIDIA L40S")->links, 0);
    EXPECT_EQ(part("Tesla V100-PCIE-16GB")->links, 0);
    EXPECT_EQ(part("Tesla V100-SXM2-16GB")->links, 6);
    EXPECT_EQ(part("Some Other Card"), std::nullopt);
    Device by_capability;
    by_capability.compute_capability = 90;
    EXPECT_EQ(nvlink_part(by_capability)->generation, 4);
}

TEST(Nominal, PairsAreFilledOnlyWhereThePartIsKnown) {
    auto machine = machine_of(2);
    complete_pairs(machine);
    for (auto& pair : machine.pairs) {
        pair.path = PathClass::nv;
        pair.nvlinks = 6;
    }
    fill_nominal(machine);
    EXPECT_EQ(machine.pair(0, 1)->nominal_gbs, std::nullopt);
    machine.devices[0].model = machine.devices[1].model = "NVIDIA H100 80GB HBM3";
    fill_nominal(machine);
    EXPECT_NEAR(*machine.pair(0, 1)->nominal_gbs, 159.4, 0.1);
}

TEST(Nominal, PcieTakesTheNarrowerDevice) {
    auto machine = machine_of(2);
    complete_pairs(machine);
    for (auto& pair : machine.pairs) {
        pair.path = PathClass::phb;
    }
    machine.devices[0].pcie_generation = 4;
    machine.devices[0].pcie_width = 16;
    fill_nominal(machine);
    EXPECT_EQ(machine.pair(0, 1)->nominal_gbs, std::nullopt);
    machine.devices[1].pcie_generation = 4;
    machine.devices[1].pcie_width = 8;
    fill_nominal(machine);
    EXPECT_NEAR(*machine.pair(0, 1)->nominal_gbs, 15.75, 0.01);
}

TEST(Parts, IdsAndModels) {
    EXPECT_EQ(model_of_pci_id(0x10de, 0x2335), "NVIDIA H200");
    EXPECT_EQ(model_of_pci_id(0x10de, 0x0001), std::nullopt);
    EXPECT_EQ(pci_id_of_model("NVIDIA H200").device, 0x2335);
    EXPECT_EQ(pci_id_of_model("a toaster").vendor, 0);
}

TEST(CpuList, MasksAndLists) {
    EXPECT_EQ(cpu_list_of_mask("000000ff,ffff0000,00ffffff"), "0-23,48-71");
    EXPECT_EQ(cpu_list_of_mask("5"), "0,2");
    EXPECT_EQ(cpu_list_of_mask("0"), std::nullopt);
    EXPECT_EQ(cpu_list_of_mask("xyz"), std::nullopt);
    EXPECT_EQ(cpu_mask_of_list("0-23,48-71"), "000000ff,ffff0000,00ffffff");
    EXPECT_EQ(cpu_mask_of_list("0-99999999"), std::nullopt);
    EXPECT_EQ(cpu_mask_of_list("3-1"), std::nullopt);
    for (auto const* list : {"0", "31", "32", "0-31,64-95", "6,14,22,30"}) {
        EXPECT_EQ(cpu_list_of_mask(*cpu_mask_of_list(list)), list);
    }
}

/// numa:0 has host:0 (gpu0 and gpu1 below one bridge, gpu2 below a bridge below it, gpu3 at the host bridge) and host:1
/// (gpu4); numa:1 has host:2 (gpu5).
Graph small_tree() {
    Graph graph;
    auto const add = [&](NodeKind kind, int index, const char* name) {
        graph.nodes.push_back({kind, index, name, "", -1});
        return static_cast<int>(graph.nodes.size()) - 1;
    };
    auto const join = [&](int a, int b, LinkKind kind, std::optional<double> gbs = {}) {
        graph.links.push_back({a, b, kind, {}, {}, gbs, {}});
        graph.links.push_back({b, a, kind, {}, {}, gbs, {}});
    };
    auto const numa0 = add(NodeKind::numa, 0, "numa:0"), numa1 = add(NodeKind::numa, 1, "numa:1");
    auto const host0 = add(NodeKind::host_bridge, 0, "host:0"), host1 = add(NodeKind::host_bridge, 1, "host:1"),
               host2 = add(NodeKind::host_bridge, 2, "host:2");
    auto const upper = add(NodeKind::pci_bridge, 0, "bridge:0"), lower = add(NodeKind::pci_bridge, 1, "bridge:1");
    join(numa0, numa1, LinkKind::interconnect);
    join(host0, numa0, LinkKind::memory);
    join(host1, numa0, LinkKind::memory);
    join(host2, numa1, LinkKind::memory);
    join(upper, host0, LinkKind::pcie, 8.0);
    join(lower, upper, LinkKind::pcie, 4.0);
    int id = 0;
    for (auto const parent : {upper, upper, lower, host0, host1, host2}) {
        join(add(NodeKind::device, id, ("gpu" + std::to_string(id)).c_str()), parent, LinkKind::pcie, 16.0);
        ++id;
    }
    return graph;
}

TEST(Paths, ClassesByWhatLiesOnTheWay) {
    auto const graph = small_tree();
    auto const path = [&](int a, int b) { return path_class(graph, graph.device_node(a), graph.device_node(b)); };
    EXPECT_EQ(path(0, 1), PathClass::pix);
    EXPECT_EQ(path(0, 2), PathClass::pxb);
    EXPECT_EQ(path(0, 3), PathClass::phb);
    EXPECT_EQ(path(3, 4), PathClass::node);
    EXPECT_EQ(path(0, 5), PathClass::sys);
    EXPECT_EQ(path(4, 5), PathClass::sys);
    EXPECT_EQ(path(5, 4), PathClass::sys);
}

TEST(Paths, NarrowestPcieLinkIsTheNominalRate) {
    auto const graph = small_tree();
    auto const gbs = [&](int a, int b) { return pcie_path_gbs(graph, graph.device_node(a), graph.device_node(b)); };
    EXPECT_EQ(gbs(0, 1), 16.0);
    EXPECT_EQ(gbs(0, 2), 4.0);
    EXPECT_EQ(gbs(0, 3), 8.0);
}

TEST(Paths, NothingIsRoutedThroughADevice) {
    Graph graph;
    for (int id = 0; id < 3; ++id) {
        graph.nodes.push_back({NodeKind::device, id, "gpu" + std::to_string(id), "", -1});
    }
    for (auto const& [a, b] : {std::pair(0, 1), std::pair(1, 2)}) {
        graph.links.push_back({a, b, LinkKind::nvlink, {}, 2, 50.0, {}});
        graph.links.push_back({b, a, LinkKind::nvlink, {}, 2, 50.0, {}});
    }
    EXPECT_EQ(path_class(graph, 0, 1), PathClass::nv);
    EXPECT_EQ(path_class(graph, 0, 2), PathClass::unknown);
    EXPECT_EQ(fabric_links(graph, 0, 2), 0);
}

TEST(Paths, LinksThroughSwitchesAddUp) {
    // gpu0 has 5 + 4 links to two switches, gpu1 has 3 + 4: together min(5, 3) + min(4, 4).
    Graph graph;
    graph.nodes = {{NodeKind::device, 0, "gpu0", "", -1},
                   {NodeKind::device, 1, "gpu1", "", -1},
                   {NodeKind::nvswitch, 0, "nvswitch:0", "", -1},
                   {NodeKind::nvswitch, 1, "nvswitch:1", "", -1}};
    auto const join = [&](int device, int node, int width) {
        graph.links.push_back({device, node, LinkKind::nvlink, 4, width, width * 25.0, {}});
        graph.links.push_back({node, device, LinkKind::nvlink, 4, width, width * 25.0, {}});
    };
    join(0, 2, 5);
    join(0, 3, 4);
    join(1, 2, 3);
    join(1, 3, 4);
    EXPECT_EQ(fabric_links(graph, 0, 1), 7);
    EXPECT_EQ(fabric_gbs(graph, 0, 1), 175.0);
    // A switch joined to a switch is one fabric: the narrower sum counts.
    graph.links.push_back({2, 3, LinkKind::nvlink, 4, 8, 200.0, {}});
    graph.links.push_back({3, 2, LinkKind::nvlink, 4, 8, 200.0, {}});
    EXPECT_EQ(fabric_links(graph, 0, 1), 7);
    graph.links[0].width = std::nullopt;
    EXPECT_EQ(fabric_links(graph, 0, 1), std::nullopt);
    EXPECT_EQ(path_class(graph, 0, 1), PathClass::nv);
}

TEST(Paths, MachineIsClassifiedWithItsNics) {
    auto machine = machine_of(6);
    machine.graph = small_tree();
    machine.graph.nodes.push_back({NodeKind::nic, 0, "mlx5_0", "0000:05:00.0", -1});
    auto const nic = static_cast<int>(machine.graph.nodes.size()) - 1;
    auto const bridge = machine.graph.find("bridge:0");
    machine.graph.links.push_back({nic, bridge, LinkKind::pcie, {}, {}, {}, {}});
    machine.graph.links.push_back({bridge, nic, LinkKind::pcie, {}, {}, {}, {}});
    complete_pairs(machine);
    classify_from_graph(machine);
    EXPECT_EQ(machine.pair(0, 2)->path, PathClass::pxb);
    EXPECT_EQ(machine.pair(2, 0)->nominal_gbs, 4.0);
    ASSERT_EQ(machine.nics.size(), 1U);
    EXPECT_EQ(machine.nics[0].paths, (std::vector<PathClass>{PathClass::pix, PathClass::pix, PathClass::pxb,
                                                             PathClass::phb, PathClass::node, PathClass::sys}));
}

}  // namespace
}  // namespace peerlane
