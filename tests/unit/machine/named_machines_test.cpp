// The machines that are shipped: each document reads, says what its graph says, and survives being written.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machine/paths.hpp"
#include "machine/read/own_json.hpp"
#include "machine/write/writers.hpp"

namespace peerlane {
namespace {

std::vector<std::string> names() {
    std::vector<std::string> found;
    for (auto const& entry : std::filesystem::directory_iterator(std::string(PEERLANE_SOURCE_DIR) + "/machines")) {
        if (entry.path().extension() == ".json") {
            found.push_back(entry.path().stem().string());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::string text_of(const std::string& name) {
    std::ifstream file(std::string(PEERLANE_SOURCE_DIR) + "/machines/" + name + ".json");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

Machine load(const std::string& name) {
    auto const text = text_of(name);
    return read::read_own_json({name, text});
}

class NamedMachine : public testing::TestWithParam<std::string> {};
std::string as_identifier(const testing::TestParamInfo<std::string>& machine) {
    auto name = machine.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}
INSTANTIATE_TEST_SUITE_P(Shipped, NamedMachine, testing::ValuesIn(names()), as_identifier);

TEST_P(NamedMachine, SaysWhatItIsAndWhereThatComesFrom) {
    auto const machine = load(GetParam());
    EXPECT_EQ(machine.origin.name, GetParam());
    EXPECT_EQ(machine.origin.kind, "named");
    EXPECT_NE(machine.origin.source.find("2026-"), std::string::npos) << "no date in: " << machine.origin.source;
    EXPECT_GE(machine.devices.size(), 2u);
    EXPECT_EQ(machine.pairs.size(), machine.devices.size() * (machine.devices.size() - 1));
    for (auto const& device : machine.devices) {
        EXPECT_TRUE(device.model) << "device " << device.id;
        EXPECT_TRUE(device.numa) << "device " << device.id;
    }
    EXPECT_TRUE(machine.notices.empty());
}

TEST_P(NamedMachine, SurvivesBeingWritten) {
    auto const machine = load(GetParam());
    auto const text = write::json(machine);
    EXPECT_EQ(read::read_own_json({"written", text}), machine);
}

TEST_P(NamedMachine, EveryCableHasBothDirections) {
    auto const graph = load(GetParam()).graph;
    std::map<std::tuple<int, int, LinkKind>, double> capacity;
    for (auto const& link : graph.links) {
        ASSERT_TRUE(link.capacity_gbs) << graph.nodes[static_cast<std::size_t>(link.from)].name;
        capacity[{link.from, link.to, link.kind}] += *link.capacity_gbs;
    }
    for (auto const& [ends, gbs] : capacity) {
        auto const back = capacity.find({std::get<1>(ends), std::get<0>(ends), std::get<2>(ends)});
        ASSERT_NE(back, capacity.end());
        EXPECT_EQ(gbs, back->second);
    }
}

TEST_P(NamedMachine, EveryDeviceReachesItsOwnMemoryNodeAndEveryOther) {
    auto const machine = load(GetParam());
    auto const& graph = machine.graph;
    for (auto const& device : machine.devices) {
        auto const from = graph.device_node(device.id);
        ASSERT_GE(from, 0);
        auto nearest = std::string();
        std::size_t shortest = 1000;
        for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
            if (graph.nodes[node].kind != NodeKind::numa) {
                continue;
            }
            auto const out = host_way(graph, from, static_cast<int>(node));
            ASSERT_FALSE(out.empty()) << "gpu" << device.id << " to " << graph.nodes[node].name;
            ASSERT_FALSE(host_way(graph, static_cast<int>(node), from).empty());
            if (out.size() < shortest) {
                shortest = out.size();
                nearest = graph.nodes[node].name;
            }
        }
        EXPECT_EQ(nearest, "numa:" + std::to_string(*device.numa)) << "gpu" << device.id;
    }
}

/// Pairs whose printed class is not what the bridges between them would give, as their source prints it.
std::set<std::string> with_words_of_their_own() {
    return {"mi250x-8", "pex890xx-8", "switchtec-root-leaf-8"};
}

TEST_P(NamedMachine, PairsSayWhatTheGraphSays) {
    auto const machine = load(GetParam());
    auto again = machine;
    for (auto& pair : again.pairs) {
        pair.path = PathClass::unknown;
        pair.nvlinks.reset();
        pair.nominal_gbs.reset();
    }
    classify_from_graph(again);
    bool const own_words = with_words_of_their_own().count(GetParam()) > 0;
    for (std::size_t i = 0; i < machine.pairs.size(); ++i) {
        auto const& given = machine.pairs[i];
        auto const& found = again.pairs[i];
        SCOPED_TRACE(std::to_string(given.accessor) + ":" + std::to_string(given.owner));
        if (!own_words) {
            EXPECT_EQ(given.path, found.path);
        }
        EXPECT_EQ(given.nvlinks, found.nvlinks);
        if (given.nominal_gbs) {
            ASSERT_TRUE(found.nominal_gbs);
            EXPECT_NEAR(*given.nominal_gbs, *found.nominal_gbs, 1e-3);
        }
        EXPECT_TRUE(given.measured.empty()) << "a shipped machine holds no measurements";
    }
    EXPECT_EQ(machine.nics.size(), again.nics.size());
    for (std::size_t i = 0; i < machine.nics.size(); ++i) {
        EXPECT_EQ(machine.nics[i].paths, again.nics[i].paths);
    }
}

TEST_P(NamedMachine, MirroredPairsAgree) {
    auto const machine = load(GetParam());
    for (auto const& pair : machine.pairs) {
        auto const* back = machine.pair(pair.owner, pair.accessor);
        ASSERT_NE(back, nullptr);
        EXPECT_EQ(pair.path, back->path);
        EXPECT_EQ(pair.nvlinks, back->nvlinks);
        EXPECT_EQ(pair.claim, back->claim);
    }
}

// What the sources print of each machine, cell by cell where that is short.
TEST(NamedMachines, AreTheOnesThatWereAskedFor) {
    auto const found = names();
    for (auto const* name : {"h200-pair",
                             "h200-4",
                             "h200-8",
                             "h100-8",
                             "h800-8",
                             "a100-8",
                             "dgx-1v",
                             "dgx-2",
                             "v100-partial-mesh",
                             "gb200-4",
                             "rtx4090-8-dual-epyc",
                             "a6000-6",
                             "switchtec-flat-8",
                             "switchtec-root-leaf-8",
                             "pex890xx-8",
                             "a100-pcie-pairs-4",
                             "mi250x-8",
                             "mi300x-8",
                             "rtx3090-no-p2p-8",
                             "aws-p4d-24xl",
                             "azure-ndv5"}) {
        EXPECT_EQ(std::count(found.begin(), found.end(), name), 1) << name;
    }
}

int count(const Machine& machine, PathClass path) {
    return static_cast<int>(
        std::count_if(machine.pairs.begin(), machine.pairs.end(), [&](auto const& pair) { return pair.path == path; }));
}

TEST(NamedMachines, Dgx1vIsAHybridCubeMesh) {
    // Every device: two neighbours over two links, two over one; 24 ordered pairs without a link and without peer
    // access.
    auto const machine = load("dgx-1v");
    std::map<int, int> links, neighbours;
    int unclaimed = 0;
    for (auto const& pair : machine.pairs) {
        if (pair.path == PathClass::nv) {
            links[pair.accessor] += *pair.nvlinks;
            ++neighbours[pair.accessor];
            EXPECT_EQ(pair.claim, true);
        } else {
            EXPECT_EQ(pair.claim, false);
            ++unclaimed;
        }
    }
    EXPECT_EQ(unclaimed, 24);
    for (int device = 0; device < 8; ++device) {
        EXPECT_EQ(links[device], 6);
        EXPECT_EQ(neighbours[device], 4);
    }
    EXPECT_EQ(machine.pair(0, 3)->nvlinks, 2);
    EXPECT_EQ(machine.pair(0, 1)->nvlinks, 1);
}

TEST(NamedMachines, SwitchtecPrintsPixInsideASwitchAndNodeAcross) {
    auto const flat = load("switchtec-flat-8");
    EXPECT_EQ(count(flat, PathClass::pix), 24);
    EXPECT_EQ(count(flat, PathClass::node), 32);
    auto const leaves = load("switchtec-root-leaf-8");
    EXPECT_EQ(count(leaves, PathClass::pix), 8);
    EXPECT_EQ(count(leaves, PathClass::pxb), 16);
    EXPECT_EQ(count(leaves, PathClass::node), 32);
}

TEST(NamedMachines, DualEpycPrintsSysEverywhere) {
    EXPECT_EQ(count(load("rtx4090-8-dual-epyc"), PathClass::sys), 56);
}

TEST(NamedMachines, Dgx2JoinsSixteenOverTwelveSwitches) {
    auto const machine = load("dgx-2");
    EXPECT_EQ(count(machine, PathClass::nv), 240);
    for (auto const& pair : machine.pairs) {
        EXPECT_EQ(pair.nvlinks, 6);
    }
    // The bridges under the fabric: neighbours PIX, the other leaf of a root switch PXB, across sockets SYS.
    auto const& graph = machine.graph;
    EXPECT_EQ(pcie_path_class(graph, graph.device_node(0), graph.device_node(1)), PathClass::pix);
    EXPECT_EQ(pcie_path_class(graph, graph.device_node(0), graph.device_node(3)), PathClass::pxb);
    EXPECT_EQ(pcie_path_class(graph, graph.device_node(0), graph.device_node(15)), PathClass::sys);
}

}  // namespace
}  // namespace peerlane
