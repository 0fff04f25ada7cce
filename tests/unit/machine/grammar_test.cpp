// The machine in one line: what it means, that its canonical form gives the same machine, and what it refuses.

#include <random>

#include "machine/read/grammar.hpp"
#include "unit/machine/support.hpp"

namespace peerlane {
namespace {

using read::canonical_grammar;
using read::read_grammar;
using test::classes;

std::string refused(const std::string& text) {
    try {
        read_grammar(text);
        return {};
    } catch (const InputError& error) {
        return error.reason();
    }
}

TEST(Grammar, TwoDevicesUnderOneHostBridge) {
    auto const machine = read_grammar("sim:gpu=2");
    EXPECT_EQ(classes(machine), "X PHB / PHB X");
    EXPECT_EQ(machine.origin.kind, "grammar");
    EXPECT_EQ(machine.origin.name, "sim:gpu=2");
    EXPECT_EQ(machine.devices[1].pcie_generation, 4);
    EXPECT_EQ(machine.devices[1].pcie_width, 16);
    EXPECT_NEAR(machine.pair(0, 1)->nominal_gbs.value(), 31.5, 0.02);
    EXPECT_FALSE(machine.pair(0, 1)->claim);
}

TEST(Grammar, SwitchesSocketsAndLink) {
    auto const machine = read_grammar("sim:gpu=8,switch=2,link=gen5x16,socket=2");
    for (auto const& pair : machine.pairs) {
        bool const same = pair.accessor / 4 == pair.owner / 4;
        EXPECT_EQ(pair.path, same ? PathClass::pix : PathClass::sys) << pair.accessor << ":" << pair.owner;
        EXPECT_NEAR(pair.nominal_gbs.value(), 63.0, 0.05);
    }
    EXPECT_EQ(machine.devices[3].numa, 0);
    EXPECT_EQ(machine.devices[4].numa, 1);
}

TEST(Grammar, SeveralHostBridgesOfOneNumaNode) {
    EXPECT_EQ(classes(read_grammar("sim:gpu=4,host=2")),
              "X PHB NODE NODE / PHB X NODE NODE / NODE NODE X PHB / NODE NODE PHB X");
}

TEST(Grammar, NarrowUplinkIsTheNominalRateAcrossSwitches) {
    auto const machine = read_grammar("sim:gpu=4,switch=2,link=gen4x16,uplink=gen3x8");
    EXPECT_NEAR(machine.pair(0, 1)->nominal_gbs.value(), 31.5, 0.02);
    EXPECT_NEAR(machine.pair(0, 2)->nominal_gbs.value(), 7.88, 0.01);
    EXPECT_EQ(machine.pair(0, 2)->path, PathClass::phb);
}

TEST(Grammar, FabricShapes) {
    EXPECT_EQ(classes(read_grammar("sim:gpu=4,socket=2,nvlink=pairs:12@25GB/s")),
              "X NV12 SYS SYS / NV12 X SYS SYS / SYS SYS X NV12 / SYS SYS NV12 X");
    EXPECT_EQ(classes(read_grammar("sim:gpu=3,nvlink=mesh:2")), "X NV2 NV2 / NV2 X NV2 / NV2 NV2 X");
    EXPECT_EQ(classes(read_grammar("sim:gpu=4,nvlink=ring")),
              "X NV1 PHB NV1 / NV1 X NV1 PHB / PHB NV1 X NV1 / NV1 PHB NV1 X");
    EXPECT_EQ(classes(read_grammar("sim:gpu=3,nvlink=1-2+1-0:3")), "X NV3 PHB / NV3 X NV1 / PHB NV1 X");
    EXPECT_EQ(classes(read_grammar("sim:gpu=2,xgmi=mesh")), "X XGMI1 / XGMI1 X");
    auto const all = read_grammar("sim:gpu=8,nvlink=switch:18@26.56GB/s");
    for (auto const& pair : all.pairs) {
        EXPECT_EQ(pair.path, PathClass::nv);
        EXPECT_EQ(pair.nvlinks, 18);
        EXPECT_NEAR(pair.nominal_gbs.value(), 478.08, 1e-6);
    }
    EXPECT_EQ(all.devices[7].nvlinks, 18);
}

TEST(Grammar, CubeIsTheHybridMesh) {
    auto const machine = read_grammar("sim:gpu=8,socket=2,nvlink=cube");
    int joined = 0;
    for (auto const& pair : machine.pairs) {
        joined += pair.path == PathClass::nv ? 1 : 0;
    }
    EXPECT_EQ(joined, 2 * (6 + 6 + 4));
    EXPECT_EQ(machine.pair(0, 4)->path, PathClass::nv);
    EXPECT_EQ(machine.pair(0, 5)->path, PathClass::sys);
    EXPECT_EQ(machine.devices[0].nvlinks, 4);
}

TEST(Grammar, ModelGivesTheLinkRateAndUnknownStaysUnknown) {
    EXPECT_NEAR(read_grammar("sim:gpu=2,model=NVIDIA_H200,nvlink=switch:18").pair(0, 1)->nominal_gbs.value(), 478, 1);
    EXPECT_FALSE(read_grammar("sim:gpu=2,nvlink=switch:18").pair(0, 1)->nominal_gbs);
    EXPECT_EQ(read_grammar("sim:gpu=1,model=NVIDIA_H200").devices[0].model, "NVIDIA H200");
}

TEST(Grammar, ClaimIsOnlyWhatIsSaid) {
    EXPECT_EQ(read_grammar("sim:gpu=2,p2p=no").pair(0, 1)->claim, false);
    EXPECT_EQ(read_grammar("sim:gpu=2,p2p=yes").pair(1, 0)->claim, true);
}

TEST(Grammar, CanonicalFormLeavesDefaultsOutAndOrdersKeys) {
    EXPECT_EQ(canonical_grammar("sim:socket=2, numa=2,link=gen4x16,gpu=8,switch=0"), "sim:gpu=8,socket=2");
    EXPECT_EQ(canonical_grammar("sim:nvlink=2-1+0-1:2,gpu=3"), "sim:gpu=3,nvlink=0-1:2+1-2");
    EXPECT_EQ(canonical_grammar("sim:gpu=4,switch=2,uplink=gen4x16"), "sim:gpu=4,switch=2");
    EXPECT_EQ(canonical_grammar("sim:gpu=2,nvlink=pairs:1@25.0GB/s"), "sim:gpu=2,nvlink=pairs@25GB/s");
}

TEST(Grammar, RandomLinesRoundTrip) {
    unsigned const seed = 20261130;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    auto const pick = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
    for (int i = 0; i < 500; ++i) {
        auto const sockets = pick(1, 3), numas = sockets * pick(1, 2), gpus = 2 * pick(2, 8);
        std::string text = "sim:gpu=" + std::to_string(gpus) + ",socket=" + std::to_string(sockets) +
                           ",numa=" + std::to_string(numas) + ",host=" + std::to_string(numas * pick(1, 3)) +
                           ",switch=" + std::to_string(pick(0, gpus)) + ",link=gen" + std::to_string(pick(1, 7)) + "x" +
                           std::to_string(1 << pick(0, 5));
        char const* const fabrics[] = {"",
                                       ",nvlink=pairs:3",
                                       ",xgmi=mesh@50GB/s",
                                       ",nvlink=ring:2@20.25GB/s",
                                       ",nvlink=switch:6",
                                       ",nvlink=0-3:2+1-2"};
        text += fabrics[pick(0, 5)];
        text += pick(0, 1) == 1 ? ",model=Some_Part" : "";
        auto const canonical = canonical_grammar(text);
        EXPECT_EQ(canonical_grammar(canonical), canonical) << text;
        EXPECT_EQ(read_grammar(canonical), read_grammar(text)) << text;
        EXPECT_LE(canonical.size(), text.size());
    }
}

TEST(Grammar, RefusesWithTheKeyAndWhatItMayBe) {
    EXPECT_EQ(refused("sim:socket=2"), "gpu=N is missing");
    EXPECT_NE(refused("sim:gpu=0").find("1 to 512"), std::string::npos);
    EXPECT_NE(refused("sim:gpu=2,gpu=2").find("twice"), std::string::npos);
    EXPECT_NE(refused("sim:gpu=2,color=red").find("no such key"), std::string::npos);
    EXPECT_NE(refused("sim:gpu=2,link=gen9x16").find("genGxW"), std::string::npos);
    EXPECT_NE(refused("sim:gpu=2,link=gen4x5").find("lanes"), std::string::npos);
    EXPECT_NE(refused("sim:gpu=3,nvlink=pairs").find("pairs of 3"), std::string::npos);
    EXPECT_NE(refused("sim:gpu=2,nvlink=0-2").find("no GPU 2"), std::string::npos);
    EXPECT_NE(refused("sim:gpu=2,nvlink=0-1,xgmi=0-1").find("not both"), std::string::npos);
    EXPECT_NE(refused("sim:gpu=2,nvlink=0-1@25").find("GB/s"), std::string::npos);
    EXPECT_NE(refused("sim:gpu=2,socket=2,numa=3").find("do not divide"), std::string::npos);
    EXPECT_NE(refused("sim:gpu=2,switch=3").find("3 switches"), std::string::npos);
    EXPECT_NE(refused("sim:gpu"), "");
    EXPECT_NE(refused("sim:"), "");
    EXPECT_NE(refused("sim:gpu=99999999999999999999"), "");
    EXPECT_NE(refused("sim:gpu=2,nvlink=0-1:99999"), "");
}

}  // namespace
}  // namespace peerlane
