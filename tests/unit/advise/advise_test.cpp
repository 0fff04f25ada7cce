// Which devices, and which settings of which software, from verdicts that are written down.

#include <algorithm>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peerlane/advise.hpp>
#include <peerlane/named.hpp>

namespace peerlane {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A machine whose every pair is right and faster than the host's path.
struct Scene {
    Machine machine;
    Verdicts verdicts;

    explicit Scene(const std::string& name) : Scene(load_machine(name).machine()) {}
    explicit Scene(Machine of) : machine(std::move(of)) {
        for (auto const& pair : machine.pairs) {
            PairVerdict verdict{pair.accessor, pair.owner};
            for (auto const check : all_checks) {
                verdict[check].result = Result::ok;
            }
            for (auto const check : {Check::push, Check::pull, Check::store, Check::load}) {
                verdict[check].gbs = 50;
            }
            verdicts.pairs.push_back(verdict);
            verdicts.control.push_back({pair.accessor, pair.owner, {Result::ok}});
            verdicts.control.back().staged.gbs = 20;
        }
        judge(verdicts);
    }

    Scene& breaks(int accessor, int owner, Check check, Result result = Result::wrong) {
        (*verdicts.pair(accessor, owner))[check].result = result;
        judge(verdicts);
        return *this;
    }
    /// By design: the driver says no both ways.
    Scene& denies(int a, int b) {
        for (auto* const pair : {verdicts.pair(a, b), verdicts.pair(b, a)}) {
            for (auto const check : all_checks) {
                (*pair)[check] = CheckResult{Result::skipped};
            }
            (*pair)[Check::claim].result = Result::no;
        }
        judge(verdicts);
        return *this;
    }
    Scene& slow(int source, int destination) {
        for (auto* const pair : {verdicts.pair(source, destination), verdicts.pair(destination, source)}) {
            for (auto const check : {Check::push, Check::pull, Check::store, Check::load}) {
                (*pair)[check].gbs = 4;
            }
        }
        judge(verdicts);
        return *this;
    }
    [[nodiscard]] Advice for_software(Software software, int count = 0) const {
        return advise(machine, verdicts, software, count);
    }
};

/// "NAME=VALUE" of each setting beside those that every advice has.
std::vector<std::string> settings(const Advice& advice) {
    std::vector<std::string> words;
    for (auto const& setting : advice.settings) {
        if (setting.name != "CUDA_DEVICE_ORDER" && setting.name != "CUDA_VISIBLE_DEVICES") {
            words.push_back(setting.value.empty() ? setting.name : setting.name + "=" + setting.value);
        }
    }
    return words;
}

const AdvisedSetting& setting(const Advice& advice, const std::string& name) {
    auto const found = std::find_if(advice.settings.begin(), advice.settings.end(),
                                    [&](const AdvisedSetting& one) { return one.name == name; });
    if (found == advice.settings.end()) {
        throw std::out_of_range(name);
    }
    return *found;
}

/// Four devices in a row of four path classes seen from device 0: PIX to 1, PHB to 2, SYS to 3 and from each other.
Machine in_a_row() {
    Machine machine;
    for (int id = 0; id < 4; ++id) {
        Device device;
        device.id = id;
        machine.devices.push_back(device);
    }
    complete_pairs(machine);
    auto const set = [&](int a, int b, PathClass path) { machine.pair(a, b)->path = machine.pair(b, a)->path = path; };
    set(0, 1, PathClass::pix);
    set(0, 2, PathClass::phb);
    set(1, 2, PathClass::node);
    for (int near = 0; near < 3; ++near) {
        set(near, 3, PathClass::sys);
    }
    return machine;
}

TEST(Advise, FourCleanDevicesOfEightWithOneBadPair) {
    for (auto const& [a, b] : {std::pair(0, 1), std::pair(2, 5), std::pair(6, 7)}) {
        auto const advice = Scene("h100-8").breaks(a, b, Check::store).for_software(Software::vllm, 4);
        EXPECT_THAT(advice.devices, SizeIs(4));
        bool const both = std::count(advice.devices.begin(), advice.devices.end(), a) != 0 &&
                          std::count(advice.devices.begin(), advice.devices.end(), b) != 0;
        EXPECT_FALSE(both);
        EXPECT_TRUE(advice.clean());
        EXPECT_THAT(advice.refuses, IsEmpty());
        EXPECT_THAT(settings(advice), ElementsAre("--tensor-parallel-size=4", "VLLM_SKIP_P2P_CHECK=0"));
        EXPECT_EQ(setting(advice, "CUDA_DEVICE_ORDER").value, "PCI_BUS_ID");
    }
}

TEST(Advise, WithoutEnoughCleanDevicesWhatFailedIsAvoidedAndAFewerNamed) {
    auto const advice = Scene("h100-8").breaks(2, 5, Check::load).for_software(Software::vllm);
    EXPECT_FALSE(advice.clean());
    EXPECT_EQ(advice.clean_devices, 7);
    EXPECT_THAT(settings(advice), ElementsAre("--tensor-parallel-size=8", "--disable-custom-all-reduce",
                                              "VLLM_ALLREDUCE_USE_SYMM_MEM=0", "NCCL_P2P_DISABLE=1"));
    EXPECT_THAT(setting(advice, "--disable-custom-all-reduce").reason, HasSubstr("2:5 load wrong"));
    EXPECT_THAT(setting(advice, "NCCL_P2P_DISABLE").limit, HasSubstr("27 pairs"));
}

TEST(Advise, MoreThanTwoDevicesWithoutNvlinkAreRefusedByTheEnginesThemselves) {
    for (auto const software : {Software::vllm, Software::sglang}) {
        auto const advice = Scene("rtx4090-8-dual-epyc").for_software(software, 4);
        ASSERT_THAT(advice.refuses, SizeIs(1));
        EXPECT_THAT(
            advice.refuses[0],
            HasSubstr("refuses more than two devices that are not all joined by NVLink (0 of 6 pairs here are)"));
        EXPECT_EQ(setting(advice, "--disable-custom-all-reduce").kind, AdvisedSetting::Kind::flag);
        EXPECT_THAT(Scene("rtx4090-8-dual-epyc").for_software(software, 2).refuses, IsEmpty());
    }
    auto const odd = Scene("h100-8").for_software(Software::vllm, 3);
    EXPECT_THAT(odd.refuses, ElementsAre("vLLM's own all-reduce refuses 3 devices: it takes 2, 4, 6, 8"));
}

TEST(Advise, NcclIsSentAsFarAsProvenAndNoFarther) {
    Scene const scene(in_a_row());
    EXPECT_THAT(settings(scene.for_software(Software::nccl)), ElementsAre("NCCL_P2P_LEVEL=SYS"));
    auto far = scene;
    auto const without_far = far.breaks(3, 1, Check::push, Result::hang).for_software(Software::nccl);
    EXPECT_THAT(settings(without_far), ElementsAre("NCCL_P2P_LEVEL=PHB"));
    EXPECT_THAT(setting(without_far, "NCCL_P2P_LEVEL").limit, HasSubstr("takes 2 pairs from peer access"));
    EXPECT_THAT(setting(without_far, "NCCL_P2P_LEVEL").reason, HasSubstr("3:1 push hang"));
    auto near = scene;
    EXPECT_THAT(settings(near.breaks(1, 2, Check::store).for_software(Software::nccl)),
                ElementsAre("NCCL_P2P_LEVEL=PIX"));
    auto nearest = scene;
    EXPECT_THAT(settings(nearest.breaks(0, 1, Check::store).for_software(Software::nccl)),
                ElementsAre("NCCL_P2P_DISABLE=1"));
}

TEST(Advise, APairThatIsSlowerThanTheHostIsAvoidedToo) {
    auto const advice = Scene(in_a_row()).slow(0, 3).for_software(Software::nccl);
    EXPECT_THAT(settings(advice), ElementsAre("NCCL_P2P_LEVEL=PHB"));
    EXPECT_THAT(setting(advice, "NCCL_P2P_LEVEL").reason, HasSubstr("is slower directly (4 GB/s)"));
}

TEST(Advise, NothingIsSetWhereNothingNeedsToBe) {
    EXPECT_THAT(settings(Scene("h100-8").for_software(Software::nccl)), IsEmpty());
    auto scene = Scene("rtx3090-no-p2p-8");
    for (auto const& pair : scene.machine.pairs) {
        scene.denies(pair.accessor, pair.owner);
    }
    auto const advice = scene.for_software(Software::nccl);
    EXPECT_THAT(settings(advice), IsEmpty()) << "NCCL sees the driver's no by itself";
    EXPECT_TRUE(advice.clean());
}

TEST(Advise, NvlinkThatIsNotClaimedEndsNccl) {
    auto const advice = Scene("h100-8").denies(0, 1).for_software(Software::nccl);
    EXPECT_THAT(settings(advice), ElementsAre("NCCL_IGNORE_DISABLED_P2P=1"));
}

TEST(Advise, PyTorchHasNoSettingAgainstAPairAndThatIsSaid) {
    auto const advice = Scene("h100-8").breaks(0, 1, Check::push).for_software(Software::torch);
    ASSERT_THAT(advice.notes, SizeIs(1));
    EXPECT_THAT(advice.notes[0], HasSubstr("no setting against it"));
    EXPECT_THAT(advice.notes[0], HasSubstr("0:1 push wrong"));
}

TEST(Advise, DevicesThatAreCutOffAreTheLastToBeTaken) {
    auto scene = Scene("h100-8");
    for (auto const& arm : scene.verdicts.control) {
        if (arm.source == 3) {
            scene.verdicts.control[static_cast<std::size_t>(&arm - scene.verdicts.control.data())].staged.result =
                Result::wrong;
            (*scene.verdicts.pair(3, arm.destination))[Check::push].result = Result::wrong;
            (*scene.verdicts.pair(3, arm.destination))[Check::store].result = Result::wrong;
            (*scene.verdicts.pair(arm.destination, 3))[Check::pull].result = Result::wrong;
            (*scene.verdicts.pair(arm.destination, 3))[Check::load].result = Result::wrong;
        }
    }
    judge(scene.verdicts);
    EXPECT_THAT(scene.for_software(Software::nccl, 7).left_out, ElementsAre(3));
    EXPECT_THAT(scene.for_software(Software::nccl).notes, SizeIs(1)) << "no setting helps";
}

TEST(Advise, FastSetsAndFastRings) {
    // A DGX-1: each device has two fast NVLink neighbours, two slow ones and three over PCIe.
    auto scene = Scene("dgx-1v");
    for (auto& route : scene.verdicts.routes) {
        auto const& pair = *scene.machine.pair(route.source, route.destination);
        route.direct_gbs = pair.path == PathClass::nv ? 24.0 * pair.nvlinks.value_or(1) : 10;
    }
    auto const ring = scene.for_software(Software::nccl, 8).devices;
    ASSERT_THAT(ring, SizeIs(8));
    EXPECT_EQ(ring.front(), 0);
    for (std::size_t i = 0; i < ring.size(); ++i) {
        auto const& pair = *scene.machine.pair(ring[i], ring[(i + 1) % ring.size()]);
        EXPECT_EQ(pair.nvlinks, 2) << ring[i] << " beside " << ring[(i + 1) % ring.size()];
    }
    auto const two = scene.for_software(Software::nccl, 2).devices;
    EXPECT_EQ(scene.machine.pair(two[0], two[1])->nvlinks, 2);
}

TEST(Advise, SixteenDevicesAreChosenFromToo) {
    auto const advice = Scene("dgx-2").breaks(4, 9, Check::store).for_software(Software::nccl, 8);
    EXPECT_THAT(advice.devices, SizeIs(8));
    EXPECT_TRUE(advice.clean());
    EXPECT_EQ(Scene("dgx-2").breaks(4, 9, Check::store).for_software(Software::nccl).clean_devices, 15);
}

TEST(Advise, TheFileOfAccessNamesVisibleDevicesInTheirOrder) {
    auto scene = Scene("h100-8").breaks(0, 2, Check::store);
    scene.machine.devices.resize(3);
    std::erase_if(scene.machine.pairs, [](const Pair& pair) { return pair.accessor > 2 || pair.owner > 2; });
    auto const advice = scene.for_software(Software::vllm);
    ASSERT_TRUE(advice.access_cache);
    EXPECT_EQ(advice.access_cache->first, "gpu_p2p_access_cache_for_0,1,2.json");
    auto const& content = advice.access_cache->second;
    EXPECT_THAT(content, HasSubstr("\"0->0\": true"));
    EXPECT_THAT(content, HasSubstr("\"0->1\": true"));
    EXPECT_THAT(content, HasSubstr("\"2->0\": false")) << "a process of 0 that writes into memory of 2";
    EXPECT_THAT(content, HasSubstr("\"0->2\": true"));
}

TEST(Advise, MoreDevicesThanThereAreIsAPrecondition) {
    EXPECT_THROW(static_cast<void>(Scene("h200-pair").for_software(Software::nccl, 3)), std::invalid_argument);
    EXPECT_THAT(Scene("h200-pair").for_software(Software::nccl, 1).devices, ElementsAre(0));
}

TEST(Advise, WordsAndTheDocument) {
    for (auto const software : {Software::nccl, Software::vllm, Software::sglang, Software::torch}) {
        EXPECT_EQ(parse_software(to_string(software)), software);
    }
    EXPECT_FALSE(parse_software("tensorflow"));
    auto const text = write_advice(Scene("h100-8").breaks(0, 1, Check::push).for_software(Software::vllm), true);
    for (auto const* const part : {"\"peerlane.advice/1\"", "\"clean_devices\": 7", "\"standing\": \"wrong\"",
                                   "\"--disable-custom-all-reduce\""}) {
        EXPECT_THAT(text, HasSubstr(part));
    }
}

}  // namespace
}  // namespace peerlane
