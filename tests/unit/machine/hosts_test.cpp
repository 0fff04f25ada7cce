// A machine is one host. Descriptions of several, in one file or in several files, are never joined without a word.

#include <gtest/gtest.h>

#include <peerlane/merge.hpp>

#include "support.hpp"

namespace peerlane::test {
namespace {

std::string cpu(const std::string& hash, const std::string& numa, const std::string& gpus) {
    return "<cpu" + (hash.empty() ? "" : " host_hash=\"" + hash + "\"") + " numaid=\"" + numa + "\">\n" + gpus +
           "</cpu>\n";
}

std::string gpu(const std::string& bus, const std::string& dev) {
    return "<pci busid=\"" + bus + "\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" +
           dev + "\" sm=\"80\"/></pci>\n";
}

std::string system(const std::string& cpus) {
    return "<system version=\"1\">\n" + cpus + "</system>\n";
}

TEST(Hosts, OfAnNcclSystemOnlyTheFirstIsRead) {
    auto const first = cpu("0xA1", "0", gpu("0000:01:00.0", "0") + gpu("0000:02:00.0", "1"));
    auto const rest_of_first = cpu("0xa1", "1", gpu("0000:81:00.0", "2"));
    auto const second = cpu("0xb2", "0", gpu("0000:01:00.0", "0") + gpu("0000:02:00.0", "1"));
    auto const third = cpu("0xc3", "0", gpu("0000:01:00.0", "0"));
    auto const machine = read(system(first + second + third + rest_of_first));
    EXPECT_EQ(classes(machine), "X PHB SYS / PHB X SYS / SYS SYS X");
    EXPECT_EQ(machine.origin.hosts, std::vector<std::string>{"0xa1"});
    EXPECT_EQ(notice_line(machine, "several-hosts"), 6);
    auto alone = read(system(first + rest_of_first));
    EXPECT_FALSE(has_notice(alone, "several-hosts"));
    EXPECT_EQ(alone.pairs, machine.pairs);
    EXPECT_EQ(alone.devices, machine.devices);
}

TEST(Hosts, AHashThatTellsNothingIsNoHost) {
    auto const machine =
        read(system(cpu("0x0", "0", gpu("0000:01:00.0", "0")) + cpu("", "1", gpu("0000:02:00.0", "1")) +
                    cpu("0x7", "2", gpu("0000:03:00.0", "2"))));
    EXPECT_EQ(machine.devices.size(), 3U);
    EXPECT_FALSE(has_notice(machine, "several-hosts"));
    EXPECT_EQ(machine.origin.hosts, std::vector<std::string>{"0x7"});
}

TEST(Hosts, OfAnHwlocSystemOnlyTheFirstIsRead) {
    auto const host = [](const std::string& name, const std::string& bus) {
        return "<object type=\"Machine\" os_index=\"0\">\n<info name=\"HostName\" value=\"" + name +
               "\"/>\n<object type=\"Bridge\" bridge_type=\"0-1\"><object type=\"PCIDev\" pci_busid=\"" + bus +
               "\" pci_type=\"0302 [10de:20b0]\"/></object></object>\n";
    };
    auto const machine = read("<topology>\n<object type=\"System\">\n" + host("a", "0000:01:00.0") +
                              host("b", "0000:02:00.0") + "</object></topology>\n");
    ASSERT_EQ(machine.devices.size(), 1U);
    EXPECT_EQ(machine.devices[0].bus, "0000:01:00.0");
    EXPECT_EQ(machine.origin.hosts, std::vector<std::string>{"a"});
    EXPECT_EQ(notice_line(machine, "several-hosts"), 6);
}

TEST(Hosts, TheNameStandsBesideTheObjectsInVersion3) {
    auto const machine = read(
        "<topology version=\"3.0\"><object type=\"Machine\"/><info name=\"HostName\" value=\"a\"/>"
        "<info name=\"DMISysVendor\" value=\"QEMU\"/></topology>");
    EXPECT_EQ(machine.origin.hosts, std::vector<std::string>{"a"});
    EXPECT_EQ(machine.origin.virtualized, true);
}

TEST(Hosts, DocumentsOneAfterAnotherAreNamed) {
    auto const one = system(cpu("0xa1", "0", gpu("0000:01:00.0", "0"))), two = system(cpu("0xb2", "0", ""));
    auto const machine = read(one + "<?xml version=\"1.0\"?>\n" + two + "<graphs version=\"1\"/>\n");
    EXPECT_EQ(machine.devices.size(), 1U);
    EXPECT_EQ(notice_line(machine, "two-tables"), 7);
    EXPECT_EQ(std::count_if(machine.notices.begin(), machine.notices.end(),
                            [](const Notice& notice) { return notice.code == "two-tables"; }),
              2);
    auto const topology = std::string("<topology version=\"2.0\"><object type=\"Machine\"/></topology>\n");
    EXPECT_EQ(notice_line(read(topology + topology), "two-tables"), 2);
}

TEST(Hosts, FilesOfTwoHostsAreJoinedWithANotice) {
    auto const text = [](const std::string& hash) { return system(cpu(hash, "0", gpu("0000:01:00.0", "0"))); };
    EXPECT_FALSE(has_notice(merge({read(text("0xa1"), "a"), read(text("0xa1"), "b")}), "hosts-differ"));
    EXPECT_FALSE(has_notice(merge({read(text("0xa1"), "a"), read(text("0x0"), "b")}), "hosts-differ"));
    auto const both = merge({read(text("0xa1"), "a"), read(text("0xb2"), "b")});
    ASSERT_TRUE(has_notice(both, "hosts-differ"));
    EXPECT_EQ(both.origin.hosts, std::vector<std::string>{"0xa1"});
    // A name beside a hash says nothing about it.
    auto const named = read(
        "<topology version=\"2.0\"><object type=\"Machine\"><info name=\"HostName\" value=\"n\"/>"
        "</object></topology>");
    auto const joined = merge({read(text("0xa1"), "a"), named});
    EXPECT_FALSE(has_notice(joined, "hosts-differ"));
    EXPECT_EQ(joined.origin.hosts, (std::vector<std::string>{"0xa1", "n"}));
}

}  // namespace
}  // namespace peerlane::test
