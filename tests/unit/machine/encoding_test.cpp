// Bytes that are no UTF-8: read as '?', so that a machine's document, which must be UTF-8, reads back equal.

#include <gtest/gtest.h>

#include "machine/read/grammar.hpp"
#include "machine/read/text.hpp"
#include "machine/write/writers.hpp"
#include "support.hpp"

namespace peerlane::test {
namespace {

void expect_round_trip(const std::string& text) {
    auto const machine = read(text);
    EXPECT_EQ(read(write::json(machine)), machine) << text;
}

TEST(Encoding, StrayBytesAreMarkedAndWholeCharactersKept) {
    using read::as_utf8;
    using read::is_utf8;
    for (std::string const good :
         {"", "plain", "\xc2\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
        EXPECT_TRUE(is_utf8(good)) << good;
        EXPECT_EQ(as_utf8(good), good);
    }
    EXPECT_EQ(as_utf8("a\xff"
                      "b"),
              "a?b");
    EXPECT_EQ(as_utf8("\xc0\x80"), "??") << "a longer form than needed";
    EXPECT_EQ(as_utf8("\xe0\x9f\xbf"), "???");
    EXPECT_EQ(as_utf8("\xed\xa0\x80"), "???") << "half of a surrogate pair";
    EXPECT_EQ(as_utf8("\xf4\x90\x80\x80"), "????") << "beyond the last character";
    EXPECT_EQ(as_utf8("\xe2\x82"), "??") << "cut";
    EXPECT_EQ(as_utf8("\xe2\x82x"), "??x");
}

TEST(Encoding, NamesInAnOlderEncodingReadBackEqual) {
    auto const list = std::string("GPU 0: Acm\xe9 (UUID: GPU-a)\nGPU 1: B (UUID: GPU-b)\n");
    EXPECT_EQ(read(list).devices[0].model, "Acm?");
    expect_round_trip(list);
    auto const table = std::string(
        "\tGPU0\tmlx\xff"
        "5\nGPU0\tX\tPIX\nmlx\xff"
        "5\tPIX\tX\n");
    EXPECT_EQ(read(table).nics.at(0).name, "mlx?5");
    expect_round_trip(table);
    expect_round_trip("<system version=\"1\"><cpu><pci busid=\"\xfe\xfe\"/></cpu></system>");
    expect_round_trip("{\"schema\":\"peerlane.machine/1\",\"devices\":[{\"id\":0,\"model\":\"A\xe9\"}]}");
}

// An escape code that is followed by a character of several bytes takes it whole, never its first byte alone.
TEST(Encoding, EscapeCodesDoNotCutCharacters) {
    for (std::string const code : {"\x1b", "\x1b(", "\xc2\x9b", "\x1b]0;title\x1b"}) {
        auto const table = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tPIX\t0-3" + code + "\xe2\x82\xac\nGPU1\tPIX\tX\t0-3\n";
        EXPECT_EQ(classes(read(table)), "X PIX / PIX X") << code;
        expect_round_trip(table);
    }
}

TEST(Encoding, CutQuotationsAreWhole) {
    std::string name = "x";
    while (name.size() < 200) {
        name += "\xc3\xa9";
    }
    expect_round_trip(
        "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\" class=\"0x030200\"><gpu dev=\"0\"><nvlink "
        "target=\"" +
        name + "\" count=\"1\" tclass=\"" + name + "\"/></gpu></pci></cpu></system>");
}

// The reason why a table is not whole becomes a notice of the one that is.
TEST(Encoding, CutReasonsAreWhole) {
    auto const cell = std::string(39, 'Y') + "\xc3\xa9\xc3\xa9";
    expect_round_trip("\tGPU0\tGPU1\nGPU0\t" + cell +
                      "\tPIX\nGPU1\tPIX\tX\n\n\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tPIX\tX\n");
}

TEST(Encoding, CutAddressesAreWhole) {
    expect_round_trip("GPU 0: A (UUID: GPU-a)\n\t Link 0: Remote Device " + std::string(63, 'x') +
                      "\xc3\xa9\xc3\xa9: Link 1\n");
}

TEST(Encoding, CharactersThatDoNotExistAreRefused) {
    auto const system = [](const std::string& text) {
        return "<system version=\"1\">\n<cpu><pci busid=\"" + text + "\"/></cpu></system>";
    };
    for (std::string const text : {"&#xD800;", "&#55296;", "&#x110000;", "&#0;", "&#99999999999999999999999;"}) {
        EXPECT_NE(refusal(system(text)).find("input:2: " + text.substr(0, 12)), std::string::npos) << text;
    }
    expect_round_trip(system("&#233;&#x1F600;&#x;&#z;&amp;#xD800;"));
    EXPECT_THROW(read::read_grammar("sim:gpu=2,model=A\xff"), InputError);
}

}  // namespace
}  // namespace peerlane::test
