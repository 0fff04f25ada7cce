// `nvidia-smi topo -m`: what a paste can look like, and what must be refused.

#include <gtest/gtest.h>

#include "machine/read/text.hpp"
#include "support.hpp"

namespace peerlane::test {
namespace {

const std::string two =
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tPHB\t0-7\t0\t\tN/A\n"
    "GPU1\tPHB\t X \t8-15\t1\t\tN/A\n";

TEST(TopoMatrix, ReadsCellsAndTail) {
    auto const machine = read(two);
    EXPECT_EQ(classes(machine), "X PHB / PHB X");
    EXPECT_EQ(machine.devices[0].numa, 0);
    EXPECT_EQ(machine.devices[1].numa, 1);
    EXPECT_EQ(machine.devices[1].cpu_affinity, "8-15");
    EXPECT_EQ(machine.devices[0].memory_numa, std::nullopt);
    EXPECT_EQ(machine.pair(0, 1)->nvlinks, std::nullopt);
    EXPECT_EQ(machine.pair(0, 1)->nominal_gbs, std::nullopt);
    EXPECT_TRUE(machine.notices.empty());
    EXPECT_EQ(machine.origin.kind, "file");
    EXPECT_EQ(machine.origin.files, std::vector<std::string>{"input"});
}

TEST(TopoMatrix, CellsOfTheTailMayBeEmptyRangesOrNumbers) {
    auto const tail = [](const std::string& header, const std::string& cells) {
        return read("\tGPU0\t" + header + "\nGPU0\t X \t" + cells + "\n").devices[0];
    };
    auto const three = std::string("CPU Affinity\tNUMA Affinity\tGPU NUMA ID");
    EXPECT_EQ(tail(three, "0-7\t\tN/A\t\tN/A").numa, std::nullopt);
    EXPECT_EQ(tail(three, "0-7\t\tN/A\t\tN/A").cpu_affinity, "0-7");
    EXPECT_EQ(tail(three, "\t0\t\tN/A").numa, 0);
    EXPECT_EQ(tail(three, "\t0\t\tN/A").cpu_affinity, std::nullopt);
    EXPECT_EQ(tail(three, "1\t1\t\tN/A").cpu_affinity, "1");
    EXPECT_EQ(tail(three, "0-1\t0\t\t26").memory_numa, 26);
    EXPECT_EQ(tail(three, "0-31\t0-1\t\tN/A").numa_text, "0-1");
    EXPECT_EQ(tail(three, "0-31\t0-1\t\tN/A").numa, std::nullopt);
    EXPECT_EQ(tail("CPU Affinity\tNUMA Affinity", "0-31\t\tN/A").cpu_affinity, "0-31");
    EXPECT_EQ(tail("CPU Affinity\tNUMA Affinity", "0-31, 64-95\t1").cpu_affinity, "0-31,64-95");
    EXPECT_EQ(tail("CPU Affinity", "0-31").cpu_affinity, "0-31");
    // Expanded to blanks: an empty CPU cell leaves only a gap.
    auto const gap = read(
        "        GPU0    GPU1    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
        "GPU0     X      PHB             0               N/A\n"
        "GPU1    PHB      X      1       1               N/A\n");
    EXPECT_EQ(gap.devices[0].cpu_affinity, std::nullopt);
    EXPECT_EQ(gap.devices[0].numa, 0);
    EXPECT_EQ(gap.devices[1].cpu_affinity, "1");
    EXPECT_EQ(gap.devices[1].numa, 1);
}

TEST(TopoMatrix, OldWordsAndAnyCount) {
    EXPECT_EQ(classes(read("\tGPU0\tGPU1\nGPU0\tX\tSOC\nGPU1\tSOC\tX\n")), "X SYS / SYS X");
    EXPECT_EQ(classes(read("\tGPU0\tGPU1\nGPU0\tX\tNV36\nGPU1\tNV36\tX\n")), "X NV36 / NV36 X");
}

TEST(TopoMatrix, NicColumnsMayHaveAnyNameAndOrder) {
    auto const machine = read(
        "\tGPU0\tmlx5_2\tGPU1\trocep4s0f0\tCPU Affinity\n"
        "GPU0\tX\tPIX\tSYS\tNODE\t0-7\n"
        "mlx5_2\tPIX\tX\tSYS\tNODE\n"
        "GPU1\tSYS\tSYS\tX\tSYS\t8-15\n"
        "rocep4s0f0\tNODE\tNODE\tSYS\tX\n");
    EXPECT_EQ(classes(machine), "X SYS / SYS X");
    ASSERT_EQ(machine.nics.size(), 2U);
    EXPECT_EQ(machine.nics[0].name, "mlx5_2");
    EXPECT_EQ(machine.nics[0].paths, (std::vector<PathClass>{PathClass::pix, PathClass::sys}));
    EXPECT_EQ(machine.nics[1].paths, (std::vector<PathClass>{PathClass::node, PathClass::sys}));
}

TEST(TopoMatrix, NicLegendGivesNames) {
    auto const machine =
        read("\tGPU0\tNIC0\tCPU Affinity\nGPU0\tX\tPIX\t0-7\nNIC0\tPIX\tX\t\t\n\nNIC Legend:\n\n  NIC0: mlx5_7\n");
    ASSERT_EQ(machine.nics.size(), 1U);
    EXPECT_EQ(machine.nics[0].name, "mlx5_7");
}

TEST(TopoMatrix, ShortOrMissingNicRowsAreReadFromTheGpusWithANotice) {
    auto const machine = read("\tGPU0\tNIC0\tNIC1\tCPU Affinity\nGPU0\tX\tSYS\tNODE\t0-7\nNIC0\tSYS\tX\n");
    EXPECT_EQ(machine.nics[1].paths[0], PathClass::node);
    EXPECT_EQ(notice_line(machine, "truncated"), 3);
}

TEST(TopoMatrix, NicThatContradictsItselfIsNotUsed) {
    auto const machine = read("\tGPU0\tNIC0\tCPU Affinity\nGPU0\tX\tSYS\t0-7\nNIC0\tPIX\tX\n");
    EXPECT_EQ(machine.nics[0].paths[0], PathClass::unknown);
    EXPECT_EQ(notice_line(machine, "asymmetric"), 3);
}

TEST(TopoMatrix, RefusesWithLineAndReason) {
    EXPECT_EQ(refusal("\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\n"),
              "input:3: row GPU1 has 1 cells, the header has 2 columns");
    EXPECT_EQ(refusal("\tGPU0\tGPU1\nGPU0\tX\tPHB\n"), "input:2: the table is cut: row GPU1 is missing");
    EXPECT_EQ(refusal("\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tSYS\tX\n"),
              "input:3: the table contradicts itself: GPU0 to GPU1 is PHB, GPU1 to GPU0 is SYS");
    EXPECT_EQ(refusal("\tGPU0\tGPU1\nGPU0\tX\tNV2\nGPU1\tNV3\tX\n"),
              "input:3: the table contradicts itself: GPU0 to GPU1 is NV2, GPU1 to GPU0 is NV3");
    EXPECT_EQ(refusal("\tGPU0\tGPU1\nGPU0\tX\tPQB\nGPU1\tPHB\tX\n"),
              "input:2: unknown path class \"PQB\" in row GPU0, column GPU1");
    EXPECT_EQ(refusal("\tGPU0\tGPU1\nGPU0\tX\tPHB\tPHB\nGPU1\tPHB\tX\n"),
              "input:2: row GPU0 has more cells than the header has columns (2)");
    EXPECT_EQ(refusal("\tGPU0\tGPU1\nGPU0\tPHB\tX\nGPU1\tPHB\tX\n"),
              "input:2: row GPU0 has PHB where its own column has X");
    EXPECT_EQ(refusal("\tGPU0\tGPU1\nGPU0\tX\tX\nGPU1\tPHB\tX\n"), "input:2: row GPU0 has its X in the column of GPU1");
    EXPECT_EQ(refusal("\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\tX\nGPU1\tPHB\tX\n"), "input:4: row GPU1 stands twice");
    EXPECT_EQ(refusal("\tGPU0\tGPU1\tGPU1\nGPU0\tX\tPHB\tPHB\nGPU1\tPHB\tX\tX\n"),
              "input:1: column GPU1 stands twice in the header");
    EXPECT_EQ(refusal("\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\tX\nGPU2\tSYS\tSYS\n"),
              "input:4: row GPU2 has no column in the header");
    EXPECT_EQ(refusal("\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tPHB\t0-7\t8-9\nGPU1\tPHB\tX\t0-7\n"),
              "input:2: row GPU0 has 2 cells after the matrix, the header has 1 columns there");
    EXPECT_EQ(refusal("\tGPU0\tGPU1\tCPU Affinity\n"), "input:1: the table is cut: row GPU0 is missing");
    EXPECT_EQ(refusal("\tGPU0\tGPU1\nGPU0\tX\tNV0\nGPU1\tNV0\tX\n"),
              "input:2: unknown path class \"NV0\" in row GPU0, column GPU1");
}

TEST(TopoMatrix, FirstCompleteTableOfSeveral) {
    auto const other = std::string("$ nvidia-smi topo -m\n\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n");
    auto const both = read(two + "\n" + other);
    EXPECT_EQ(classes(both), "X PHB / PHB X");
    EXPECT_EQ(notice_line(both, "two-tables"), 5);
    auto const cut = read("\tGPU0\tGPU1\nGPU0\tX\tSYS\n\n" + other);
    EXPECT_EQ(classes(cut), "X NV4 / NV4 X");
    EXPECT_EQ(notice_line(cut, "truncated"), 2);
    EXPECT_EQ(notice_line(cut, "two-tables"), 4);
    EXPECT_NE(refusal("\tGPU0\tGPU1\nGPU0\tX\tSYS\n\n\tGPU0\tGPU1\nGPU0\tX\tNV4\n"), "");
}

TEST(TopoMatrix, NumbersWithAGapAreRenumbered) {
    auto const machine = read("\tGPU2\tGPU5\nGPU2\tX\tPIX\nGPU5\tPIX\tX\n");
    EXPECT_EQ(classes(machine), "X PIX / PIX X");
    EXPECT_TRUE(has_notice(machine, "renumbered"));
}

TEST(TopoMatrix, MpFormHidesNvlink) {
    auto const legend =
        std::string("\nLegend:\n\n  X    = Self\n  PIX  = Connection traversing at most a single PCIe bridge\n");
    EXPECT_TRUE(has_notice(read(two + legend), "nvlink-hidden"));
    EXPECT_FALSE(
        has_notice(read(two + legend + "  NV#  = Connection traversing a bonded set of # NVLinks\n"), "nvlink-hidden"));
    EXPECT_FALSE(has_notice(read(two), "nvlink-hidden"));
    EXPECT_TRUE(has_notice(read("$ nvidia-smi topo -mp\n" + two), "nvlink-hidden"));
}

TEST(TopoMatrix, UnknownNumaIsANotice) {
    auto const machine = read("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-7\t\tN/A\n");
    EXPECT_EQ(machine.devices[0].numa, std::nullopt);
    EXPECT_TRUE(has_notice(machine, "numa-unknown"));
}

TEST(PlainText, TakesWrappingAway) {
    auto const line = [](std::string_view text) {
        read::LineScanner scanner(text);
        read::Line result;
        EXPECT_TRUE(scanner.next(result));
        return result;
    };
    EXPECT_EQ(line("\t\x1b[4mGPU0\tGPU1\x1b[0m").text, "\tGPU0\tGPU1");
    EXPECT_EQ(line("\t[4mGPU0[0m").text, "\tGPU0");
    EXPECT_EQ(line("^[[4mGPU0^[[0m").text, "GPU0");
    EXPECT_EQ(line("\\033[1;4mGPU0\\033[0m").text, "GPU0");
    EXPECT_EQ(line("\x1b]0;title\x07GPU0").text, "GPU0");
    EXPECT_EQ(line("GPU0 [0]").text, "GPU0 [0]");
    EXPECT_EQ(line("> > GPU0\r").text, "GPU0");
    EXPECT_TRUE(line("GPU0\r\n").crlf);
    EXPECT_EQ(line("#\tGPU0").text, "\tGPU0");
    EXPECT_EQ(line("| | GPU0 | `GPU1` |").text, " \t GPU0 \t GPU1");
    EXPECT_TRUE(line("| --- | :---: |").blank());
    EXPECT_EQ(line("\xef\xbb\xbfGPU0").text, "GPU0");
    EXPECT_EQ(line("GPU0\xc2\xa0X").text, "GPU0 X");
    EXPECT_EQ(line("\x1b").text, "");
    EXPECT_EQ(line("\x1b[").text, "");
}

TEST(PlainText, BusAddresses) {
    EXPECT_EQ(read::bus_address("00000000:1A:00.0"), "0000:1a:00.0");
    EXPECT_EQ(read::bus_address("1a:00.0"), "0000:1a:00.0");
    EXPECT_EQ(read::bus_address("fffffff:ff:ff.0"), "fffffff:ff:ff.0");
    EXPECT_EQ(read::bus_address("10000:e1:00.0"), "10000:e1:00.0");
    EXPECT_EQ(read::bus_address("gpu0"), std::nullopt);
    EXPECT_EQ(read::bus_address("1:2:3:4"), std::nullopt);
    EXPECT_EQ(read::bus_address(""), std::nullopt);
}

}  // namespace
}  // namespace peerlane::test
