// Inputs that are no machine, or want to hurt: refused, quickly and in bounded memory.

#include <ctime>
#include <random>

#include <gtest/gtest.h>

#include "machine/write/writers.hpp"
#include "support.hpp"

namespace peerlane::test {
namespace {

constexpr std::size_t big = 50U << 20;
// Sanitizers make everything some ten times slower; what is tested is that nothing grows faster than its input.
#if defined(__SANITIZE_ADDRESS__)
constexpr double soon_s = 60;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr double soon_s = 60;
#else
constexpr double soon_s = 5;
#endif
#else
constexpr double soon_s = 5;
#endif

/// Processor time: other work on the machine does not count.
double now_s() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double seconds_of(const std::string& text) {
    auto const start = now_s();
    EXPECT_NE(refusal(text), "");
    return now_s() - start;
}

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

TEST(Limits, FiftyMegabytesOfAnythingEndSoon) {
    std::mt19937_64 random(5);
    std::string letters(big, 'x');
    for (std::size_t i = 0; i < letters.size(); i += 1 + random() % 100) {
        letters[i] = " \n\tGPU0|>#{<"[random() % 12];
    }
    EXPECT_LT(seconds_of(letters), soon_s);
    EXPECT_LT(seconds_of(std::string(big, '\n') + "x"), soon_s);
    EXPECT_LT(seconds_of(std::string(big, 'G')), soon_s);
    EXPECT_LT(seconds_of("{\"schema\":\"peerlane.machine/1\",\"devices\":" + std::string(big, '[')), soon_s);
    EXPECT_LT(seconds_of("<system version=\"1\">" + std::string(big, ' ')), soon_s);
}

TEST(Limits, FiftyMegabytesOfElementsEndSoon) {
    std::string cpus = "<system version=\"1\">",
                links = cpus + "<cpu numaid=\"0\"><pci busid=\"0000:01:00.0\" class=\"0x030200\"><gpu dev=\"0\">";
    while (cpus.size() < big) {
        cpus += "<cpu/>\n";
    }
    while (links.size() < big) {
        links += "<nvlink target=\"0000:01:00.0\" count=\"1\"/>\n";
    }
    EXPECT_LT(seconds_of(cpus + "</system>"), soon_s);
    links += "</gpu></pci></cpu></system>";
    auto const start = now_s();
    try {
        EXPECT_LE(read(links).notices.size(), 1010U);
    } catch (const InputError&) {  // refusing so many elements is as good
    }
    EXPECT_LT(now_s() - start, soon_s);
}

TEST(Limits, TablesOfManyHeadersEndSoon) {
    std::string headers, row = "\tGPU0\tGPU1\tCPU Affinity\n";
    while (headers.size() < (1U << 20)) {
        headers += row;
    }
    EXPECT_LT(seconds_of(headers), soon_s);
    std::string wide;
    for (int i = 0; i < 100'000; ++i) {
        wide += "\tGPU" + std::to_string(i);
    }
    EXPECT_LT(seconds_of(wide + "\nGPU0\tX\tPIX\n"), soon_s);
}

// Issue 3: a description of 16 GPUs in under 20 ms. Asked for with room, since tests share the machine; bench/ measures
// it.
TEST(Limits, SixteenGpusAreReadAtOnce) {
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
    auto best = 1e9;
    for (int i = 0; i < 20; ++i) {
        auto const start = now_s();
        EXPECT_EQ(read(text).pairs.size(), 240U);
        best = std::min(best, now_s() - start);
    }
    EXPECT_LT(best, 0.02);
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
