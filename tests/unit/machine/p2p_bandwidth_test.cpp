// Output of p2pBandwidthLatencyTest: directions, staged against direct, cut and contradictory tables.

#include "unit/machine/support.hpp"

namespace peerlane {
namespace {

using test::has_notice;
using test::read;
using test::refusal;

// Two devices that may reach each other; every matrix is asymmetrical on purpose.
std::string const whole = R"([P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, Acme Accelerator, pciBusID: 1a, pciDeviceID: 0, pciDomainID:0
Device: 1, Acme Accelerator, pciBusID: af, pciDeviceID: 1, pciDomainID:1
Device=0 CAN Access Peer Device=1
Device=1 CAN Access Peer Device=0

P2P Connectivity Matrix
     D\D     0     1
     0	     1     1
     1	     1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\D     0      1
     0 900.00  10.01
     1  10.10 901.00
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\D     0      1
     0 900.00  20.01
     1  20.10 901.00
Unidirectional P2P=Enabled Bandwidth (P2P Reads) Matrix (GB/s)
   D\D     0      1
     0 900.00  18.01
     1  18.10 901.00
Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\D     0      1
     0 900.00  15.01
     1  15.10 901.00
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\D     0      1
     0 900.00  40.01
     1  40.10 901.00
P2P=Disabled Latency Matrix (us)
   GPU     0      1
     0   1.50  11.01
     1  11.10   1.60

   CPU     0      1
     0   2.50   5.01
     1   5.10   2.60
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1
     0   1.50   1.01
     1   1.10   1.60

   CPU     0      1
     0   2.50   9.01
     1   9.10   2.60
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    auto const at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(P2pBandwidth, EachMatrixHasItsOwnPlace) {
    auto const machine = read(whole);
    ASSERT_EQ(machine.devices.size(), 2U);
    EXPECT_EQ(machine.devices[0].bus, "0000:1a:00.0") << "the benchmark prints hexadecimal numbers";
    EXPECT_EQ(machine.devices[1].bus, "0001:af:01.0");
    EXPECT_EQ(machine.devices[0].model, "Acme Accelerator");
    auto const& m = machine.pair(0, 1)->measured;
    EXPECT_EQ(machine.pair(0, 1)->claim, true);
    EXPECT_EQ(m.write_gbs, 20.01) << "row 0 issues and writes into 1";
    EXPECT_EQ(m.read_gbs, 18.01) << "row 0 issues and reads from 1";
    EXPECT_EQ(m.staged_gbs, 10.01);
    EXPECT_EQ(m.bidirectional_gbs, 40.01);
    EXPECT_EQ(m.bidirectional_staged_gbs, 15.01);
    EXPECT_NEAR(m.latency_s.value(), 1.01e-6, 1e-12) << "the GPU's time, not the CPU's";
    EXPECT_NEAR(m.staged_latency_s.value(), 11.01e-6, 1e-12);
    EXPECT_EQ(machine.pair(1, 0)->measured.write_gbs, 20.10);
    EXPECT_TRUE(machine.notices.empty());
}

TEST(P2pBandwidth, WithoutAccessAnEnabledRateIsAStagedOne) {
    auto text = whole;
    for (int i = 0; i < 2; ++i) {
        text = replaced(text, "CAN Access", "CANNOT Access");
    }
    text = replaced(text, "     0\t     1     1\n     1\t     1     1", "     0\t     1     0\n     1\t     0     1");
    auto const machine = read(text);
    auto const& pair = *machine.pair(0, 1);
    EXPECT_EQ(pair.claim, false);
    EXPECT_FALSE(pair.measured.write_gbs);
    EXPECT_FALSE(pair.measured.latency_s);
    EXPECT_EQ(pair.measured.staged_gbs, 10.01);
    EXPECT_EQ(pair.measured.bidirectional_staged_gbs, 15.01);
}

TEST(P2pBandwidth, ExcerptOfOneMatrixIsEnough) {
    auto const machine = read(
        "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1      2\n     0 1.00  2.00 3.00\n     "
        "1 4.00  1.00 5.00\n     2 6.00 7.00 1.00\n");
    ASSERT_EQ(machine.devices.size(), 3U);
    EXPECT_EQ(machine.pair(2, 0)->measured.bidirectional_gbs, 6.0);
    EXPECT_FALSE(machine.pair(2, 0)->claim) << "nobody said whether access was there";
    EXPECT_FALSE(machine.devices[0].bus);
}

TEST(P2pBandwidth, OneCutMatrixIsLeftOutWithItsLine) {
    auto const at = whole.find("     1  20.10");
    auto const machine = read(whole.substr(0, at));
    EXPECT_EQ(machine.pair(0, 1)->measured.staged_gbs, 10.01);
    EXPECT_FALSE(machine.pair(0, 1)->measured.write_gbs);
    EXPECT_TRUE(has_notice(machine, "truncated"));
}

TEST(P2pBandwidth, ACutMatrixAloneIsRefused) {
    EXPECT_NE(
        refusal("Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n     0 900.00  10.01\n")
            .find("no table is whole"),
        std::string::npos);
}

TEST(P2pBandwidth, DamagedCellsAreRefusedWithTheirLine) {
    EXPECT_NE(refusal(replaced(whole, "20.01", "2O.01")).find("input:17: \"2O.01\" is no number"), std::string::npos);
    EXPECT_NE(refusal(replaced(whole, "20.01", "20.01 3.00")).find("input:17: row 0 has 3 cells for 2 columns"),
              std::string::npos);
    EXPECT_NE(refusal(replaced(whole, "20.01", "-20.01")).find("below zero"), std::string::npos);
    EXPECT_NE(refusal(replaced(whole, "     1  20.10", "     0  20.10")).find("row 0 stands where row 1 should"),
              std::string::npos);
    EXPECT_NE(refusal(replaced(whole, "     0\t     1     1", "     0\t     1     2")).find("neither 0 nor 1"),
              std::string::npos);
    EXPECT_NE(refusal(replaced(whole, "pciBusID: 1a", "pciBusID: 1z")), "");
}

TEST(P2pBandwidth, ContradictionsAreRefused) {
    EXPECT_NE(refusal(replaced(whole, "Device=1 CAN ", "Device=1 CANNOT ")).find("answered differently"),
              std::string::npos);
    EXPECT_NE(refusal(replaced(whole, "Device=1 CAN Access Peer Device=0", "Device=1 CAN Access Peer Device=7"))
                  .find("device 7"),
              std::string::npos);
    EXPECT_NE(refusal("Device: 0, A, pciBusID: 1, pciDeviceID: 0, pciDomainID:0\n" +
                      whole.substr(whole.find("P2P Connectivity")))
                  .find("1 devices are listed"),
              std::string::npos);
}

TEST(P2pBandwidth, ASecondRunIsNotMixedIn) {
    auto const machine = read(whole + replaced(whole, "20.01", "77.77"));
    EXPECT_EQ(machine.pair(0, 1)->measured.write_gbs, 20.01);
    EXPECT_TRUE(has_notice(machine, "two-tables"));
}

TEST(P2pBandwidth, MissingNumbersStayUnknown) {
    auto const machine = read(replaced(whole, "20.01", "nan"));
    EXPECT_FALSE(machine.pair(0, 1)->measured.write_gbs);
    EXPECT_EQ(machine.pair(1, 0)->measured.write_gbs, 20.10);
    EXPECT_FALSE(read(replaced(whole, "20.01", "0.00")).pair(0, 1)->measured.write_gbs) << "zero is not a rate";
}

TEST(P2pBandwidth, SixDevicesSlowerWithAccessKeepWritesAndReadsApart) {
    PEERLANE_SHARED_MACHINE(machine, "p2pbw-6x4090-enabled-slower-than-disabled.txt");
    EXPECT_EQ(machine.pair(2, 0)->measured.write_gbs, 10.01);
    EXPECT_EQ(machine.pair(0, 2)->measured.read_gbs, 10.01) << "data of device 2 move at its rate, whoever issues";
    EXPECT_EQ(machine.pair(0, 3)->measured.staged_gbs, 22.14);
}

TEST(P2pBandwidth, MoreThanEightPeers) {
    PEERLANE_SHARED_MACHINE(machine, "p2pbw-12gpu-more-than-8-peers-excerpt.txt");
    ASSERT_EQ(machine.devices.size(), 12U);
    EXPECT_TRUE(std::all_of(machine.pairs.begin(), machine.pairs.end(), [](const Pair& p) { return p.claim == true; }));
    EXPECT_EQ(machine.pair(4, 5)->measured.staged_gbs, 8.69);
}

// A row that ends in fewer decimals than it begins with was cut inside a number.
TEST(P2pBandwidth, ANumberCutAtTheEndOfARowIsSeen) {
    auto const table = [](const std::string& last) {
        return "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n     0 900.00  10.01\n     "
               "1  10.10 " +
               last + "\n";
    };
    EXPECT_EQ(refusal(table("901.00")), "");
    EXPECT_EQ(refusal(table("N/A")), "");
    for (std::string const last : {"901.0", "901.", "901", "9"}) {
        EXPECT_NE(refusal(table(last)).find("input:4: "), std::string::npos) << last;
    }
}

TEST(P2pBandwidth, ADeviceLineWithoutAddressIsSeen) {
    auto const machine = read(
        "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\nDevice: 0, Acme, pciBusID: 1a, pciDeviceID: 0, "
        "pciDomainID:0\nDevice: 1, Acme GeF");
    EXPECT_EQ(machine.devices.size(), 1U);
    EXPECT_EQ(test::notice_line(machine, "truncated"), 3);
}

}  // namespace
}  // namespace peerlane
