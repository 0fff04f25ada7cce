// hwloc XML of versions 2 and 3 and its console text.

#include "machine/read/hwloc_objects.hpp"
#include "unit/machine/support.hpp"

namespace peerlane {
namespace {

using test::classes;
using test::has_notice;
using test::read;
using test::refusal;

std::string device(const std::string& bus, const std::string& type, const std::string& inner = "",
                   const std::string& more = "") {
    static int gp = 1000;
    return R"(<object type="PCIDev" gp_index=")" + std::to_string(++gp) + R"(" pci_busid=")" + bus + R"(" pci_type=")" +
           type + R"( [0000:0000] a1" pci_link_speed="31.507692" )" + more + ">" + inner + "</object>";
}
std::string gpu(const std::string& bus, const std::string& inner = "") {
    return device(bus, "0302 [10de:ffff]", inner);
}
std::string bridge(const std::string& bus, const std::string& inner) {
    return R"(<object type="Bridge" bridge_type="1-1" pci_busid=")" + bus +
           R"(" pci_type="0604 [10b5:8749] [0000:0000] ca" pci_link_speed="15.753846">)" + inner + "</object>";
}
std::string host(const std::string& inner) {
    return R"(<object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[00-ff]">)" + inner + "</object>";
}
std::string package(int number, const std::string& inner) {
    auto const set = number == 0 ? R"("0x00000001" cpuset="0x0000000f")" : R"("0x00000002" cpuset="0x000000f0")";
    return R"(<object type="Package" os_index=")" + std::to_string(number) + R"(" nodeset=)" + set +
           R"(><object type="NUMANode" os_index=")" + std::to_string(number) + R"(" nodeset=)" + set +
           R"( local_memory="1024"/>)" + inner + "</object>";
}
std::string topology(const std::string& inner, const std::string& after = "", const std::string& version = "2.0") {
    return "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"" + version +
           "\">\n<object type=\"Machine\" os_index=\"0\" nodeset=\"0x00000003\" cpuset=\"0x000000ff\">" + inner +
           "</object>\n" + after + "</topology>\n";
}

/// Root port, switch with one port up and two down, a GPU below each.
std::string switch_with_two(const std::string& hex) {
    return bridge(
        "0000:" + hex + "0:01.0",
        bridge("0000:" + hex + "1:00.0", bridge("0000:" + hex + "2:00.0", gpu("0000:" + hex + "3:00.0")) +
                                             bridge("0000:" + hex + "2:01.0", gpu("0000:" + hex + "4:00.0"))));
}

TEST(Hwloc, ClassesByBridgesHostsAndNumaNodes) {
    auto const machine =
        read(topology(package(0, host(switch_with_two("1") + bridge("0000:10:02.0", gpu("0000:18:00.0"))) +
                                     host(gpu("0000:20:00.0"))) +
                      package(1, host(gpu("0000:80:00.0")))));
    EXPECT_EQ(
        classes(machine),
        "X PIX PHB NODE SYS / PIX X PHB NODE SYS / PHB PHB X NODE SYS / NODE NODE NODE X SYS / SYS SYS SYS SYS X");
    EXPECT_EQ(machine.devices[2].bus, "0000:18:00.0");
    EXPECT_EQ(machine.devices[0].numa, 0);
    EXPECT_EQ(machine.devices[4].numa, 1);
    EXPECT_EQ(machine.devices[4].cpu_affinity, "4-7");
    EXPECT_NEAR(machine.pair(0, 1)->nominal_gbs.value(), 31.5, 0.01);
    EXPECT_NEAR(machine.pair(0, 2)->nominal_gbs.value(), 15.75, 0.01) << "the switch's way up is narrower";
}

TEST(Hwloc, TwoLevelsOfSwitchesArePxb) {
    auto const leaf = [](const std::string& hex) {
        return bridge("0000:" + hex + "1:00.0", bridge("0000:" + hex + "2:00.0", gpu("0000:" + hex + "3:00.0")));
    };
    auto const machine = read(topology(
        package(0, host(bridge("0000:00:01.0", bridge("0000:01:00.0", bridge("0000:02:00.0", leaf("4")) +
                                                                          bridge("0000:02:01.0", leaf("5"))))))));
    EXPECT_EQ(classes(machine), "X PXB / PXB X");
}

TEST(Hwloc, DisplayChipsOfServersAreNoGpus) {
    auto const machine = read(topology(package(
        0,
        host(
            device("0000:01:00.0", "0300 [1a03:2000]") + device("0000:02:00.0", "0300 [102b:0532]") +
            device("0000:03:00.0", "0300 [1013:00b8]") + device("0000:04:00.0", "0300 [1002:515e]") +
            device("0000:05:00.0", "0300 [8086:1912]") +
            // a compute library's device hung on a display chip by mistake
            device(
                "0000:06:00.0", "0300 [1d0f:1111]",
                R"(<object type="OSDev" name="opencl0d2" osdev_type="5"><info name="OpenCLDeviceType" value="GPU"/><info name="GPUModel" value="Tesla V100"/></object>)") +
            gpu("0000:07:00.0") + device("0000:08:00.0", "0380 [1002:74a1]")))));
    ASSERT_EQ(machine.devices.size(), 2U);
    EXPECT_EQ(machine.devices[0].bus, "0000:07:00.0");
    EXPECT_EQ(machine.devices[1].bus, "0000:08:00.0");
}

TEST(Hwloc, NoGpuIsANoticeNotAnError) {
    auto const machine = read(topology(package(
        0,
        host(device(
            "0000:01:00.0", "0200 [15b3:1017]",
            R"(<object type="OSDev" name="eth0" osdev_type="2"/><object type="OSDev" name="mlx5_0" osdev_type="3"/>)")))));
    EXPECT_TRUE(machine.devices.empty());
    EXPECT_TRUE(has_notice(machine, "no-gpu"));
    ASSERT_EQ(machine.nics.size(), 1U);
    EXPECT_EQ(machine.nics[0].name, "mlx5_0") << "the fabric's name before the network's";
}

TEST(Hwloc, Version3NamesKindsByBits) {
    auto const machine = read(topology(
        package(
            0,
            host(
                device(
                    "0000:01:00.0", "0207 [15b3:1017]",
                    R"(<object type="OSDev" name="ib0" osdev_type="16"/><object type="OSDev" name="mlx5_3" osdev_type="48"/>)") +
                gpu("0000:02:00.0",
                    R"(<object type="OSDev" name="cuda0" subtype="CUDA" osdev_type="12"><info name="GPUModel" value="Acme"/><info name="CUDAGlobalMemorySize" value="1024KiB"/></object>)"))),
        "", "3.0"));
    EXPECT_EQ(machine.nics[0].name, "mlx5_3");
    EXPECT_EQ(machine.nics[0].paths[0], PathClass::phb);
    EXPECT_EQ(machine.devices[0].model, "Acme");
    EXPECT_EQ(machine.devices[0].memory_bytes, 1048576U);
    EXPECT_NE(refusal(topology("", "", "9.0")).find("version 9.0"), std::string::npos);
}

TEST(Hwloc, OwnNumbersOfTheFileAreKept) {
    auto const nvml = [](int n) {
        return R"(<object type="OSDev" name="nvml)" + std::to_string(n) + R"(" osdev_type="1"/>)";
    };
    auto const machine = read(topology(package(0, host(gpu("0000:01:00.0", nvml(1)) + gpu("0000:02:00.0", nvml(0))))));
    EXPECT_EQ(machine.devices[0].bus, "0000:02:00.0");
    auto const partly = read(topology(package(0, host(gpu("0000:01:00.0", nvml(1)) + gpu("0000:02:00.0")))));
    EXPECT_EQ(partly.devices[0].bus, "0000:01:00.0") << "document order unless every GPU has a number";
}

TEST(Hwloc, FlatGuestBus) {
    auto const machine =
        read(topology(package(0, "") + package(1, "") +
                      host(device("0000:00:01.3", "0000 [8086:7113]") + gpu("0000:00:1a.0") + gpu("0000:00:1b.0"))));
    EXPECT_EQ(classes(machine), "X PHB / PHB X");
    EXPECT_EQ(machine.origin.virtualized, true);
    EXPECT_TRUE(has_notice(machine, "virtual"));
    EXPECT_TRUE(has_notice(machine, "flat-tree"));
    EXPECT_TRUE(has_notice(machine, "numa-unknown"));
    EXPECT_FALSE(machine.devices[0].numa);
}

std::string const switched =
    R"(<distances2hetero nbobjs="4" kind="25" name="NVLinkBandwidth"><indexes length="9">OSDev:1 OSDev:2 </indexes>
<indexes length="9">PCIDev:3 PCIDev:4 </indexes><u64values length="1">0 0 50000 25000 0 0 50000 </u64values>
<u64values length="1">25000 50000 50000 0 0 25000 25000 0 0 </u64values></distances2hetero>)";

std::string two_with_switches(const std::string& matrix) {
    auto const nvml = [](int n) {
        return R"(<object type="OSDev" gp_index=")" + std::to_string(n + 1) + R"(" name="nvml)" + std::to_string(n) +
               R"(" osdev_type="1"/>)";
    };
    return topology(
        package(
            0,
            host(
                gpu("0000:01:00.0", nvml(0)) + gpu("0000:02:00.0", nvml(1)) +
                R"(<object type="PCIDev" gp_index="3" subtype="NVSwitch" pci_busid="0000:03:00.0" pci_type="0680 [10de:1ac2] [0000:0000] a1"/>)" +
                R"(<object type="PCIDev" gp_index="4" subtype="NVSwitch" pci_busid="0000:04:00.0" pci_type="0000 [0000:0000] [0000:0000] 00"/>)")),
        matrix);
}

TEST(Hwloc, BandwidthMatrixSplitOverElementsAndThroughSwitches) {
    auto const machine = read(two_with_switches(switched));
    EXPECT_EQ(classes(machine), "X NV3 / NV3 X");
    EXPECT_NEAR(machine.pair(0, 1)->nominal_gbs.value(), 75, 1e-9);
}

TEST(Hwloc, BandwidthMatrixBetweenDevices) {
    auto const machine = read(two_with_switches(
        R"(<distances2 type="OSDev" nbobjs="2" kind="25" name="NVLinkBandwidth" indexing="gp"><indexes length="3">1 2 </indexes><u64values length="3">900000 100000 75000 900000 </u64values></distances2>)"));
    EXPECT_EQ(machine.pair(0, 1)->nvlinks, 4);
    EXPECT_EQ(machine.pair(1, 0)->nvlinks, 3) << "directions are told apart, the diagonal is not a link";
}

TEST(Hwloc, AMatrixThatDoesNotFitIsRefused) {
    auto text = switched;
    text.replace(text.find("50000 25000"), 11, "50000");
    EXPECT_NE(refusal(two_with_switches(text)).find("15 values"), std::string::npos);
    text = switched;
    text.replace(text.find("25000"), 5, "fast ");
    EXPECT_NE(refusal(two_with_switches(text)).find("\"fast\" is no number"), std::string::npos);
}

TEST(Hwloc, GpuMemoryIsNoNodeOfTheHost) {
    auto const text = topology(
        R"(<object type="Package" os_index="0" nodeset="0xf0000001,,0x00000001"><object type="NUMANode" os_index="0" local_memory="9"/><object type="NUMANode" os_index="95" subtype="GPUMemory" local_memory="4096"><info name="PCIBusID" value="0000:01:00.0"/></object>)" +
        host(gpu("0000:01:00.0")) + "</object>");
    auto const machine = read(text);
    EXPECT_EQ(machine.devices[0].memory_numa, 95);
    EXPECT_EQ(machine.devices[0].memory_bytes, 4096U);
    EXPECT_EQ(machine.devices[0].numa, 0) << "the GPU's own memory does not make its place ambiguous";
}

TEST(Hwloc, Bitmaps) {
    EXPECT_EQ(read::bitmap_numbers("0x00000003,0x80000001", 99), (std::vector<int>{0, 31, 32, 33}));
    EXPECT_EQ(read::bitmap_numbers("0xf0000000,,0x0", 99), (std::vector<int>{92, 93, 94, 95}));
    EXPECT_EQ(read::bitmap_numbers("0xf...f,0x0", 34), (std::vector<int>{32, 33}));
    EXPECT_TRUE(read::bitmap_numbers("zebra", 99).empty());
    EXPECT_EQ(read::number_list({0, 1, 2, 7, 9, 10}), "0-2,7,9-10");
}

std::string const console = R"(Machine (P#0 total=64GiB)
  Package L#0 (P#0 total=32GiB)
    NUMANode L#0 (P#0 local=32GiB total=32GiB)
    NUMANode(GPUMemory) L#1 (P#255 local=16GiB total=16GiB PCIBusID=0004:05:00.0)
    L3Cache L#0 (size=10MiB)
      Core L#0 (P#0)
        PU L#0 (P#0)
    HostBridge L#0 (buses=0004:[05-05])
      PCI L#0 (busid=0004:05:00.0 id=0000:0000 class=0300(VGA))
  Package L#1 (P#8 total=32GiB)
    NUMANode L#2 (P#8 local=32GiB total=32GiB)
    HostBridge L#1 (buses=0007:[00-00])
      PCI L#1 (busid=0007:00:00.0 id=10de:1db1 class=0302(3D))
      PCI L#2 (busid=0007:01:00.0 id=1a03:2000 class=0300(VGA))
depth 0: 1 Machine (type #0)
)";

TEST(HwlocConsole, GpusByMemoryNodeOrMaker) {
    auto const machine = read(console);
    ASSERT_EQ(machine.devices.size(), 2U);
    EXPECT_EQ(machine.devices[0].bus, "0004:05:00.0");
    EXPECT_EQ(machine.devices[0].memory_numa, 255);
    EXPECT_EQ(machine.devices[0].numa, 0);
    EXPECT_EQ(machine.devices[1].numa, 8);
    EXPECT_EQ(classes(machine), "X SYS / SYS X");
}

TEST(HwlocShared, Dgx2IsOneFabricOfSixteen) {
    PEERLANE_SHARED_MACHINE(machine, "hwloc-nvidiaDGX2.xml");
    ASSERT_EQ(machine.devices.size(), 16U);
    for (auto const& pair : machine.pairs) {
        EXPECT_EQ(pair.path, PathClass::nv);
        EXPECT_EQ(pair.nvlinks, 6);
    }
}

TEST(HwlocShared, CloudMachines) {
    PEERLANE_SHARED_MACHINE(p5, "hwloc-aws-p5.48xl.xml");
    EXPECT_EQ(p5.devices.size(), 8U);
    EXPECT_EQ(p5.nics.size(), 64U);
    PEERLANE_SHARED_MACHINE(g6, "hwloc-aws-g6.48xl.xml");
    EXPECT_EQ(g6.devices.size(), 8U);
    PEERLANE_SHARED_MACHINE(p4d, "hwloc-aws-p4d.24xl.xml");
    EXPECT_EQ(p4d.devices.size(), 8U);
    PEERLANE_SHARED_MACHINE(c5n, "hwloc-aws-c5n.18xl.xml");
    EXPECT_TRUE(c5n.devices.empty());
    EXPECT_TRUE(has_notice(c5n, "no-gpu"));
    // NVIDIA/nccl#1298
    PEERLANE_SHARED_MACHINE(p3dn, "hwloc-aws-p3dn.24xl.xml");
    EXPECT_EQ(p3dn.devices.size(), 8U);
    EXPECT_TRUE(
        std::all_of(p3dn.pairs.begin(), p3dn.pairs.end(), [](const Pair& p) { return p.path == PathClass::phb; }));
    EXPECT_TRUE(has_notice(p3dn, "virtual") && has_notice(p3dn, "flat-tree"));
}

// Seeded changes that keep the meaning of XML: line ends, comments, quotes, blanks between attributes.
TEST(HwlocShared, MeaningKeptByChangesOfForm) {
    for (auto const* name :
         {"hwloc-nvidiaDGX2.xml", "hwloc-aws-p4d.24xl.xml", "hwloc-32em64t-2n8c2t-pci-wholeio.xml"}) {
        auto const text = test::shared_text(name);
        if (!text) {
            GTEST_SKIP() << name << " does not lie beside the project";
        }
        auto const plain = read(*text);
        std::string crlf, comments, quotes = *text, blanks;
        auto const start = text->find("<topology");
        for (std::size_t at = 0; at < text->size(); ++at) {
            char const c = (*text)[at];
            bool const between = c == '\n' && at > start && (*text)[at - 1] == '>' && at + 1 < text->size();
            crlf += c == '\n' ? "\r\n" : std::string(1, c);
            comments += between ? "\n<!-- <object type=\"PCIDev\"> -->" : std::string(1, c);
            blanks += c == ' ' ? "  " : std::string(1, c);
        }
        if (quotes.find('\'') == std::string::npos) {
            std::replace(quotes.begin(), quotes.end(), '"', '\'');
        }
        for (auto const& changed : {crlf, comments, quotes}) {
            auto const machine = read(changed);
            EXPECT_EQ(machine.devices, plain.devices) << name;
            EXPECT_EQ(machine.pairs, plain.pairs) << name;
            EXPECT_EQ(machine.graph, plain.graph) << name;
        }
        EXPECT_EQ(read(blanks).pairs, plain.pairs) << name;
        EXPECT_NE(refusal(text->substr(0, text->size() / 2)), "") << "cut";
    }
}

}  // namespace
}  // namespace peerlane
