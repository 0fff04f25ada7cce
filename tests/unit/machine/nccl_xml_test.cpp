// Topology XML of NCCL and RCCL.

#include <gtest/gtest.h>

#include "support.hpp"

namespace peerlane::test {
namespace {

std::string gpu(const std::string& bus, int dev, const std::string& inside = "",
                const std::string& link = "link_speed=\"16 GT/s\" link_width=\"16\"") {
    return "<pci busid=\"" + bus + "\" class=\"0x030200\" " + link + "><gpu dev=\"" + std::to_string(dev) +
           "\" sm=\"80\">" + inside + "</gpu></pci>\n";
}

std::string bridge(const std::string& bus, const std::string& inside) {
    return "<pci busid=\"" + bus + "\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">\n" + inside +
           "</pci>\n";
}

std::string cpu(const std::string& numa, const std::string& inside) {
    return "<cpu numaid=\"" + numa + "\">\n" + inside + "</cpu>\n";
}

std::string system(const std::string& inside) {
    return "<system version=\"1\">\n" + inside + "</system>\n";
}

std::string link(const std::string& target, int count, const std::string& tclass = "0x030200",
                 const char* kind = "nvlink") {
    return std::string("<") + kind + " target=\"" + target + "\" count=\"" + std::to_string(count) + "\" tclass=\"" +
           tclass + "\"/>";
}

TEST(NcclXml, ClassesByBridgesOnTheWay) {
    auto const machine =
        read(system(cpu("0", bridge("0000:01:00.0", gpu("0000:02:00.0", 0) + gpu("0000:03:00.0", 1) +
                                                        bridge("0000:04:00.0", gpu("0000:05:00.0", 2))) +
                                 gpu("0000:06:00.0", 3)) +
                    cpu("0", gpu("0000:07:00.0", 4)) + cpu("1", gpu("0000:81:00.0", 5))));
    EXPECT_EQ(classes(machine),
              "X PIX PXB PHB NODE SYS / PIX X PXB PHB NODE SYS / PXB PXB X PHB NODE SYS / PHB PHB PHB X NODE SYS / "
              "NODE NODE NODE NODE X SYS / SYS SYS SYS SYS SYS X");
    EXPECT_EQ(machine.devices[5].numa, 1);
    EXPECT_EQ(machine.devices[5].bus, "0000:81:00.0");
    EXPECT_EQ(machine.devices[0].pcie_generation, 4);
    EXPECT_NEAR(*machine.pair(0, 1)->nominal_gbs, 31.5, 0.1);
}

TEST(NcclXml, CountsOfSwitchesAndDirectLinksAddUp) {
    auto const machine = read(system(cpu(
        "0", gpu("0000:02:00.0", 0, link("0000:1a:00.0", 5, "0x068000") + link("0000:1b:00.0", 4, "0x068000")) +
                 gpu("0000:03:00.0", 1, link("0000:1a:00.0", 4, "0x068000") + link("0000:1b:00.0", 4, "0x068000")) +
                 gpu("0000:04:00.0", 2, link("0000:05:00.0", 2)) + gpu("0000:05:00.0", 3, link("0000:04:00.0", 2)))));
    EXPECT_EQ(classes(machine), "X NV8 PHB PHB / NV8 X PHB PHB / PHB PHB X NV2 / PHB PHB NV2 X");
    EXPECT_EQ(machine.devices[0].nvlinks, 9);
    EXPECT_NEAR(*machine.pair(2, 3)->nominal_gbs, 50, 0.1);
}

TEST(NcclXml, AMissingLinkToASwitchIsNoticed) {
    auto const both = link("0000:1a:00.0", 5, "0x068000") + link("0000:1b:00.0", 4, "0x068000");
    auto const machine = read(
        system(cpu("0", gpu("0000:02:00.0", 0, both) + gpu("0000:03:00.0", 1, link("0000:1a:00.0", 5, "0x068000")) +
                            gpu("0000:04:00.0", 2, both))));
    EXPECT_EQ(classes(machine), "X NV5 NV9 / NV5 X NV5 / NV9 NV5 X");
    EXPECT_EQ(notice_line(machine, "asymmetric"), 4);
}

TEST(NcclXml, XgmiCountsWithTheRateOfItsArchitecture) {
    auto const amd = [](const std::string& bus, int dev, const std::string& inside) {
        return "<pci busid=\"" + bus + "\" class=\"0x038000\" link_speed=\"16 GT/s\" link_width=\"16\"><gpu dev=\"" +
               std::to_string(dev) + "\" sm=\"104\" gcn=\"910\">" + inside + "</gpu></pci>\n";
    };
    auto const machine = read(system(cpu("0", amd("0000:c1:00.0", 0, link("0000:c5:00.0", 4, "0x038000", "xgmi")) +
                                                  amd("0000:c5:00.0", 1, link("0000:c1:00.0", 4, "0x038000", "xgmi")) +
                                                  amd("0000:c9:00.0", 2, ""))));
    EXPECT_EQ(classes(machine), "X XGMI4 PHB / XGMI4 X PHB / PHB PHB X");
    EXPECT_EQ(machine.pair(0, 1)->nominal_gbs, 200);
    EXPECT_EQ(machine.devices[0].compute_capability, std::nullopt);
    EXPECT_EQ(machine.devices[0].architecture, "910");
}

TEST(NcclXml, LinksToNowhere) {
    auto const self = read(system(cpu("0", gpu("0000:02:00.0", 0, link("0000:02:00.0", 12)) + gpu("0000:03:00.0", 1))));
    EXPECT_EQ(classes(self), "X PHB / PHB X");
    EXPECT_EQ(notice_line(self, "unknown-link-target"), 3);
    auto const away = read(system(
        cpu("0", gpu("0000:02:00.0", 0, link("0000:99:00.0", 12)) + gpu("0000:03:00.0", 1, link("0000:99:00.0", 12)))));
    EXPECT_EQ(classes(away), "X PHB / PHB X");
    EXPECT_TRUE(has_notice(away, "unknown-link-target"));
    auto const nameless = read(system(cpu("-1", gpu("0000:02:00.0", 0, link("fffffff:ff:ff.0", 18, "0x068000")) +
                                                    gpu("0000:03:00.0", 1, link("fffffff:ff:ff.0", 18, "0x068000")))));
    EXPECT_EQ(classes(nameless), "X NV18 / NV18 X");
    EXPECT_TRUE(has_notice(nameless, "unknown-link-target"));
    auto const processor = read(system(cpu("0", gpu("0004:04:00.0", 0, link("0004:00:01.1", 3, "0x068001")) +
                                                    gpu("0004:05:00.0", 1, link("0004:00:01.1", 3, "0x068001")))));
    EXPECT_EQ(classes(processor), "X PHB / PHB X");
}

TEST(NcclXml, ALinkThatOnlyOneEndLists) {
    auto const machine =
        read(system(cpu("0", gpu("0000:02:00.0", 0, link("0000:03:00.0", 2)) + gpu("0000:03:00.0", 1))));
    EXPECT_EQ(classes(machine), "X NV2 / NV2 X");
    EXPECT_TRUE(has_notice(machine, "asymmetric"));
    auto const differ = read(system(
        cpu("0", gpu("0000:02:00.0", 0, link("0000:03:00.0", 2)) + gpu("0000:03:00.0", 1, link("0000:02:00.0", 1)))));
    EXPECT_EQ(classes(differ), "X NV2 / NV1 X");
    EXPECT_TRUE(has_notice(differ, "asymmetric"));
}

TEST(NcclXml, IdsAreTheFilesOwnOrDocumentOrder) {
    auto const own = read(system(cpu("0", gpu("0000:02:00.0", 1) + gpu("0000:03:00.0", 0))));
    EXPECT_EQ(own.devices[0].bus, "0000:03:00.0");
    auto const mixed =
        read(system(cpu("0", "<pci busid=\"0000:02:00.0\" class=\"0x030200\"/>" + gpu("0000:03:00.0", 0))));
    EXPECT_EQ(mixed.devices[0].bus, "0000:02:00.0");
    EXPECT_TRUE(has_notice(mixed, "renumbered"));
    auto const gap = read(system(cpu("0", gpu("0000:02:00.0", 4) + gpu("0000:03:00.0", 2))));
    EXPECT_EQ(gap.devices[0].bus, "0000:03:00.0");
    EXPECT_TRUE(has_notice(gap, "renumbered"));
}

TEST(NcclXml, WhatTellsAGpu) {
    auto const count = [](const std::string& attributes) {
        return read(system(cpu("0", "<pci busid=\"0000:02:00.0\" " + attributes + "/>"))).devices.size();
    };
    EXPECT_EQ(count("class=\"0x030200\""), 1U);
    EXPECT_EQ(count("class=\"0x030200\" vendor=\"0x10de\""), 1U);
    EXPECT_EQ(count("class=\"0x030000\" vendor=\"0x10de\""), 1U);
    EXPECT_EQ(count("class=\"0x038000\" vendor=\"0x1002\""), 1U);
    EXPECT_EQ(count("class=\"0x030000\" vendor=\"0x1a03\""), 0U);  // the display of a management controller
    EXPECT_EQ(count("class=\"0x030000\""), 0U);
    EXPECT_EQ(count("class=\"0x020000\""), 0U);
    EXPECT_EQ(count(""), 0U);
}

TEST(NcclXml, UnknownIsNull) {
    auto const machine = read(system(cpu("-1", gpu("0000:02:00.0", 0, "", "link_speed=\"\" link_width=\"0\"") +
                                                   gpu("0000:03:00.0", 1, "", "link_speed=\"Unknown\""))));
    for (auto const& device : machine.devices) {
        EXPECT_EQ(device.numa, std::nullopt);
        EXPECT_EQ(device.pcie_generation, std::nullopt);
        EXPECT_EQ(device.pcie_width, std::nullopt);
    }
    EXPECT_EQ(machine.pair(0, 1)->nominal_gbs, std::nullopt);
    EXPECT_TRUE(has_notice(machine, "numa-unknown"));
    EXPECT_TRUE(has_notice(machine, "speed-unknown"));
}

TEST(NcclXml, GuestsAndFlatTrees) {
    auto const flat = read(system(cpu("0", gpu("0000:00:02.0", 0) + gpu("0000:00:03.0", 1))));
    EXPECT_TRUE(has_notice(flat, "virtual"));
    EXPECT_TRUE(has_notice(flat, "flat-tree"));
    EXPECT_EQ(flat.origin.virtualized, true);
    auto const domains =
        read(system(cpu("0", bridge("ffff:ff:01.0", gpu("0001:00:00.0", 0) + gpu("0002:00:00.0", 1)))));
    EXPECT_TRUE(has_notice(domains, "virtual"));
    EXPECT_FALSE(has_notice(domains, "flat-tree"));
    auto const bare = read(system(cpu("0", gpu("0000:3b:00.0", 0) + gpu("0000:5e:00.0", 1))));
    EXPECT_FALSE(has_notice(bare, "virtual"));
    EXPECT_EQ(bare.origin.virtualized, std::nullopt);
}

TEST(NcclXml, NicsOfPciAndOfTheHost) {
    auto const machine =
        read(system(cpu("0", bridge("0000:01:00.0", gpu("0000:02:00.0", 0) +
                                                        "<pci busid=\"0000:03:00.0\" class=\"0x020700\"><nic><net "
                                                        "name=\"mlx5_0\" dev=\"0\"/><net name=\"mlx5_1\" dev=\"1\"/>"
                                                        "</nic></pci>") +
                                 "<nic><net name=\"veth0\" dev=\"2\"/><net name=\"veth0\" dev=\"3\"/></nic>")));
    ASSERT_EQ(machine.nics.size(), 4U);
    EXPECT_EQ(machine.nics[0].name, "mlx5_0");
    EXPECT_EQ(machine.nics[1].bus, "0000:03:00.0");
    EXPECT_EQ(machine.nics[1].paths[0], PathClass::pix);
    EXPECT_EQ(machine.nics[2].name, "veth0");
    EXPECT_EQ(machine.nics[2].paths[0], PathClass::unknown);
    EXPECT_EQ(machine.nics[3].name, "veth0#2");
}

TEST(NcclXml, Refusals) {
    EXPECT_EQ(refusal("<graphs version=\"1\"></graphs>"), "input:1: root is graphs, not system");
    EXPECT_EQ(refusal("<!-- a\nb -->\n<graphs/>"), "input:3: root is graphs, not system");
    EXPECT_EQ(refusal(system(cpu("0", gpu("0000:02:00.0", 0) + gpu("0000:02:00.0", 1)))),
              "input:4: a second GPU has the address 0000:02:00.0");
    EXPECT_NE(refusal("<system version=\"1\">\n<cpu numaid=\"0\">\n").find("input:"), std::string::npos);
    EXPECT_NE(refusal("<system><cpu></system>"), "");
    EXPECT_NE(refusal("<!DOCTYPE system [<!ENTITY a \"aaaa\">]><system/>"), "");
    EXPECT_NE(refusal("<system version=\"1\">" + std::string(5000, ' ') +
                      [] {
                          std::string deep;
                          for (int i = 0; i < 100'000; ++i) {
                              deep += "<pci>";
                          }
                          return deep;
                      }()),
              "");
    std::string many = "<system version=\"1\">";
    for (int i = 0; i < 2000; ++i) {
        many += "<cpu numaid=\"" + std::to_string(i) + "\"/>";
    }
    EXPECT_NE(refusal(many + "</system>"), "");
    std::string crowd;
    for (int i = 0; i < 600; ++i) {
        crowd += gpu(std::to_string(1000 + i) + ":00:00.0", i);
    }
    EXPECT_NE(refusal(system(cpu("0", crowd))), "");
}

TEST(NcclXml, StandsInTicketsInManyWrappings) {
    auto const xml = system(cpu("0", bridge("0000:01:00.0", gpu("0000:02:00.0", 0) + gpu("0000:03:00.0", 1))));
    auto const machine = read(xml);
    auto const wrapped = [&](const std::string& before, const std::string& mark, const std::string& end,
                             const std::string& after) {
        std::string text = before;
        std::stringstream lines(xml);
        for (std::string line; std::getline(lines, line);) {
            text += mark + line + end;
        }
        auto again = read(text + after);
        EXPECT_TRUE(again.notices.size() >= machine.notices.size());
        again.notices = machine.notices;
        return again;
    };
    EXPECT_EQ(wrapped("", "", "\r\n", ""), machine);
    EXPECT_EQ(wrapped("", "> ", "\n", ""), machine);
    EXPECT_EQ(wrapped("", "# ", "\n", ""), machine);
    EXPECT_EQ(wrapped("", "\x1b[0m", "\n", ""), machine);
    EXPECT_EQ(wrapped("Here is my topology:\n\n```xml\n", "", "\n", "```\nAny idea?\n"), machine);
    EXPECT_EQ(wrapped("$ cat topo.xml\n", "", "\n", "$\n"), machine);
    EXPECT_EQ(wrapped("\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!DOCTYPE system SYSTEM \"topo.dtd\">\n\n<!-- a\nb -->\n",
                      "  ", "  \n", "\n\n"),
              machine);
    EXPECT_EQ(refusal("$ cat graph.xml\n<graphs version=\"1\"></graphs>\n"), "input:2: root is graphs, not system");
}

TEST(NcclXml, NoGpuIsANotice) {
    auto const machine = read(system(cpu("0", "<pci busid=\"0000:00:16.0\"/>")));
    EXPECT_TRUE(machine.devices.empty());
    EXPECT_TRUE(has_notice(machine, "no-gpu"));
}

}  // namespace
}  // namespace peerlane::test
