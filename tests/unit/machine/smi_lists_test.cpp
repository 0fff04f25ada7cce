// topo -p2p, nvidia-smi -L, nvlink -s and -R.

#include "unit/machine/support.hpp"

namespace peerlane {
namespace {

using test::has_notice;
using test::notice_line;
using test::read;
using test::refusal;

std::string const p2p =
    " \tGPU0\tGPU1\tGPU2\t\n GPU0\tX\tOK\tCNS\t\n GPU1\tOK\tX\tTNS\t\n GPU2\tCNS\tDR\tX\t\n\nLegend:\n\n  X    = "
    "Self\n  OK   = Status Ok\n";

TEST(TopoP2p, StatusWordsAreDirected) {
    auto const machine = read("$ nvidia-smi topo -p2p w\n" + p2p);
    ASSERT_EQ(machine.devices.size(), 3U);
    EXPECT_EQ(machine.pair(1, 2)->claims.write, "TNS");
    EXPECT_EQ(machine.pair(2, 1)->claims.write, "DR");
    EXPECT_EQ(machine.pair(0, 1)->claim, true);
    EXPECT_EQ(machine.pair(1, 2)->claim, false);
    EXPECT_FALSE(machine.pair(0, 1)->claims.read);
    EXPECT_EQ(machine.pair(0, 1)->path, PathClass::unknown);
}

TEST(TopoP2p, EachOptionHasItsPlace) {
    std::string text;
    for (char const option : {'r', 'w', 'n', 'a', 'p'}) {
        text += std::string("user@host:~$ nvidia-smi topo -p2p ") + option + "\n\tGPU0\tGPU1\n GPU0\tX\t" +
                (option == 'p'   ? "NS"
                 : option == 'a' ? "U"
                                 : "OK") +
                "\n GPU1\t" + "OK\tX\n\n";
    }
    auto const pair = *read(text).pair(0, 1);
    EXPECT_EQ(pair.claims.read, "OK");
    EXPECT_EQ(pair.claims.write, "OK");
    EXPECT_EQ(pair.claims.nvlink, "OK");
    EXPECT_EQ(pair.claims.atomics, "U");
    EXPECT_EQ(pair.claims.pcie, "NS");
    EXPECT_EQ(pair.claim, true) << "NS of option p says nothing about access";
}

TEST(TopoP2p, WithoutAnOptionItIsSaidWhatIsAssumed) {
    auto const machine = read(p2p);
    EXPECT_EQ(machine.pair(0, 2)->claims.read, "CNS");
    EXPECT_TRUE(has_notice(machine, "p2p-option-unknown"));
    auto const ns = read("GPU0 GPU1\nGPU0 X NS\nGPU1 NS X\n");
    EXPECT_FALSE(ns.pair(0, 1)->claim);
    EXPECT_EQ(ns.pair(0, 1)->claims.pcie, "NS");
}

TEST(TopoP2p, WrappingsAreTakenAway) {
    auto const plain = read(p2p);
    std::string wrapped;
    for (std::size_t at = 0; at < p2p.size();) {
        auto const end = p2p.find('\n', at);
        wrapped += "> " + p2p.substr(at, end - at) + "\r\n";
        at = end + 1;
    }
    auto const machine = read(wrapped);
    EXPECT_EQ(machine.pairs, plain.pairs);
    EXPECT_TRUE(has_notice(machine, "crlf"));
    EXPECT_EQ(read("| |GPU0|GPU1|\n|---|---|---|\n|GPU0|X|OK|\n|GPU1|GNS|X|\n").pair(1, 0)->claims.read, "GNS");
}

TEST(TopoP2p, DamageIsRefusedWithItsLine) {
    auto const with = [&](const std::string& from, const std::string& to) {
        auto text = p2p;
        return refusal(text.replace(text.find(from), from.size(), to));
    };
    EXPECT_EQ(with("OK\tX\tTNS", "OK\tX"), "input:3: row GPU1 has 2 cells of 3");
    EXPECT_EQ(with("OK\tX\tTNS", "OK\tX\tTNS\tOK"), "input:3: row GPU1 has more cells than the header has columns (3)");
    EXPECT_EQ(with("TNS", "MAYBE"), "input:3: unknown status \"MAYBE\" in row GPU1");
    EXPECT_EQ(with("X\tTNS", "OK\tTNS"), "input:3: row GPU1 has its X in the wrong column");
    EXPECT_EQ(with(" GPU1\tOK\tX\tTNS\t\n", ""), "input:3: row GPU1 is missing");
    EXPECT_EQ(with(" GPU1\t", " GPU0\t"), "input:3: row GPU0 stands twice");
    EXPECT_EQ(with("\tGPU1\tGPU2", "\tGPU2\tGPU1"), "input:1: column GPU2 stands where GPU1 should");
}

TEST(TopoP2p, TwoTablesAndACutOne) {
    auto const machine = read(p2p + "\n\n" + p2p.substr(0, 40));
    EXPECT_EQ(machine.devices.size(), 3U);
    EXPECT_TRUE(has_notice(machine, "truncated"));
    EXPECT_TRUE(has_notice(read(p2p + "\n\n" + p2p), "two-tables"));
}

TEST(SmiList, DevicesAndInstances) {
    auto const machine = read(
        "GPU 0: Acme One (UUID: GPU-aaaa)\nGPU 1: Acme Two (UUID: GPU-bbbb)\n  MIG 3g.40gb     Device  0: (UUID: "
        "MIG-1)\n  MIG 1g.10gb     Device  1: (UUID: MIG-2)\n");
    ASSERT_EQ(machine.devices.size(), 2U);
    EXPECT_EQ(machine.devices[0].mig, false);
    EXPECT_EQ(machine.devices[1].mig, true);
    EXPECT_EQ(machine.devices[1].mig_instances, 2);
    EXPECT_EQ(machine.devices[1].uuid, "GPU-bbbb");
    EXPECT_EQ(machine.devices[0].model, "Acme One");
    EXPECT_EQ(notice_line(machine, "mig-hidden"), 3);
    EXPECT_NE(refusal("GPU 0: A (UUID: GPU-a)\nGPU 99999: B (UUID: GPU-b)\n"), "");
}

// Four answers to one question.
TEST(NvlinkStatus, FourAnswersStayFour) {
    auto const rates =
        read("GPU 0: Part (UUID: GPU-a)\n\t Link 0: 25.781 GB/s\n\t Link 1: <inactive>\n\t Link 2: 25.781 GB/s\n");
    EXPECT_EQ(rates.devices[0].nvlink_state, "active");
    EXPECT_EQ(rates.devices[0].nvlinks, 2);
    EXPECT_EQ(rates.devices[0].nvlink_gbs, 25.781);
    EXPECT_EQ(rates.devices[0].inactive_nvlinks, std::vector<int>{1});

    auto const inactive =
        read("GPU 0: Part (UUID: GPU-a)\nNVML: Unable to retrieve Nvlink information as all links are inActive\n");
    EXPECT_EQ(inactive.devices[0].nvlink_state, "inactive");
    EXPECT_EQ(inactive.devices[0].nvlinks, 0);

    auto const refused = read("GPU 0: Part (UUID: GPU-a)\nNvlink queries are not supported for Devices in MIG mode\n");
    EXPECT_EQ(refused.devices[0].nvlink_state, "refused-mig");
    EXPECT_EQ(refused.devices[0].mig, true);
    EXPECT_FALSE(refused.devices[0].nvlinks) << "not told is not none";

    auto const unsupported = read("GPU 0: Part (UUID: GPU-a)\nDevice does not have or support Nvlink\n");
    EXPECT_EQ(unsupported.devices[0].nvlink_state, "unsupported");
    EXPECT_EQ(unsupported.devices[0].nvlinks, 0);
}

TEST(NvlinkStatus, EveryLinkInactiveByList) {
    auto const machine = read("GPU 0: Part (UUID: GPU-a)\n Link 0: <inactive>\n Link 1: <inactive>\n");
    EXPECT_EQ(machine.devices[0].nvlink_state, "inactive");
    EXPECT_EQ(machine.devices[0].inactive_nvlinks.size(), 2U);
}

TEST(NvlinkStatus, ADeviceInTheMiddleKeepsItsNumber) {
    auto const machine = read("GPU 3: Part (UUID: GPU-a)\n Link 0: 25 GB/s\n");
    ASSERT_EQ(machine.devices.size(), 4U);
    EXPECT_EQ(machine.devices[3].nvlinks, 1);
    EXPECT_FALSE(machine.devices[0].model);
    EXPECT_TRUE(has_notice(machine, "devices-left-out"));
}

TEST(NvlinkStatus, DamageIsRefusedOrTold) {
    EXPECT_EQ(refusal("GPU 0: P (UUID: GPU-a)\n Link 0: 25 GB/s\n Link 0: 25 GB/s\n"),
              "input:3: link 0 of GPU 0 comes twice, or is absurd");
    EXPECT_EQ(refusal("GPU 0: P (UUID: GPU-a)\n Link 0: 25 GB/s\n Link 1: fast\n"),
              "input:3: \"fast\" is neither a rate nor <inactive>");
    EXPECT_TRUE(has_notice(read("GPU 0: P (UUID: GPU-a)\n Link 0: 25 GB/s\nGPU 1: P (UUID: GPU-b)\n"), "truncated"));
    EXPECT_TRUE(
        has_notice(read("GPU 0: P (UUID: GPU-a)\n Link 0: 25 GB/s\n Link 1: 12.5 GB/s\n"), "link-rates-differ"));
}

TEST(NvlinkRemote, SwitchesAreKnownByTheirLinkNumbers) {
    std::string text;
    for (int gpu = 0; gpu < 2; ++gpu) {
        text += "GPU " + std::to_string(gpu) + ": Part (UUID: GPU-" + std::to_string(gpu) + ")\n";
        for (int link = 0; link < 4; ++link) {
            text += "\t Link " + std::to_string(link) + ": Remote Device 00000000:0" + std::to_string(5 + link / 3) +
                    ":00.0: Link " + std::to_string(20 + link) + "\n";
        }
    }
    auto const machine = read(text);
    EXPECT_EQ(machine.devices[1].nvlinks, 4);
    EXPECT_EQ(machine.pair(0, 1)->path, PathClass::nv);
    EXPECT_EQ(machine.pair(0, 1)->nvlinks, 4) << "three through one switch, one through the other";
    EXPECT_EQ(machine.graph.nodes[2].kind, NodeKind::nvswitch);
    EXPECT_EQ(machine.graph.nodes[2].bus, "0000:05:00.0");
}

TEST(NvlinkRemote, AnAddressAloneIsNoKind) {
    auto const machine = read("GPU 0: Part (UUID: GPU-a)\n Link 0: Remote Device 00000000:07:00.0: Link 2\n");
    EXPECT_EQ(machine.graph.nodes.back().kind, NodeKind::other);
    EXPECT_TRUE(has_notice(machine, "unknown-link-target"));
    EXPECT_NE(refusal("GPU 0: Part (UUID: GPU-a)\n Link 0: Remote Device 00000000:07:00.0: Link 2\n Link 0: Remote "
                      "Device 00000000:08:00.0: Link 2\n"),
              "");
}

TEST(NvlinkRemote, UnevenSpreadOverFourSwitches) {
    PEERLANE_SHARED_MACHINE(machine, "nvlink-R-h100-uneven-switch-spread.txt");
    EXPECT_EQ(machine.devices[0].nvlinks, 18);
    std::vector<int> widths;
    for (auto const& link : machine.graph.links) {
        if (link.from == 0) {
            widths.push_back(link.width.value());
        }
    }
    std::sort(widths.begin(), widths.end());
    EXPECT_EQ(widths, (std::vector<int>{4, 4, 5, 5}));
}

// Azure/azhpc-diagnostics#73
TEST(NvlinkStatus, TwoOfSixInactive) {
    PEERLANE_SHARED_MACHINE(machine, "nvlink-s-v100-inactive-links.txt");
    ASSERT_EQ(machine.devices.size(), 4U);
    EXPECT_EQ(machine.devices[3].nvlinks, 4);
    EXPECT_EQ(machine.devices[3].inactive_nvlinks, (std::vector<int>{3, 5}));
    EXPECT_EQ(notice_line(machine, "links-inactive"), 5);
}

}  // namespace
}  // namespace peerlane
