// Several descriptions of one machine become one.

#include <peerlane/merge.hpp>

#include "machine/read/grammar.hpp"
#include "unit/machine/support.hpp"

namespace peerlane {
namespace {

using test::classes;
using test::has_notice;
using test::read;

std::string const topo = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPHB\t0-7\t0\nGPU1\tPHB\t X \t0-7\t0\n";
std::string const p2p = "nvidia-smi topo -p2p r\n\tGPU0\tGPU1\nGPU0\tX\tOK\nGPU1\tCNS\tX\n";

/// p2pBandwidthLatencyTest of two devices at these buses.
std::string rates(const std::string& bus0, const std::string& bus1, const std::string& one = "11.00",
                  const std::string& two = "22.00") {
    return "Device: 0, Acme, pciBusID: " + bus0 +
           ", pciDeviceID: 0, pciDomainID:0\nDevice: 1, Acme, pciBusID: " + bus1 +
           ", pciDeviceID: 0, pciDomainID:0\nUnidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D  "
           "   0      1\n     0 900.00  " +
           one + "\n     1  " + two + " 901.00\n";
}
std::string list(const std::string& model, int count, const std::string& prefix = "GPU-") {
    std::string text;
    for (int i = 0; i < count; ++i) {
        text += "GPU " + std::to_string(i) + ": " + model + " (UUID: " + prefix + std::to_string(i) + ")\n";
    }
    return text;
}

std::string refused(std::vector<Machine> parts) {
    try {
        merge(std::move(parts));
        return {};
    } catch (const InputError& error) {
        return error.what();
    }
}

TEST(Merge, ThreeFactsOfEveryPair) {
    auto const machine = merge({read(topo, "topo"), read(p2p, "p2p"), read(rates("1", "2"), "rates")});
    auto const& pair = *machine.pair(0, 1);
    EXPECT_EQ(pair.path, PathClass::phb);
    EXPECT_EQ(pair.claims.read, "OK");
    EXPECT_EQ(pair.claim, true);
    EXPECT_EQ(pair.measured.write_gbs, 11.0);
    EXPECT_EQ(machine.pair(1, 0)->claim, false);
    EXPECT_EQ(machine.devices[0].bus, "0000:01:00.0");
    EXPECT_EQ(machine.devices[0].numa, 0);
    EXPECT_EQ(machine.origin.files, (std::vector<std::string>{"topo", "p2p", "rates"}));
    EXPECT_TRUE(has_notice(machine, "joined-by-index"));
}

TEST(Merge, OrderOfFilesDoesNotChangeTheMachine) {
    std::vector<Machine> const parts{read(topo, "a"), read(p2p, "b"), read(rates("1", "2"), "c"),
                                     read(list("Acme", 2), "d")};
    auto const first = merge(parts);
    std::vector<std::size_t> order{0, 1, 2, 3};
    while (std::next_permutation(order.begin(), order.end())) {
        std::vector<Machine> shuffled;
        for (auto const i : order) {
            shuffled.push_back(parts[i]);
        }
        auto const machine = merge(shuffled);
        EXPECT_EQ(machine.devices, first.devices);
        EXPECT_EQ(machine.pairs, first.pairs);
    }
}

// unslothai/unsloth#6352: the runtime numbers the fastest first, the management library by bus.
TEST(Merge, JoinedByAddressNotByNumber) {
    auto const machine =
        merge({read(rates("41", "01"), "runtime"), read(rates("01", "41", "33.00", "44.00"), "other")});
    EXPECT_EQ(machine.devices[0].bus, "0000:41:00.0") << "numbers of the first part";
    EXPECT_TRUE(has_notice(machine, "numbered-differently"));
    EXPECT_TRUE(has_notice(machine, "rates-differ")) << "0 to 1 of one file is 1 to 0 of the other: 11 and 44";
    EXPECT_FALSE(has_notice(machine, "joined-by-index"));
}

TEST(Merge, JoinedByUuid) {
    auto const swapped =
        "GPU 0: Acme (UUID: GPU-1)\n Link 0: 25 GB/s\nGPU 1: Acme (UUID: GPU-0)\n Link 0: 25 GB/s\n Link 1: 25 GB/s\n";
    auto const machine = merge({read(list("Acme", 2), "list"), read(swapped, "links")});
    EXPECT_EQ(machine.devices[0].nvlinks, 2);
    EXPECT_EQ(machine.devices[1].nvlinks, 1);
}

TEST(Merge, IdentityOfOneFileHelpsToJoinAnother) {
    // The list knows UUIDs, the links too; the topology knows neither and is joined by number to what is known by then.
    auto const machine = merge({read(topo, "topo"), read("GPU 0: Acme (UUID: GPU-0)\n Link 0: 25 GB/s\n", "links"),
                                read(list("Acme", 2), "list")});
    EXPECT_EQ(machine.devices[0].nvlinks, 1);
    EXPECT_EQ(machine.devices[1].uuid, "GPU-1");
    EXPECT_EQ(classes(machine), "X PHB / PHB X");
}

TEST(Merge, AnotherMachineIsRefused) {
    EXPECT_NE(refused({read(rates("1", "2"), "a"), read(rates("3", "4"), "b")})
                  .find("b: 0000:03:00.0 is no device of the other files"),
              std::string::npos);
    EXPECT_NE(refused({read(rates("1", "2"), "a"), read(rates("1", "4"), "b")}), "");
    auto const three = "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tSYS\tSYS\nGPU1\tSYS\tX\tSYS\nGPU2\tSYS\tSYS\tX\n";
    EXPECT_NE(refused({read(three, "three"), read(topo, "two")}).find("2 devices here, 3 elsewhere"),
              std::string::npos);
}

TEST(Merge, AVisibleSubsetIsJoinedByIdentity) {
    auto machine = merge({read("Device: 0, Acme, pciBusID: 2, pciDeviceID: 0, pciDomainID:0\n[P2P (Peer-to-Peer) GPU "
                               "Bandwidth Latency Test]\n",
                               "one"),
                          read(rates("1", "2"), "two")});
    EXPECT_EQ(machine.devices.size(), 2U);
    EXPECT_EQ(machine.devices[1].bus, "0000:02:00.0");
}

TEST(Merge, FactsAboutFewerDevicesAreFine) {
    auto const machine =
        merge({read(topo, "topo"),
               read("GPU 0: Acme (UUID: GPU-0)\n Link 0: Remote Device 00000000:07:00.0: Link 40\n", "remote")});
    EXPECT_EQ(machine.devices[0].nvlinks, 1);
    EXPECT_TRUE(machine.graph.empty()) << "a fabric without a way to the host would hide the host";
    EXPECT_EQ(classes(machine), "X PHB / PHB X");
}

TEST(Merge, FarEndsAreNamedByAddresses) {
    auto const remote =
        "GPU 0: Acme (UUID: GPU-0)\n Link 0: Remote Device 00000000:02:00.0: Link 1\n Link 1: Remote Device "
        "00000000:02:00.0: Link 0\n"
        "GPU 1: Acme (UUID: GPU-1)\n Link 0: Remote Device 00000000:01:00.0: Link 1\n Link 1: Remote Device "
        "00000000:01:00.0: Link 0\n";
    auto const machine = merge({read(remote, "remote"), read(rates("1", "2"), "rates"), read(topo, "topo")});
    EXPECT_EQ(classes(machine), "X NV2 / NV2 X");
    EXPECT_TRUE(has_notice(machine, "paths-differ")) << "the table shows PHB where links are";
}

TEST(Merge, LinkRatesGiveNominalRates) {
    auto const nv = "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n";
    auto const links = "GPU 0: Acme (UUID: GPU-0)\n Link 0: 25 GB/s\nGPU 1: Acme (UUID: GPU-1)\n Link 0: 20 GB/s\n";
    EXPECT_NEAR(merge({read(nv, "a"), read(links, "b")}).pair(0, 1)->nominal_gbs.value(), 80, 1e-9);
    auto const by_part = merge({read(nv, "a"), read(list("NVIDIA RTX A6000", 2), "b")});
    EXPECT_NEAR(by_part.pair(0, 1)->nominal_gbs.value(), 56.25, 1e-9);
}

TEST(Merge, ADriversNoWinsAndIsTold) {
    auto const yes = "Device=0 CAN Access Peer Device=1\nDevice=1 CAN Access Peer Device=0\n";
    auto const machine = merge({read(yes, "test"), read(p2p, "driver")});
    EXPECT_EQ(machine.pair(1, 0)->claim, false);
    EXPECT_TRUE(has_notice(machine, "claims-differ"));
}

TEST(Merge, OneModelInTwoSpellingsIsOneModel) {
    auto a = read(list("NVIDIA A100-SXM4-40GB", 2), "a");
    auto b = a;
    b.devices[0].model = "A100 SXM4 40GB";
    b.devices[1].model = "Tesla T4";
    b.origin.files = {"b"};
    auto const machine = merge({b, a});
    EXPECT_EQ(machine.devices[0].model, "NVIDIA A100-SXM4-40GB");
    EXPECT_TRUE(has_notice(machine, "facts-differ"));
}

TEST(Merge, InstancesAndRefusedLinksOfOneDevice) {
    // NVIDIA/k8s-device-plugin#296 and others: the matrix does not show instances, the list does.
    auto const machine =
        merge({read("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-7\t0\n", "topo"),
               read("GPU 0: Acme (UUID: GPU-0)\n  MIG 1g.10gb     Device  0: (UUID: MIG-0)\n", "list"),
               read("GPU 0: Acme (UUID: GPU-0)\nNvlink queries are not supported for Devices in MIG mode\n", "links")});
    EXPECT_EQ(machine.devices[0].mig, true);
    EXPECT_EQ(machine.devices[0].mig_instances, 1);
    EXPECT_EQ(machine.devices[0].nvlink_state, "refused-mig");
    EXPECT_TRUE(has_notice(machine, "mig-hidden"));
}

TEST(Contradictions, ModuleWithoutNvlinkCells) {
    // NVIDIA/nvbandwidth#53
    auto const module = merge({read(topo, "topo"), read(list("NVIDIA A100-SXM4-40GB", 2), "list")});
    EXPECT_TRUE(has_notice(module, "model-contradicts-matrix"));
    auto const card = merge({read(topo, "topo"), read(list("NVIDIA A100-PCIE-40GB", 2), "list")});
    EXPECT_FALSE(has_notice(card, "model-contradicts-matrix")) << "a card's bridge may be missing";
    auto const hidden =
        merge({read("nvidia-smi topo -mp\n" + topo, "topo"), read(list("NVIDIA A100-SXM4-40GB", 2), "list")});
    EXPECT_EQ(has_notice(hidden, "nvlink-hidden"), !has_notice(hidden, "model-contradicts-matrix"));
    auto const none = merge(
        {read("\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n", "topo"), read(list("NVIDIA GeForce RTX 4090", 2), "list")});
    EXPECT_TRUE(has_notice(none, "model-contradicts-matrix"));
}

TEST(Contradictions, RatesAndDirections) {
    auto machine = read::read_grammar("sim:gpu=2,link=gen3x8");
    machine.pair(0, 1)->measured.write_gbs = 52;
    note_contradictions(machine);
    EXPECT_TRUE(has_notice(machine, "reading-below-measured"));  // NVIDIA/nccl#1614
    EXPECT_TRUE(has_notice(machine, "one-direction-measured"));
    auto const count = machine.notices.size();
    note_contradictions(machine);
    EXPECT_EQ(machine.notices.size(), count) << "told once";
    EXPECT_EQ(machine.pair(0, 1)->measured.write_gbs, 52);
}

TEST(Contradictions, LinkRateOfAnotherGeneration) {
    EXPECT_TRUE(has_notice(merge({read("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n Link 0: 20 GB/s\n", "a")}),
                           "link-speed-contradicts-part"));
    EXPECT_FALSE(has_notice(merge({read("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n Link 0: 26.562 GB/s\n", "a")}),
                            "link-speed-contradicts-part"));
}

TEST(MeasuredClass, AGuestsClassYieldsToARateThatNoPcieCarries) {
    // NVIDIA/nccl#1674, #1464
    auto guest = read(topo, "topo");
    guest.origin.virtualized = true;
    auto const machine = merge({guest, read(rates("1", "2", "170.00", "171.00"), "rates")});
    EXPECT_EQ(machine.pair(0, 1)->path, PathClass::nv);
    EXPECT_FALSE(machine.pair(0, 1)->nvlinks) << "nobody counted links";
    EXPECT_TRUE(has_notice(machine, "measured-class"));
    auto const slow = merge({guest, read(rates("1", "2"), "rates")});
    EXPECT_EQ(slow.pair(0, 1)->path, PathClass::phb);
}

TEST(WithFabric, JoinsEveryPairAndSaysSo) {
    auto const machine = with_fabric(read::read_grammar("sim:gpu=4,socket=2"), "nvlink:18@26.56GB/s");
    for (auto const& pair : machine.pairs) {
        EXPECT_EQ(pair.path, PathClass::nv);
        EXPECT_EQ(pair.nvlinks, 18);
        EXPECT_NEAR(pair.nominal_gbs.value(), 478.08, 1e-9);
    }
    EXPECT_TRUE(has_notice(machine, "fabric-given"));
    EXPECT_EQ(machine.graph.nodes.back().kind, NodeKind::nvswitch);
    auto const pairs_only = with_fabric(read(topo), "nvlink:4");
    EXPECT_EQ(pairs_only.pair(0, 1)->nvlinks, 4);
    EXPECT_FALSE(pairs_only.pair(0, 1)->nominal_gbs);
    EXPECT_TRUE(pairs_only.graph.empty());
    EXPECT_EQ(classes(with_fabric(read(topo), "xgmi:1@50GB/s")), "X XGMI1 / XGMI1 X");
}

TEST(WithFabric, RefusesWhatIsNoFabric) {
    for (auto const* text : {"", "nvlink", "nvlink:", "nvlink:0", "nvlink:x", "nvlink:18@", "nvlink:18@26.56",
                             "nvlink:18@-1GB/s", "ethernet:1@1GB/s", "nvlink:99999999999@1GB/s"}) {
        EXPECT_THROW((void)with_fabric(read(topo), text), std::invalid_argument) << text;
    }
}

TEST(Merge, NothingIsNoMachine) {
    EXPECT_THROW((void)merge({}), std::invalid_argument);
}

TEST(Paste, OutputsOfSeveralCommandsInOneText) {
    auto const text = "$ nvidia-smi -L\n" + list("NVIDIA RTX A6000", 2) + "\n$ nvidia-smi topo -m\n" + topo +
                      "\nLegend:\n  X = Self\n\n$ " + p2p + "\n" + rates("1", "2");
    auto const machine = read(text);
    EXPECT_EQ(classes(machine), "X PHB / PHB X");
    EXPECT_EQ(machine.pair(0, 1)->claims.read, "OK");
    EXPECT_EQ(machine.pair(0, 1)->measured.write_gbs, 11.0);
    EXPECT_EQ(machine.devices[1].uuid, "GPU-1");
    EXPECT_EQ(machine.origin.files, std::vector<std::string>{"input"});
    EXPECT_TRUE(has_notice(machine, "several-outputs"));
    EXPECT_FALSE(has_notice(machine, "joined-by-index"));
}

TEST(Paste, AnOutputThatCannotBeJoinedIsLeftOut) {
    auto const machine = read(topo + "\n" + "Device=0 CAN Access Peer Device=3\n");
    EXPECT_EQ(machine.devices.size(), 2U);
    EXPECT_TRUE(has_notice(machine, "output-left-out"));
}

TEST(MergeShared, ThreeFilesOfOnePair) {
    PEERLANE_SHARED_MACHINE(matrix, "topo-m-2x6000ada-wrx90-phb.txt");
    PEERLANE_SHARED_MACHINE(measured, "p2pbw-2x6000ada-wrx90.txt");
    auto const machine = merge({matrix, measured});
    EXPECT_EQ(machine.pair(0, 1)->path, PathClass::phb);
    EXPECT_EQ(machine.pair(0, 1)->measured.write_gbs, 26.32);
    EXPECT_EQ(machine.pair(0, 1)->claim, true);
}

// NVIDIA/NVSentinel#1481: a card without a bridge is no defect.
TEST(MergeShared, CardsWithoutABridge) {
    PEERLANE_SHARED_MACHINE(matrix, "topo-m-2xa100pcie-no-bridge.txt");
    PEERLANE_SHARED_MACHINE(links, "nvlink-s-a100pcie-all-inactive.txt");
    auto const machine = merge({matrix, links});
    EXPECT_EQ(machine.devices[0].nvlink_state, "inactive");
    EXPECT_EQ(machine.pair(0, 1)->path, PathClass::node);
    EXPECT_FALSE(has_notice(machine, "model-contradicts-matrix"));
}

}  // namespace
}  // namespace peerlane
