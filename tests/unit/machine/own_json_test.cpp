// peerlane.machine/1, in and out.

#include <random>

#include <gtest/gtest.h>

#include "machine/write/writers.hpp"
#include "support.hpp"

namespace peerlane::test {
namespace {

/// Every field set, so that a forgotten one breaks the round trip.
Machine full() {
    Machine machine;
    machine.origin = {"named", {"a.txt", "b.xml"}, true, "demo", "measured 2026-11-30"};
    for (int id = 0; id < 2; ++id) {
        Device device;
        device.id = id;
        device.model = "NVIDIA \"H200\" \xc3\xa9";
        device.bus = id == 0 ? "0000:01:00.0" : "10000:e1:00.0";
        device.uuid = "GPU-0000";
        device.numa = 8;
        device.numa_text = "0-1";
        device.cpu_affinity = "0-31,64-95";
        device.memory_numa = 250;
        device.compute_capability = 90;
        device.architecture = "gfx942";
        device.memory_bytes = 0xffff'ffff'ffffULL;
        device.pcie_generation = 5;
        device.pcie_width = 16;
        device.nvlinks = 18;
        device.inactive_nvlinks = {3, 5};
        device.nvlink_gbs = 26.562;
        device.nvlink_state = "active";
        device.mig = true;
        device.mig_instances = 7;
        machine.devices.push_back(device);
    }
    for (int id = 0; id < 2; ++id) {
        Pair pair;
        pair.accessor = id;
        pair.owner = 1 - id;
        pair.path = PathClass::nv;
        pair.nvlinks = 18;
        pair.nominal_gbs = 478.125;
        pair.claim = id == 0;
        pair.claims = {"OK", "CNS", "GNS", "TNS", "NS"};
        pair.measured = {396.1, 393.8, 370.0, 375.5, 52.03, 784.25, 90.1, 2.71e-6, 11.2e-6};
        machine.pairs.push_back(pair);
    }
    machine.host = {{0, 55.5, 55.3, 53.1, 0.1}, {1, std::nullopt, std::nullopt, std::nullopt, std::nullopt}};
    machine.nics = {{"mlx5_0", "0000:05:00.0", {PathClass::pix, PathClass::sys}},
                    {"eth0", std::nullopt, {PathClass::unknown, PathClass::unknown}}};
    machine.graph.nodes = {{NodeKind::device, 0, "gpu0", "0000:01:00.0", -1}, {NodeKind::numa, 8, "numa:8", "", 1}};
    machine.graph.links = {{0, 1, LinkKind::pcie, 5, 16, 63.015384615384615, 1e-6},
                           {1, 0, LinkKind::nvlink, {}, {}, {}, {}}};
    machine.notices = {{"ansi", "a.txt", 1, "text"}};
    return machine;
}

TEST(OwnJson, EveryFieldComesBack) {
    auto const machine = full();
    auto const document = write::json(machine);
    EXPECT_EQ(read(document), machine);
    EXPECT_EQ(write::json(read(document)), document);
}

TEST(OwnJson, UnknownIsNullAndComesBack) {
    auto const machine = read("\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\tX\n");
    auto const document = write::json(machine);
    EXPECT_NE(document.find("\"model\":null"), std::string::npos);
    EXPECT_NE(document.find("\"nominal_gbs\":null"), std::string::npos);
    EXPECT_EQ(read(document), machine);
}

const std::string two = R"({"schema":"peerlane.machine/1","devices":[{"id":0},{"id":1}])";

TEST(OwnJson, ShortFormsForHands) {
    auto const machine = read(two + R"(,"pairs":[{"accessor":0,"owner":1,"path":"pix","nominal_gbs":8,"measured":7.5},
        {"accessor":1,"owner":0,"measured":{"gbs":7,"read_gbs":6}}],"simulation":{"anything":[1,2]},"new key":true})");
    EXPECT_EQ(classes(machine), "X PIX / UNKNOWN X");
    EXPECT_EQ(machine.pair(0, 1)->measured.write_gbs, 7.5);
    EXPECT_EQ(machine.pair(1, 0)->measured.write_gbs, 7);
    EXPECT_EQ(machine.pair(1, 0)->measured.read_gbs, 6);
    EXPECT_EQ(read(two + "}").pairs.size(), 2U);
}

TEST(OwnJson, PairsFollowFromAGraphAlone) {
    auto const machine = read(
        two + R"(,"graph":{"nodes":[{"kind":"device","index":0,"name":"gpu0"},{"kind":"device","index":1,"name":"gpu1"},
        {"kind":"pci_bridge","name":"bridge:0"}],"links":[{"from":"gpu0","to":"bridge:0","kind":"pcie","generation":4,"width":16},
        {"from":"bridge:0","to":"gpu0","kind":"pcie","generation":4,"width":16},{"from":1,"to":2,"kind":"pcie","generation":4,"width":8},
        {"from":2,"to":1,"kind":"pcie","generation":4,"width":8}]}})");
    EXPECT_EQ(classes(machine), "X PIX / PIX X");
    EXPECT_NEAR(*machine.pair(0, 1)->nominal_gbs, 15.75, 0.01);
}

TEST(OwnJson, Refusals) {
    EXPECT_NE(refusal(two + ",\n\"pairs\": [}").find("input:2: not valid JSON"), std::string::npos);
    EXPECT_EQ(refusal(R"({"schema":"peerlane.plan/1"})"),
              "input: schema: is \"peerlane.plan/1\", not \"peerlane.machine/1\"");
    EXPECT_EQ(refusal(R"({"schema":"peerlane.machine/1"})"), "input: document: \"devices\" is missing");
    EXPECT_EQ(refusal(R"({"devices":3})"), "input: devices: is number, not an array");
    EXPECT_EQ(refusal(R"({"devices":[{"id":"0"}]})"), "input: devices[0].id: is string, not a whole number");
    EXPECT_EQ(refusal(R"({"devices":[{"id":0.5}]})"), "input: devices[0].id: is a fraction, not a whole number");
    EXPECT_EQ(refusal(R"({"devices":[{"id":0},{"id":0}]})"), "input: devices: id 0 stands twice or ids are not 0 to 1");
    EXPECT_EQ(refusal(R"({"devices":[{"id":1}]})"), "input: devices: id 1 stands twice or ids are not 0 to 0");
    EXPECT_NE(refusal(R"({"devices":[{"id":4000000000}]})"), "");
    EXPECT_NE(refusal(R"({"devices":[{"id":0,"bus":"here"}]})"), "");
    EXPECT_NE(refusal(R"({"devices":[{"id":0,"model":7}]})"), "");
    EXPECT_EQ(refusal(two + R"(,"pairs":[{"accessor":0,"owner":2}]})"),
              "input: pairs[0].owner: is 2, not within 0 and 1");
    EXPECT_EQ(refusal(two + R"(,"pairs":[{"accessor":0,"owner":0}]})"),
              "input: pairs[0]: accessor and owner are the same device");
    EXPECT_EQ(refusal(two + R"(,"pairs":[{"accessor":0,"owner":1},{"accessor":0,"owner":1}]})"),
              "input: pairs[1]: pair 0:1 stands twice");
    EXPECT_EQ(refusal(two + R"(,"pairs":[{"accessor":0,"owner":1,"path":"NEAR"}]})"),
              "input: pairs[0].path: \"NEAR\" is no path class");
    EXPECT_NE(refusal(two + R"(,"pairs":[{"accessor":0,"owner":1,"nominal_gbs":-1}]})"), "");
    EXPECT_NE(refusal(two + R"(,"pairs":[{"accessor":0,"owner":1,"nominal_gbs":1e999}]})"), "");
    EXPECT_NE(refusal(two + R"(,"pairs":[{"accessor":0,"owner":1,"claim":"yes"}]})"), "");
    EXPECT_NE(refusal(two + R"(,"graph":{"nodes":[],"links":[{"from":0,"to":0,"kind":"pcie"}]}})"), "");
    EXPECT_NE(
        refusal(two + R"(,"graph":{"nodes":[{"kind":"device","index":0,"name":"a"},{"kind":"nic","name":"a"}]}})"), "");
    EXPECT_NE(refusal(two + R"(,"graph":{"nodes":[{"kind":"device","index":9,"name":"a"}]}})"), "");
    EXPECT_NE(refusal("{\"devices\":" + std::string(100'000, '[')), "");
}

TEST(OwnJson, TextOfAnyBytesIsStillADocument) {
    auto machine = full();
    machine.notices[0].text = "\x1b[4m \xff\xfe \n \"";
    EXPECT_EQ(refusal(write::json(machine)), "");
}

}  // namespace
}  // namespace peerlane::test
