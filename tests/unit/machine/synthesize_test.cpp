// A derived graph must say the same as the matrix it came from.

#include <gtest/gtest.h>

#include "machine/nominal.hpp"
#include "machine/paths.hpp"
#include "machine/synthesize.hpp"
#include "support.hpp"

namespace peerlane::test {
namespace {

bool is_fabric(PathClass path) {
    return path == PathClass::nv || path == PathClass::xgmi;
}

/// Every pair has the class of the matrix in the graph, every device a way to a NUMA node, and names are unique.
void expect_agrees(const Machine& machine, const std::string& what) {
    auto const graph = synthesize_graph(machine);
    for (auto const& pair : machine.pairs) {
        if (pair.path == PathClass::unknown) {
            continue;
        }
        auto const a = graph.device_node(pair.accessor), b = graph.device_node(pair.owner);
        EXPECT_STREQ(to_string(path_class(graph, a, b)), to_string(pair.path))
            << what << " " << pair.accessor << ":" << pair.owner;
        if (is_fabric(pair.path)) {
            EXPECT_EQ(fabric_links(graph, a, b), pair.nvlinks) << what;
        }
    }
    for (auto const& device : machine.devices) {
        bool reaches = false;
        for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
            reaches = reaches || (graph.nodes[i].kind == NodeKind::numa &&
                                  !host_way(graph, graph.device_node(device.id), static_cast<int>(i)).empty());
        }
        EXPECT_TRUE(reaches) << what << " gpu" << device.id;
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        EXPECT_EQ(graph.find(graph.nodes[i].name), static_cast<int>(i)) << what;
    }
}

TEST(Synthesize, EachClassHasItsPlace) {
    auto const machine = read(
        "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tCPU Affinity\tNUMA Affinity\n"
        "GPU0\tX\tPIX\tPXB\tPHB\tNODE\tSYS\t0-7\t0\n"
        "GPU1\tPIX\tX\tPXB\tPHB\tNODE\tSYS\t0-7\t0\n"
        "GPU2\tPXB\tPXB\tX\tPHB\tNODE\tSYS\t0-7\t0\n"
        "GPU3\tPHB\tPHB\tPHB\tX\tNODE\tSYS\t0-7\t0\n"
        "GPU4\tNODE\tNODE\tNODE\tNODE\tX\tSYS\t0-7\t0\n"
        "GPU5\tSYS\tSYS\tSYS\tSYS\tSYS\tX\t8-15\t1\n");
    expect_agrees(machine, "each class");
    auto const graph = synthesize_graph(machine);
    EXPECT_GE(graph.numa_node(0), 0);
    EXPECT_GE(graph.numa_node(1), 0);
}

TEST(Synthesize, FabricIsDirectOrThroughASwitch) {
    auto const direct = read("\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV4\tNV4\nGPU1\tNV4\tX\tNV4\nGPU2\tNV4\tNV4\tX\n");
    auto const through = read("\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV12\tNV12\nGPU1\tNV12\tX\tNV12\nGPU2\tNV12\tNV12\tX\n");
    auto const switches = [](const Machine& machine) {
        int count = 0;
        for (auto const& node : synthesize_graph(machine).nodes) {
            count += node.kind == NodeKind::nvswitch ? 1 : 0;
        }
        return count;
    };
    EXPECT_EQ(switches(direct), 0);
    EXPECT_EQ(switches(through), 1);
    expect_agrees(direct, "direct");
    expect_agrees(through, "through a switch");
}

TEST(Synthesize, SameNumaNumberButSysStaysApart) {
    auto const machine =
        read("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\tX\tSYS\t0-7\t0\nGPU1\tSYS\tX\t0-7\t0\n");
    expect_agrees(machine, "same number");
}

TEST(Synthesize, NicsPlaceDevicesThatOnlyNvlinkJoins) {
    auto const machine = read(
        "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\n"
        "GPU0\tX\tNV12\tPIX\tSYS\t0-7\t0\nGPU1\tNV12\tX\tSYS\tPIX\t8-15\t1\n"
        "NIC0\tPIX\tSYS\tX\tSYS\nNIC1\tSYS\tPIX\tSYS\tX\n");
    auto const graph = synthesize_graph(machine);
    auto const way = [&](const char* a, const char* b) { return pcie_path_class(graph, graph.find(a), graph.find(b)); };
    EXPECT_EQ(way("gpu0", "NIC0"), PathClass::pix);
    EXPECT_EQ(way("gpu1", "NIC1"), PathClass::pix);
    EXPECT_EQ(way("gpu0", "NIC1"), PathClass::sys);
    EXPECT_EQ(way("gpu0", "gpu1"), PathClass::sys);
}

TEST(Synthesize, AGraphThatIsThereIsKept) {
    auto machine = read("\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\tX\n");
    machine.graph.nodes.push_back({NodeKind::device, 0, "gpu0", "", -1});
    EXPECT_EQ(synthesize_graph(machine), machine.graph);
}

TEST(Synthesize, EverySharedTableAgrees) {
    int tables = 0;
    std::error_code none;
    for (auto const& entry : std::filesystem::directory_iterator(shared_machines(), none)) {
        auto const name = entry.path().filename().string();
        if (name.rfind("topo-m", 0) == 0) {
            expect_agrees(read(*shared_text(name), name), name);
            ++tables;
        }
    }
    if (tables == 0) {
        GTEST_SKIP() << "the inputs do not lie beside the project";
    }
    EXPECT_GT(tables, 30);
}

}  // namespace
}  // namespace peerlane::test
