// Public reports about descriptions that were misread, each named by where it came from. The inputs lie beside the
// project.

#include <gtest/gtest.h>

#include "machine/nominal.hpp"
#include "machine/write/writers.hpp"
#include "support.hpp"

namespace peerlane::test {
namespace {

bool all_paths(const Machine& machine, PathClass path) {
    return std::all_of(machine.pairs.begin(), machine.pairs.end(), [&](const Pair& pair) { return pair.path == path; });
}

// A guest where every pair prints PHB and NUMA is -1: kept as printed, and marked.
TEST(ReadingCases, B28_nccl_1674_and_1464) {
    PEERLANE_SHARED_MACHINE(machine, "nccl-vm-4xa800-numaid-minus1.xml");
    EXPECT_TRUE(all_paths(machine, PathClass::phb));
    EXPECT_TRUE(has_notice(machine, "virtual"));
    EXPECT_EQ(machine.origin.virtualized, true);
}

// numaid -1, speed "", width 0: null, never 0.
TEST(ReadingCases, B29_nccl_1329) {
    PEERLANE_SHARED_MACHINE(machine, "nccl-vm-4xa800-numaid-minus1.xml");
    ASSERT_EQ(machine.devices.size(), 4U);
    for (auto const& device : machine.devices) {
        EXPECT_EQ(device.numa, std::nullopt);
        EXPECT_EQ(device.pcie_generation, std::nullopt);
        EXPECT_EQ(device.pcie_width, std::nullopt);
    }
    for (auto const& pair : machine.pairs) {
        EXPECT_EQ(pair.nominal_gbs, std::nullopt);
    }
    EXPECT_TRUE(has_notice(machine, "numa-unknown"));
    EXPECT_TRUE(has_notice(machine, "speed-unknown"));
}

// A flat virtual bus: nothing nearer than PHB is made up.
TEST(ReadingCases, B33_nccl_1298) {
    PEERLANE_SHARED_MACHINE(machine, "hwloc-aws-p3dn.24xl.xml");
    ASSERT_EQ(machine.devices.size(), 8U);
    for (auto const& pair : machine.pairs) {
        EXPECT_LE(pair.path, PathClass::phb);
    }
    EXPECT_TRUE(has_notice(machine, "virtual"));
    EXPECT_TRUE(has_notice(machine, "flat-tree"));
}

// A bridge reads 8 GB/s, the pair measures 52.
TEST(ReadingCases, B44_nccl_1614) {
    auto const machine = read(R"({"schema":"peerlane.machine/1","devices":[{"id":0},{"id":1}],"pairs":[
        {"accessor":0,"owner":1,"path":"PXB","nominal_gbs":8,"measured":52},{"accessor":1,"owner":0,"path":"PXB","nominal_gbs":8,"measured":52}]})");
    EXPECT_TRUE(has_notice(machine, "reading-below-measured"));
    EXPECT_EQ(machine.pair(0, 1)->measured.write_gbs, 52);
    EXPECT_EQ(machine.pair(0, 1)->nominal_gbs, 8);
    auto const table = write::table(machine);
    EXPECT_NE(table.find("PXB 52.0 (8.00)"), std::string::npos) << table;
}

// Duplex rows of a benchmark: each number is one direction, timed while the other one ran. Never a sum, never an
// unloaded rate.
TEST(ReadingCases, B47_nvbandwidth_11_53_and_67) {
    PEERLANE_SHARED_MACHINE(machine, "nvbandwidth-v0.2-8xh800-full.txt");
    ASSERT_EQ(machine.host.size(), 8U);
    auto const& host = machine.host[0];
    EXPECT_EQ(host.device, 0);
    EXPECT_EQ(host.to_device_loaded_gbs, 52.75);
    EXPECT_EQ(host.from_device_loaded_gbs, 34.47);
    EXPECT_NE(host.to_device_gbs, 52.75);
    EXPECT_NE(host.from_device_gbs, 34.47);
    for (auto const& pair : machine.pairs) {
        EXPECT_NE(pair.measured.staged_gbs, 52.75 + 34.47);
    }
}

// Blank and N/A cells shifted the columns.
TEST(ReadingCases, B96_hami_99) {
    PEERLANE_SHARED_MACHINE(machine, "topo-m-1gpu-numa-na.txt");
    ASSERT_EQ(machine.devices.size(), 1U);
    EXPECT_TRUE(machine.pairs.empty());
    EXPECT_EQ(machine.devices[0].numa, std::nullopt);
    EXPECT_EQ(machine.devices[0].cpu_affinity, "0-7");
}

// Two hosts in one paste, the second cut.
TEST(ReadingCases, B98_unsloth_10646) {
    PEERLANE_SHARED_MACHINE(machine, "topo-m-2gpu-two-hosts-in-one-log.txt");
    EXPECT_EQ(classes(machine), "X SYS / SYS X");
    EXPECT_EQ(notice_line(machine, "two-tables"), 28);
    EXPECT_EQ(notice_line(machine, "truncated"), 30);
    auto text = machine_text.value();
    auto const third = text.find('\n', text.find('\n', text.find('\n') + 1) + 1) + 1;
    text.erase(third, text.find('\n', third) - third + 1);
    EXPECT_NE(refusal(text), "");
}

// Escape codes around the header.
TEST(ReadingCases, B99_gpu_exporter_412) {
    PEERLANE_SHARED_MACHINE(machine, "topo-m-8gpu-nv18-10nic-ansi.txt");
    auto plain_text = *machine_text;
    for (auto const* code : {"\x1b[4m", "\x1b[0m"}) {
        plain_text.erase(plain_text.find(code), 4);
    }
    auto plain = read(plain_text, "topo-m-8gpu-nv18-10nic-ansi.txt");
    EXPECT_TRUE(plain.notices.empty());
    plain.notices = machine.notices;
    EXPECT_EQ(plain, machine);
    EXPECT_EQ(machine.pairs.size(), 56U);
    EXPECT_TRUE(std::all_of(machine.pairs.begin(), machine.pairs.end(),
                            [](const Pair& pair) { return pair.path == PathClass::nv && pair.nvlinks == 18; }));
}

// CRLF, a Markdown table, every line commented, the -mp form.
TEST(ReadingCases, B101_llm_action_and_nccl_814) {
    PEERLANE_SHARED_MACHINE(crlf, "topo-m-8xa800-nv8-crlf.txt");
    EXPECT_EQ(crlf.devices.size(), 8U);
    EXPECT_TRUE(std::all_of(crlf.pairs.begin(), crlf.pairs.end(), [](const Pair& pair) { return pair.nvlinks == 8; }));
    PEERLANE_SHARED_MACHINE(markdown, "topo-m-6x4090-markdown-table.txt");
    EXPECT_EQ(classes(markdown),
              "X PHB SYS SYS SYS SYS / PHB X SYS SYS SYS SYS / SYS SYS X SYS SYS SYS / SYS SYS SYS X PHB SYS / SYS SYS "
              "SYS PHB X SYS / "
              "SYS SYS SYS SYS SYS X");
    PEERLANE_SHARED_MACHINE(commented, "topo-mp-4xa100-commented.txt");
    EXPECT_EQ(commented.devices.size(), 4U);
    EXPECT_TRUE(has_notice(commented, "nvlink-hidden"));
    for (auto const& pair : commented.pairs) {
        EXPECT_EQ(pair.nvlinks, std::nullopt);
    }
}

// SXM parts and no NV cell: the table alone names no part, so nothing is claimed of it.
TEST(ReadingCases, B103_nvbandwidth_53) {
    PEERLANE_SHARED_MACHINE(machine, "topo-m-8xa100sxm-no-nv-cells.txt");
    EXPECT_EQ(machine.devices.size(), 8U);
    EXPECT_FALSE(has_notice(machine, "model-contradicts-matrix"));
    EXPECT_EQ(machine.pair(0, 1)->path, PathClass::pxb);
}

// Six links a pair; the nominal rate needs the part.
TEST(ReadingCases, B104_nccl_1617_and_1161) {
    PEERLANE_SHARED_MACHINE(machine, "topo-m-4xh100-nv6-cpulist-numa-odd.txt");
    std::vector<int> numa;
    for (auto& device : machine.devices) {
        numa.push_back(device.numa.value_or(-1));
        device.model = "NVIDIA H100 80GB HBM3";
    }
    EXPECT_EQ(numa, (std::vector<int>{3, 1, 7, 5}));
    EXPECT_EQ(machine.devices[0].cpu_affinity, "6,14,22,30");
    EXPECT_EQ(machine.pair(0, 1)->nvlinks, 6);
    EXPECT_EQ(machine.pair(0, 1)->nominal_gbs, std::nullopt);
    fill_nominal(machine);
    EXPECT_NEAR(*machine.pair(0, 1)->nominal_gbs, 6 * 26.5625, 1e-9);
}

// More PCI nodes than another reader's table of 256.
TEST(ReadingCases, B105_aws_ofi_nccl_1226) {
    PEERLANE_SHARED_MACHINE(machine, "hwloc-aws-p5.48xl.xml");
    EXPECT_EQ(machine.devices.size(), 8U);
    std::vector<Notice> notices;
    auto const xml = write::nccl_xml(machine, notices);
    ASSERT_FALSE(notices.empty());
    EXPECT_EQ(notices.back().code, "xml-too-large-for-nccl");
    EXPECT_EQ(read(xml).devices.size(), 8U);
}

// A graph file where a topology was meant.
TEST(ReadingCases, B106_azhpc_images_327_and_nccl_1008) {
    auto const text = shared_text("nccl-azure-ncv4-graph.xml");
    if (!text) {
        GTEST_SKIP() << "the input does not lie beside the project";
    }
    EXPECT_EQ(refusal(*text, "graph.xml"), "graph.xml:1: root is graphs, not system");
}

// Attributes are optional; where nothing tells a GPU, none is guessed.
TEST(ReadingCases, B107_nccl_379) {
    PEERLANE_SHARED_MACHINE(machine, "nccl-aws-g5-48xl.xml");
    EXPECT_TRUE(machine.devices.empty());
    EXPECT_TRUE(has_notice(machine, "no-gpu"));
}

// Invented switches, and GPUs known by their class alone.
TEST(ReadingCases, B109_nccl_1843_and_nccl_tests_86) {
    PEERLANE_SHARED_MACHINE(machine, "nccl-azure-ndv4.xml");
    EXPECT_EQ(machine.devices.size(), 8U);
    EXPECT_EQ(machine.pair(0, 1)->path, PathClass::pix);
    EXPECT_EQ(machine.pair(0, 2)->path, PathClass::sys);
    EXPECT_TRUE(has_notice(machine, "virtual"));
}

// What issue 2 asks of two descriptions of one kind of machine.
TEST(ReadingCases, SwitchedMachineReadsTheSameFromTableAndXml) {
    PEERLANE_SHARED_MACHINE(machine, "nccl-oci-H100-topology.xml");
    EXPECT_EQ(machine.pairs.size(), 56U);
    EXPECT_TRUE(std::all_of(machine.pairs.begin(), machine.pairs.end(),
                            [](const Pair& pair) { return pair.path == PathClass::nv && pair.nvlinks == 18; }));
    EXPECT_EQ(machine.devices[7].bus, "0000:d8:00.0");
    PEERLANE_SHARED_MACHINE(self, "nccl-azure-ncv4.xml");
    EXPECT_EQ(std::count_if(self.notices.begin(), self.notices.end(),
                            [](const Notice& notice) { return notice.text.find("self-link") != std::string::npos; }),
              4);
}

}  // namespace
}  // namespace peerlane::test
