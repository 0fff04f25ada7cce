// Writers: what they print, and that NCCL's XML reads back as the same pairs.

#include <gtest/gtest.h>

#include "machine/write/writers.hpp"
#include "support.hpp"

namespace peerlane::test {
namespace {

const std::string islands =
    "\tGPU0\tGPU1\tGPU2\tmlx5_0\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\tX\tNV4\tSYS\tPIX\t0-7\t0\nGPU1\tNV4\tX\tSYS\tSYS\t0-7\t1\nGPU2\tSYS\tSYS\tX\tSYS\t8-15\t2\nmlx5_"
    "0\tPIX\tSYS\tSYS\tX\n";

/// The pairs as NCCL's format can say them: it has no rates and no claims.
void expect_same_paths(const Machine& a, const Machine& b, const std::string& what) {
    ASSERT_EQ(a.pairs.size(), b.pairs.size()) << what;
    for (std::size_t i = 0; i < a.pairs.size(); ++i) {
        EXPECT_STREQ(to_string(a.pairs[i].path), to_string(b.pairs[i].path))
            << what << " " << a.pairs[i].accessor << ":" << a.pairs[i].owner;
        EXPECT_EQ(a.pairs[i].nvlinks, b.pairs[i].nvlinks)
            << what << " " << a.pairs[i].accessor << ":" << a.pairs[i].owner;
    }
}

TEST(WriteTable, AlignsCellsAndTellsRatesApart) {
    auto machine = read(islands);
    machine.pair(0, 1)->nominal_gbs = 100;
    machine.pair(0, 1)->measured.write_gbs = 92.25;
    machine.pair(1, 0)->nominal_gbs = 100;
    machine.pair(0, 2)->claim = false;
    machine.pair(0, 2)->claims.read = "CNS";
    auto const text = write::table(machine);
    EXPECT_NE(text.find("Paths, row to column; GB/s measured (nominal)\n"
                        "      gpu0         gpu1              gpu2\n"
                        "gpu0  X            NV4 92.2 (100.0)  SYS\n"
                        "gpu1  NV4 (100.0)  X                 SYS\n"
                        "gpu2  SYS          SYS               X\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("no r:CNS"), std::string::npos);
    EXPECT_NE(text.find("mlx5_0  PIX   SYS   SYS"), std::string::npos);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_NE(write::table(machine, {.color = true, .notices = true}).find("\x1b[32mNV4 92.2 (100.0)\x1b[0m"),
              std::string::npos);
}

TEST(WriteTable, NoticesNameFileAndLine) {
    auto const machine = read("> \tGPU0\tCPU Affinity\n> GPU0\t X \t0-7\n", "paste.txt");
    EXPECT_NE(write::table(machine).find("notice commented: paste.txt:1: "), std::string::npos);
    EXPECT_EQ(write::table(machine, {.color = false, .notices = false}).find("notice"), std::string::npos);
}

TEST(WriteTable, SaysWhenThereIsNothing) {
    Machine machine;
    EXPECT_EQ(write::table(machine), "0 devices\n");
    EXPECT_EQ(write::tree(machine), "");
    EXPECT_NE(write::dot(machine).find("graph machine {"), std::string::npos);
}

TEST(WriteTable, NothingFromAFileSteersTheTerminal) {
    auto machine = read(islands);
    machine.devices[0].model = "GPU\x1b[2J\n";
    machine.nics.push_back({"veth\x1b[0m", std::nullopt, std::vector<PathClass>(3, PathClass::unknown)});
    auto const text = write::table(machine);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_NE(text.find("not on PCI as far as told: veth?[0m"), std::string::npos) << text;
}

TEST(WriteTree, HangsDevicesBelowTheirHosts) {
    EXPECT_EQ(write::tree(read(islands)),
              "The input has no tree: this one is derived from the path classes.\n"
              "numa:0\n  host:0\n    bridge:0\n      gpu0\n      mlx5_0\n"
              "numa:1\n  host:1\n    gpu1\nnuma:2\n  host:2\n    gpu2\nfabric\n  gpu0 - gpu1: NVLink x4\n");
}

TEST(WriteDot, NamesAreQuoted) {
    auto machine = read(islands);
    machine.devices[0].model = "a \"quoted\" \\ name";
    auto const text = write::dot(machine);
    EXPECT_NE(text.find("a \\\"quoted\\\" \\\\ name"), std::string::npos) << text;
    EXPECT_NE(text.find("\"gpu0\" -- \"gpu1\" [color"), std::string::npos) << text;
}

// Two boards of switches, each switch with a trunk to its own partner: one picture of a board, one trunk.
TEST(WriteDot, SwitchesOfTheSameDevicesAreOne) {
    Machine machine;
    for (int id = 0; id < 4; ++id) {
        machine.devices.push_back({.id = id});
        machine.graph.nodes.push_back({NodeKind::device, id, "gpu" + std::to_string(id), "", -1});
    }
    auto const join = [&](int a, int b, int width) {
        for (auto const& ends : {std::pair(a, b), std::pair(b, a)}) {
            machine.graph.links.push_back(
                {.from = ends.first, .to = ends.second, .kind = LinkKind::nvlink, .width = width});
        }
    };
    for (int i = 0; i < 4; ++i) {
        machine.graph.nodes.push_back({NodeKind::nvswitch, i, "nvswitch:" + std::to_string(i), "", -1});
        for (int id = 0; id < 2; ++id) {
            join(i / 2 * 2 + id, 4 + i, 3);
        }
    }
    join(4, 6, 8);
    join(5, 7, 8);
    complete_pairs(machine);
    auto const text = write::dot(machine);
    EXPECT_NE(text.find("\"nvswitch:0\" [label=\"2 NVSwitches\""), std::string::npos) << text;
    EXPECT_NE(text.find("\"nvswitch:2\" [label=\"2 NVSwitches\""), std::string::npos) << text;
    EXPECT_EQ(text.find("nvswitch:1"), std::string::npos) << text;
    EXPECT_EQ(text.find("nvswitch:3"), std::string::npos) << text;
    for (int id = 0; id < 4; ++id) {
        EXPECT_NE(text.find("\"gpu" + std::to_string(id) + "\" -- \"nvswitch:" + (id < 2 ? "0" : "2") +
                            "\" [color=\"#2f7d32\", penwidth=2, label=\"x6\"]"),
                  std::string::npos)
            << text;
    }
    EXPECT_NE(text.find("\"nvswitch:2\" -- \"nvswitch:0\" [color=\"#2f7d32\", penwidth=2, label=\"x16\"]"),
              std::string::npos)
        << text;
}

TEST(WriteNcclXml, ReadsBackWithTheSamePairs) {
    auto const machine = read(islands);
    std::vector<Notice> notices;
    auto const xml = write::nccl_xml(machine, notices);
    auto const again = read(xml);
    expect_same_paths(machine, again, xml);
    EXPECT_EQ(again.nics.size(), 1U);
    EXPECT_EQ(again.devices[1].numa, 1);
    EXPECT_EQ(again.devices[2].cpu_affinity, "8-15");
    ASSERT_EQ(notices.size(), 2U);
    EXPECT_EQ(notices[0].code, "derived-graph");
    EXPECT_EQ(notices[1].code, "not-expressible");
}

TEST(WriteNcclXml, SaysWhenNcclCannotTakeIt) {
    std::string inside;
    for (int i = 0; i < 300; ++i) {
        inside += "<pci busid=\"0000:" + std::string(1, "0123456789abcdef"[i / 16 % 16]) +
                  "0:" + (i % 16 < 10 ? "0" : "1") + std::to_string(i % 10) + "." + std::to_string(i / 256) +
                  "\" class=\"0x060400\"/>";
    }
    auto const machine =
        read("<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:f1:00.0\" class=\"0x030200\"/>" + inside +
             "</cpu></system>");
    std::vector<Notice> notices;
    write::nccl_xml(machine, notices);
    ASSERT_EQ(notices.size(), 1U);
    EXPECT_EQ(notices[0].code, "xml-too-large-for-nccl");
    EXPECT_NE(notices[0].text.find("304 nodes"), std::string::npos) << notices[0].text;
}

TEST(WriteNcclXml, EverySharedMachineReadsBack) {
    int machines = 0;
    std::error_code none;
    for (auto const& entry : std::filesystem::directory_iterator(shared_machines(), none)) {
        auto const name = entry.path().filename().string();
        auto const text = *shared_text(name);
        bool const wanted =
            name.rfind("topo-m", 0) == 0 || name.find("ccl") != std::string::npos || name.rfind("hwloc", 0) == 0;
        if (!wanted || !refusal(text, name).empty()) {
            continue;
        }
        auto const machine = read(text, name);
        std::vector<Notice> notices;
        expect_same_paths(machine, read(write::nccl_xml(machine, notices)), name);
        ++machines;
    }
    if (machines == 0) {
        GTEST_SKIP() << "the inputs do not lie beside the project";
    }
    EXPECT_GT(machines, 50);
}

}  // namespace
}  // namespace peerlane::test
