// Inputs made to hurt the readers of XML, JSON and lists: refused with a reason, or read with a bounded number of
// things. How long it takes is bench/read_speed's to tell.

#include "unit/machine/support.hpp"

namespace peerlane {
namespace {

using test::refusal;

constexpr std::size_t big = std::size_t{50} << 20;
constexpr std::size_t long_list = std::size_t{4} << 20;  // all of them at full size would take a minute
/// Whatever comes of `text`: a refusal with a reason, or a machine that does not grow with it.
void expect_bounded(const std::string& text) {
    try {
        auto const machine = test::read(text);
        EXPECT_LE(machine.notices.size(), 1010U) << text.substr(0, 80);
        EXPECT_LE(machine.devices.size(), static_cast<std::size_t>(most_devices)) << text.substr(0, 80);
        EXPECT_LE(machine.graph.nodes.size(), 100'000U) << text.substr(0, 80);
    } catch (const InputError& error) {
        EXPECT_FALSE(error.reason().empty()) << text.substr(0, 80);
    }
}

std::string times(const std::string& piece, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
        text += piece;
    }
    return text;
}
std::string repeated(const std::string& piece, std::size_t bytes) {
    std::string text;
    text.reserve(bytes + piece.size());
    while (text.size() < bytes) {
        text += piece;
    }
    return text;
}

TEST(Hostile, EntitiesAreRefusedAndAPlainDoctypeIsFine) {
    std::string bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE topology [\n<!ENTITY a \"ha\">\n";
    for (char c = 'b'; c < 'z'; ++c) {
        bomb += std::string("<!ENTITY ") + c + " \"" + repeated(std::string("&") + static_cast<char>(c - 1) + ";", 20) +
                "\">\n";
    }
    auto const body = std::string("<topology version=\"2.0\"><object type=\"Machine\"/></topology>");
    EXPECT_NE(refusal(bomb + "]>\n" + body).find("input:2: a DOCTYPE with definitions"), std::string::npos);
    EXPECT_EQ(refusal("<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n" + body), "");
    EXPECT_EQ(refusal("<!DOCTYPE topology SYSTEM \"a[b>c\">\n" + body), "")
        << "a bracket inside quotes is no definition";
}

TEST(Hostile, DeepXmlIsRefusedBeforeItIsParsed) {
    for (std::string const root : {"topology", "system"}) {
        auto const text = "<" + root + ">" + times("<object type=\"Bridge\">", 100'000) + times("</object>", 100'000) +
                          "</" + root + ">";
        EXPECT_NE(refusal(text).find("nested"), std::string::npos) << root;
    }
}

TEST(Hostile, AThousandLevelsAreReadWithoutRecursion) {
    std::string const start = "<topology version=\"2.0\"><object type=\"Machine\">", end = "</object></topology>";
    EXPECT_EQ(refusal(start + times("<object type=\"Group\">", 900) + times("</object>", 900) + end), "");
    auto const bridge = "<object type=\"Bridge\" bridge_type=\"1-1\" pci_busid=\"0000:01:00.0\">";
    EXPECT_NE(refusal(start + times(bridge, 900) + times("</object>", 900) + end).find("bridges behind bridges"),
              std::string::npos);
}

TEST(Hostile, DeepJsonIsRefused) {
    auto const text = "{\"nvbandwidth\":" + std::string(100'000, '[');
    EXPECT_NE(refusal(text).find("nested"), std::string::npos);
    EXPECT_NE(refusal("{\"nvbandwidth\":" + repeated("{\"a\":", 500'000)).find("nested"), std::string::npos);
}

TEST(Hostile, FiftyMegabytesAreRefusedOrBounded) {
    expect_bounded("<topology version=\"2.0\"><object type=\"Machine\">" +
                   repeated("<object type=\"PCIDev\" pci_busid=\"0000:01:00.0\" pci_type=\"0302 [10de:1db8]\"/>", big));
    expect_bounded("<topology version=\"2.0\">" + repeated("<a/>", big));
    expect_bounded("<topology " + repeated("a=\"\" ", big));
    expect_bounded("<topology version=\"2.0\"><object type=\"Machine\" nodeset=\"" + repeated("0xffffffff,", big) +
                   "\"/></topology>");
    expect_bounded("{\"nvbandwidth\":{\"testcases\":[" + repeated("{\"name\":\"x\"},", big) + "{}]}}");
    expect_bounded("P2P Connectivity Matrix\n   D\\D " + repeated("0 ", big));
    expect_bounded(repeated("Device=1 CAN Access Peer Device=0\n", long_list));
    expect_bounded(repeated("P2P Connectivity Matrix\n D\\D 0\n 0 1\n", long_list));
    expect_bounded("nvbandwidth Version: x\n" + repeated("Running x.\n", long_list));
    expect_bounded(repeated("GPU 0: A (UUID: GPU-a)\n", long_list));
    expect_bounded("GPU 0: A (UUID: GPU-a)\n" + repeated(" Link 0: 25 GB/s\n", long_list));
    expect_bounded("GPU 0: A (UUID: GPU-a)\n" +
                   repeated(" Link 0: Remote Device 00000000:07:00.0: Link 4\n", long_list));
    expect_bounded("\tGPU0\tGPU1\n" + repeated(" GPU0\tX\tOK\n", long_list));
    expect_bounded("Machine (P#0)\n" + repeated("  HostBridge L#0\n", long_list));
    expect_bounded("Machine (P#0)\n  Package L#0\n" + std::string(long_list, ' '));
}

TEST(Hostile, ManyFarEndsAndManyDevices) {
    std::string text = "GPU 511: A (UUID: GPU-a)\n";
    for (int i = 0; i < 256; ++i) {
        text += " Link " + std::to_string(i) +
                ": Remote Device 00000000:" + std::string(1, "0123456789abcdef"[i / 16]) + "0123456789abcdef"[i % 16] +
                ":00.0: Link 1\n";
    }
    expect_bounded(text);
    EXPECT_NE(refusal("GPU 512: A (UUID: GPU-a)\n"), "");
    EXPECT_NE(refusal("GPU 99999999999: A (UUID: GPU-a)\n"), "");
}

TEST(Hostile, NumbersBeyondAnyRange) {
    EXPECT_NE(refusal("<topology version=\"2.0\"><object type=\"Machine\"/><distances2 name=\"NVLinkBandwidth\" "
                      "nbobjs=\"999999999\"/></topology>"),
              "");
    EXPECT_EQ(refusal("<topology version=\"2.0\"><object type=\"Machine\"><object type=\"NUMANode\" "
                      "os_index=\"99999999999999999999\" local_memory=\"-1\"/></object></topology>"),
              "");
    EXPECT_NE(refusal("Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n D\\D 0 1\n 0 1 1e999\n 1 1 1\n"), "");
}

}  // namespace
}  // namespace peerlane
