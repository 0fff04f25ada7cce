// Inputs that are no machine, or want to hurt: refused, with bounded numbers of things kept. How long it takes is
// bench/read_speed's to tell; a test that hangs has a limit in CTest.

#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "machine/write/writers.hpp"
#include "support.hpp"

namespace peerlane::test {
namespace {

constexpr std::size_t big = 50U << 20;
TEST(Limits, GarbageIsRefusedWithAReason) {
    EXPECT_NE(refusal(std::string("\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01", 12), "cat.jpg").find("cat.jpg"),
              std::string::npos);
    EXPECT_EQ(refusal(""), "input: the file is empty");
    EXPECT_EQ(refusal(" \n\r\n\t"), "input: the file is empty");
    EXPECT_NE(refusal("hello, world\n").find("no known description of a machine"), std::string::npos);
    EXPECT_NE(refusal("<html><body/></html>"), "");
    EXPECT_NE(refusal("{}"), "");
    EXPECT_NE(refusal("[1,2,3]"), "");
    std::mt19937_64 random(3);
    for (int i = 0; i < 200; ++i) {
        std::string bytes(1 + random() % 2000, ' ');
        for (auto& byte : bytes) {
            byte = static_cast<char>(random());
        }
        EXPECT_NE(refusal(bytes), "") << i;
    }
}

TEST(Limits, FiftyMegabytesOfAnythingAreRefused) {
    std::mt19937_64 random(5);
    std::string letters(big, 'x');
    for (std::size_t i = 0; i < letters.size(); i += 1 + random() % 100) {
        letters[i] = " \n\tGPU0|>#{<"[random() % 12];
    }
    EXPECT_NE(refusal(letters), "");
    EXPECT_NE(refusal(std::string(big, '\n') + "x"), "");
    EXPECT_NE(refusal(std::string(big, 'G')), "");
    EXPECT_NE(refusal("{\"schema\":\"peerlane.machine/1\",\"devices\":" + std::string(big, '[')), "");
    EXPECT_NE(refusal("<system version=\"1\">" + std::string(big, ' ')), "");
}

TEST(Limits, FiftyMegabytesOfElementsAreRefused) {
    std::string cpus = "<system version=\"1\">",
                links = cpus + "<cpu numaid=\"0\"><pci busid=\"0000:01:00.0\" class=\"0x030200\"><gpu dev=\"0\">";
    while (cpus.size() < big) {
        cpus += "<cpu/>\n";
    }
    while (links.size() < big) {
        links += "<nvlink target=\"0000:01:00.0\" count=\"1\"/>\n";
    }
    EXPECT_NE(refusal(cpus + "</system>"), "");
    links += "</gpu></pci></cpu></system>";
    // 1.3 million elements are more than the limit of one million.
    EXPECT_NE(refusal(links).find("more elements or attributes than any machine needs"), std::string::npos);
}

TEST(Limits, ManyLinksLeaveBoundedNoticesAndFarEnds) {
    auto const with_links = [](const std::function<std::string(int)>& target) {
        std::string text =
            "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\" class=\"0x030200\"><gpu dev=\"0\">\n";
        for (int i = 0; i < 20'000; ++i) {
            text += "<nvlink target=\"" + target(i) + "\" count=\"1\"/>\n";
        }
        return text + "</gpu></pci></cpu></system>";
    };
    auto const itself = read(with_links([](int) { return "0000:01:00.0"; }));
    EXPECT_EQ(itself.notices.size(), 1001U);
    EXPECT_EQ(itself.notices.back().code, "more");
    EXPECT_EQ(refusal(with_links([](int i) { return "far" + std::to_string(i); })),
              "input:10002: more than 10000 far ends of links");
}

TEST(Limits, TablesOfManyHeadersAreRefused) {
    std::string headers, row = "\tGPU0\tGPU1\tCPU Affinity\n";
    while (headers.size() < (1U << 20)) {
        headers += row;
    }
    EXPECT_NE(refusal(headers), "");
    std::string wide;
    for (int i = 0; i < 100'000; ++i) {
        wide += "\tGPU" + std::to_string(i);
    }
    EXPECT_NE(refusal(wide + "\nGPU0\tX\tPIX\n"), "");
}

TEST(Limits, SixteenGpusAreTwoHundredAndFortyPairs) {
    std::string text;
    for (int i = 0; i < 16; ++i) {
        text += "\tGPU" + std::to_string(i);
    }
    text += "\tCPU Affinity\tNUMA Affinity\n";
    for (int a = 0; a < 16; ++a) {
        text += "GPU" + std::to_string(a);
        for (int b = 0; b < 16; ++b) {
            text += a == b ? "\t X " : "\tNV6";
        }
        text += "\t0-31\t0\n";
    }
    EXPECT_EQ(read(text).pairs.size(), 240U);
}

TEST(Limits, Utf16OfAShellIsRead) {
    std::string const table = "\tGPU0\tGPU1\r\nGPU0\t X \tPHB\r\nGPU1\tPHB\t X \r\n";
    std::string wide("\xff\xfe", 2);
    for (auto const c : table) {
        wide += c;
        wide += '\0';
    }
    EXPECT_EQ(classes(read(wide)), "X PHB / PHB X");
}

}  // namespace
}  // namespace peerlane::test
