// nvbandwidth, text and JSON: who issued, what was loaded, sums that are no rates.

#include "unit/machine/support.hpp"

namespace peerlane {
namespace {

using test::has_notice;
using test::read;
using test::refusal;

std::string const text_run = R"(nvbandwidth Version: v0.8
Driver Version: 580.1

node
Device 0: Acme A (00000000:1b:00)
Device 1: Acme B (00000001:af:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.10     55.20

SUM host_to_device_memcpy_ce 110.30

Running host_to_device_bidirectional_memcpy_ce.
memcpy CE CPU(row) <-> GPU(column) bandwidth (GB/s)
           0         1
 0     49.10     49.20

SUM host_to_device_bidirectional_memcpy_ce 98.30

Running device_to_host_bidirectional_memcpy_ce.
memcpy CE CPU(row) <-> GPU(column) bandwidth (GB/s)
           0         1
 0     34.10     34.20

SUM device_to_host_bidirectional_memcpy_ce 68.30

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A     90.10
 1     80.20       N/A

SUM device_to_device_memcpy_read_ce 170.30

Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0       N/A     91.10
 1     81.20       N/A

SUM device_to_device_memcpy_write_ce 172.30

Running device_to_device_bidirectional_memcpy_write_ce.
memcpy CE GPU(row) <-> GPU(column) Write1 bandwidth (GB/s)
           0         1
 0       N/A     70.10
 1     70.20       N/A

SUM device_to_device_bidirectional_memcpy_write_ce_write1 140.30

memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)
           0         1
 0       N/A    140.10
 1    140.20       N/A

SUM device_to_device_bidirectional_memcpy_write_ce_total 280.30

Running all_to_host_memcpy_ce.
memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0     11.10     11.20

SUM all_to_host_memcpy_ce 22.30

Running all_to_one_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0     77.10     77.20

SUM all_to_one_write_ce 154.30

Running device_to_device_latency_sm.
Device to Device Latency SM GPU(row) <-> GPU(column) (ns)
           0         1
 0       N/A    800.00
 1    900.00       N/A

SUM device_to_device_latency_sm 1700.00
)";

std::string const json_run = R"json({
 "nvbandwidth": {
  "GPU Device list": ["0: Acme A (00000000:1b:00): (node)", "1: Acme B (00000001:af:00): (node)"],
  "version": "v0.8",
  "testcases": [
   {"name": "device_to_device_memcpy_read_ce", "status": "Passed", "sum": 170.3,
    "bandwidth_description": "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
    "bandwidth_matrix": [["N/A", "90.1"], ["80.2", "N/A"]]},
   {"name": "device_to_device_bidirectional_memcpy_write_ce", "status": "Passed", "sum": 280.3,
    "bandwidth_description": "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)",
    "bandwidth_matrix": [["N/A", "70.1"], ["70.2", "N/A"], ["N/A", "70.0"], ["70.0", "N/A"], ["N/A", "140.1"], ["140.2", "N/A"]]},
   {"name": "host_to_device_memcpy_ce", "status": "Passed", "sum": 110.3,
    "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
    "bandwidth_matrix": [["55.1", 55.2]]}
  ]}})json";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    auto const at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Nvbandwidth, TheRowsDeviceIssues) {
    auto const machine = read(text_run);
    ASSERT_EQ(machine.devices.size(), 2U);
    EXPECT_EQ(machine.devices[1].bus, "0001:af:00.0");
    EXPECT_EQ(machine.devices[1].model, "Acme B");
    EXPECT_EQ(machine.pair(0, 1)->measured.read_gbs, 90.10) << "0 reads memory of 1";
    EXPECT_EQ(machine.pair(1, 0)->measured.read_gbs, 80.20);
    EXPECT_EQ(machine.pair(0, 1)->measured.write_gbs, 91.10) << "0 writes into memory of 1";
    EXPECT_NEAR(machine.pair(1, 0)->measured.latency_s.value(), 900e-9, 1e-15);
    EXPECT_EQ(machine.pair(0, 1)->claim, true);
    EXPECT_TRUE(has_notice(machine, "printed-arrow")) << "the arrow points the other way and is kept as text";
}

TEST(Nvbandwidth, LoadedRatesAreNeverUnloadedOnesNorAdded) {
    auto const machine = read(text_run);
    ASSERT_EQ(machine.host.size(), 2U);
    EXPECT_EQ(machine.host[0].to_device_gbs, 55.10);
    EXPECT_EQ(machine.host[0].to_device_loaded_gbs, 49.10);
    EXPECT_EQ(machine.host[0].from_device_loaded_gbs, 34.10);
    EXPECT_FALSE(machine.host[0].from_device_gbs) << "many devices at once is no rate of one";
}

TEST(Nvbandwidth, ASumIsABidirectionalRateOnly) {
    auto const m = read(text_run).pair(0, 1)->measured;
    EXPECT_EQ(m.bidirectional_gbs, 140.10);
    EXPECT_EQ(m.write_gbs, 91.10);
    EXPECT_FALSE(m.write_sm_gbs) << "a row shared by all devices is no pair";
}

TEST(Nvbandwidth, OneDirectionOfADuplexRunIsNoSum) {
    auto const text = replaced(replaced(text_run, " Total bandwidth", " bandwidth"), "write_ce_total", "write_ce");
    EXPECT_FALSE(read(text).pair(0, 1)->measured.bidirectional_gbs);
}

TEST(Nvbandwidth, JsonSaysTheSame) {
    auto const machine = read(json_run);
    EXPECT_EQ(machine.devices[0].bus, "0000:1b:00.0");
    EXPECT_EQ(machine.pair(0, 1)->measured.read_gbs, 90.10);
    EXPECT_EQ(machine.pair(0, 1)->measured.bidirectional_gbs, 140.1) << "three tables below each other, the sum last";
    EXPECT_EQ(machine.host[1].to_device_gbs, 55.2) << "a cell may be a number";
}

TEST(Nvbandwidth, NoAccessIsAClaimNotARate) {
    auto const machine = read(replaced(
        text_run, " 0       N/A     90.10\n 1     80.20       N/A\n\nSUM device_to_device_memcpy_read_ce 170.30",
        " 0       N/A       N/A\n 1     80.20       N/A\n\nSUM device_to_device_memcpy_read_ce 80.20"));
    EXPECT_EQ(machine.pair(0, 1)->claim, false);
    EXPECT_EQ(machine.pair(1, 0)->claim, true);
    EXPECT_FALSE(machine.pair(0, 1)->measured.read_gbs);
}

TEST(Nvbandwidth, ZeroDiagonalOfTheFirstVersion) {
    auto const machine = read(
        "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n          0     "
        "    1\n0      0.00      5.00\n1      0.00      0.00\n\nSUM device_to_device_memcpy_read_ce 5.00\n");
    EXPECT_EQ(machine.pair(0, 1)->measured.read_gbs, 5.0);
    EXPECT_EQ(machine.pair(1, 0)->claim, false);
    EXPECT_FALSE(machine.pair(1, 0)->measured.read_gbs);
}

TEST(Nvbandwidth, WaivedMeansNoPairMayReachAnother) {
    auto const text =
        "nvbandwidth Version: v0.4\n\nDevice 0: A (00000000:01:00)\nDevice 1: A (00000000:02:00)\n\nRunning "
        "device_to_device_memcpy_read_ce.\nWaived: \n";
    EXPECT_EQ(read(text).pair(0, 1)->claim, false);
    EXPECT_EQ(
        read(
            R"json({"nvbandwidth":{"GPU Device list":["0: A (0:1:0)","1: A (0:2:0)"],"testcases":[{"name":"device_to_device_memcpy_read_ce","status":"Waived"}]}})json")
            .pair(1, 0)
            ->claim,
        false);
}

TEST(Nvbandwidth, ASumThatDoesNotFitIsTold) {
    EXPECT_TRUE(has_notice(read(replaced(text_run, "80.20", "88.20")), "sum-differs"));
    EXPECT_TRUE(has_notice(read(replaced(json_run, "\"80.2\"", "\"88.2\"")), "sum-differs"));
    EXPECT_FALSE(has_notice(read(text_run), "sum-differs"));
    EXPECT_FALSE(has_notice(read(json_run), "sum-differs"));
}

TEST(Nvbandwidth, DamageIsRefusedWithItsLine) {
    EXPECT_NE(refusal(replaced(text_run, "90.10", "9O.10")).find("input:"), std::string::npos);
    EXPECT_NE(
        refusal(replaced(text_run, "SUM device_to_device_memcpy_read_ce", "SUM one_to_all_read_ce")).find("a table of"),
        std::string::npos);
    EXPECT_NE(refusal(replaced(json_run, "\"80.2\"", "\"fast\"")).find("\"fast\" is no number"), std::string::npos);
    EXPECT_NE(refusal(replaced(json_run, "[\"80.2\", \"N/A\"]", "[\"80.2\"]")).find("rows of 2 and of 1"),
              std::string::npos);
    EXPECT_NE(refusal(json_run.substr(0, json_run.size() - 20)).find("cut or damaged"), std::string::npos);
    EXPECT_NE(refusal(replaced(text_run, "Device 1: Acme B", "Device 2: Acme B"))
                  .find("device 2 stands where device 1 should"),
              std::string::npos);
    EXPECT_NE(refusal(R"({"nvbandwidth":{"error":"no device","testcases":null}})").find("no device"),
              std::string::npos);
}

TEST(Nvbandwidth, ACutTableIsLeftOut) {
    auto const at = text_run.find(" 1     81.20");
    auto const machine = read(text_run.substr(0, at));
    EXPECT_EQ(machine.pair(1, 0)->measured.read_gbs, 80.20);
    EXPECT_FALSE(machine.pair(1, 0)->measured.write_gbs);
    EXPECT_TRUE(has_notice(machine, "truncated"));
}

TEST(Nvbandwidth, SeveralHostsAreNoMachine) {
    EXPECT_NE(refusal("nvbandwidth Version: v0.8\nProcess 0 (a): device 0: X (00000000:01:00)\nProcess 1 (b): device "
                      "0: X (00000000:01:00)\n")
                  .find("several hosts"),
              std::string::npos);
}

// NVIDIA/nvbandwidth#11, #53, #67: duplex rows read as sums.
TEST(Nvbandwidth, EightDevicesDuplexHostRows) {
    PEERLANE_SHARED_MACHINE(machine, "nvbandwidth-v0.2-8xh800-full.txt");
    ASSERT_EQ(machine.host.size(), 8U);
    EXPECT_EQ(machine.host[0].to_device_loaded_gbs, 52.75);
    EXPECT_EQ(machine.host[0].from_device_loaded_gbs, 34.47);
    EXPECT_EQ(machine.host[0].to_device_gbs, 55.28);
    EXPECT_EQ(machine.host[1].from_device_loaded_gbs, 50.50);
    EXPECT_EQ(machine.pair(0, 1)->measured.write_gbs, 176.08);
    EXPECT_EQ(machine.pair(0, 1)->measured.bidirectional_gbs, 327.84)
        << "the copy engine's duplex rows of this version are one direction";
    EXPECT_FALSE(has_notice(machine, "sum-differs"));
}

TEST(Nvbandwidth, ATestWithoutATableIsNamed) {
    auto const start =
        std::string("nvbandwidth Version: v0.8\nDevice 0: Acme (00000000:1b:00)\nDevice 1: Acme (00000000:2b:00)\n\n");
    auto const cut = read(start + "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(col");
    EXPECT_EQ(test::notice_line(cut, "truncated"), 5);
    EXPECT_EQ(test::notice_line(read(start + "Running one.\n\nRunning two.\nWaived: \n"), "truncated"), 5);
    EXPECT_FALSE(has_notice(read(start + "Running one.\nERROR: out of memory\n"), "truncated"));
}

}  // namespace
}  // namespace peerlane
