/// Odd machines, written down as the system's files and the library's answers: read, joined and diagnosed. Each has
/// exactly the causes that it has.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.hpp"
#include "unit/discover/fake_nvml.hpp"
#include "unit/discover/fixture.hpp"

namespace peerlane::testing_diagnose {
namespace {

using testing_discover::FakeDevice;
using testing_discover::FakeNvml;
using testing_discover::Fixture;
using testing_discover::links_to;
using Codes = std::set<std::string>;

FakeNvml cards(const std::vector<std::string>& buses, const std::string& name = "NVIDIA RTX 6000 Ada Generation") {
    FakeNvml nvml;
    for (auto const& bus : buses) {
        FakeDevice device;
        device.bus = bus;
        device.name = name;
        device.most_generation = 4;
        device.compute_capability = 89;
        device.fabric_state = 0;
        nvml.devices.push_back(std::move(device));
    }
    nvml.ancestor = 40;
    nvml.nvlink_status = 5;
    return nvml;
}
const std::vector<std::string> two{"0000:01:00.0", "0000:41:00.0"};

struct Seen {
    Discovery discovery;
    Facts facts;
    Verdicts verdicts;
    [[nodiscard]] std::vector<Finding> findings() const { return diagnose(discovery.machine, facts, verdicts); }
    [[nodiscard]] Codes codes() const { return testing_diagnose::codes(findings()); }
};

/// `more`: facts that no file tells, in the words of faults.
Seen seen(const std::string& fixture, const FakeNvml& nvml, const std::vector<std::string>& more = {}) {
    Fixture const files(fixture);
    Seen out;
    out.discovery = discover(files.roots(), nvml.api());
    out.facts = apply_facts(facts_of(out.discovery), facts_faults(more));
    out.verdicts = proven(out.discovery.machine);
    return out;
}

TEST(Fixtures, AWorkstationInWhichNothingIsWrong) {
    auto const scene = seen("workstation", cards(two));
    ASSERT_EQ(scene.discovery.machine.devices.size(), 2U);
    EXPECT_EQ(scene.codes(), Codes{});
}

TEST(Fixtures, RootPortsThatRedirect) {
    auto const scene = seen("acs-root-ports", cards(two));
    EXPECT_EQ(scene.codes(), Codes{"acs-redirect"});
    EXPECT_EQ(find(scene.findings(), "acs-redirect")->pairs, (std::vector<std::pair<int, int>>{{0, 1}, {1, 0}}));
    EXPECT_THAT(text(scene.findings(), "acs-redirect"),
                testing::HasSubstr("/sys/bus/pci/devices/0000:00:01.1/config: access control 0x1d"));
}

TEST(Fixtures, RootPortsThatRedirectDoNotConcernPairsThatBridgesJoin) {
    auto nvml = cards(two, "NVIDIA RTX A6000");
    nvml.nvlink_status = 0;
    nvml.devices[0].links = links_to(two[1], 4, 0);
    nvml.devices[1].links = links_to(two[0], 4, 0);
    for (auto& device : nvml.devices) {
        device.compute_capability = 86;
    }
    EXPECT_EQ(seen("acs-root-ports", nvml).codes(), Codes{});
}

TEST(Fixtures, TheKernelsDefaultTranslates) {
    auto const scene = seen("iommu-default", cards(two));
    EXPECT_EQ(scene.codes(), Codes{"iommu-translating"});
    EXPECT_THAT(text(scene.findings(), "iommu-translating"), testing::HasSubstr("DMA-FQ (group 1)"));
}

TEST(Fixtures, OneLinkOfFourLanes) {
    auto nvml = cards({"0000:01:00.0", "0000:02:00.0"}, "NVIDIA GeForce RTX 4090");
    auto const scene = seen("one-x4-link", nvml);
    EXPECT_EQ(scene.codes(), Codes{"link-downgraded"});
    EXPECT_THAT(text(scene.findings(), "link-downgraded"), testing::HasSubstr("0000:02:00.0"));
}

TEST(Fixtures, ASlotOfEightLanesIsNoFaultOfTheLink) {
    auto nvml = cards(two);
    nvml.devices[1].width = 8;
    EXPECT_EQ(seen("narrow-slot", nvml).codes(), Codes{"slot-narrow"});
}

TEST(Fixtures, OneLinkOfABridgeIsDead) {
    FakeNvml nvml = cards(two, "NVIDIA RTX A6000");
    nvml.nvlink_status = 0;
    nvml.devices[0].links = links_to(two[1], 4, 0);
    nvml.devices[1].links = links_to(two[0], 4, 0);
    nvml.devices[1].links[2].active = 0;
    for (auto& device : nvml.devices) {
        device.compute_capability = 86;
    }
    auto const scene = seen("workstation", nvml);
    EXPECT_EQ(scene.codes(), Codes{"nvlink-inactive"});
    EXPECT_THAT(text(scene.findings(), "nvlink-inactive"), testing::HasSubstr("links 2 inactive, 3 of 4 up"));
}

TEST(Fixtures, CardsWithoutABridge) {
    auto nvml = cards(two, "NVIDIA RTX A6000");
    for (auto& device : nvml.devices) {
        device.compute_capability = 86;
        device.links = links_to("FFFFFFFF:FF:FF.0", 4, 255);
        for (auto& link : device.links) {
            link.active = 0;
        }
    }
    EXPECT_EQ(seen("workstation", nvml).codes(), Codes{"nvlink-absent"});
}

TEST(Fixtures, PartitionedDevice) {
    auto nvml = cards(two);
    nvml.devices[0].mig = 1;
    nvml.devices[0].mig_instances = 3;
    EXPECT_EQ(seen("workstation", nvml).codes(), Codes{"mig-enabled"});
}

TEST(Fixtures, AGuestWithAFlatBus) {
    auto nvml = cards({"0000:00:1b.0", "0000:00:1c.0", "0000:00:1d.0", "0000:00:1e.0"}, "NVIDIA A100 80GB PCIe");
    for (auto& device : nvml.devices) {
        device.compute_capability = 80;
        device.virtualization = 1;
    }
    EXPECT_EQ(seen("flat-guest", nvml, {"driver=550.90.07"}).codes(), Codes{"vm-view-of-pcie"});
}

FakeNvml modules(int state) {
    auto nvml = cards({"0000:18:00.0", "0000:19:00.0"}, "NVIDIA H100 80GB HBM3");
    nvml.nvlink_status = state == 3 ? 0 : 5;
    for (auto& device : nvml.devices) {
        device.compute_capability = 90;
        device.most_generation = 5;
        device.fabric_state = state;
        device.links = links_to("0000:1a:00.0", 18);
        for (auto& link : device.links) {
            link.active = state == 3 ? 1 : 0;
        }
    }
    return nvml;
}

TEST(Fixtures, SwitchesWithoutTheirManager) {
    auto const scene = seen("hgx-no-manager", modules(1));
    EXPECT_EQ(scene.codes(), Codes{"fabric-manager-missing"});
    EXPECT_EQ(seen("hgx-no-manager", modules(3)).codes(), Codes{}) << "a fabric that is up needs no cause";
}

TEST(Fixtures, AManagerOfAnotherVersion) {
    EXPECT_EQ(seen("hgx-other-manager", modules(1)).codes(), Codes{"fabric-manager-version"});
}

TEST(Fixtures, AGuestWhoseHostMadeNoPartition) {
    auto nvml = modules(1);
    nvml.devices[0].bus = "0000:00:06.0";
    nvml.devices[1].bus = "0000:00:07.0";
    for (auto& device : nvml.devices) {
        device.virtualization = 1;
    }
    EXPECT_EQ(seen("h200-pair-vm", nvml).codes(), (Codes{"fabric-unprovisioned", "vm-view-of-pcie"}));
}

TEST(Fixtures, TheH200PairOfAVirtualMachine) {
    auto nvml = modules(3);
    nvml.devices[0].bus = "0000:00:06.0";
    nvml.devices[1].bus = "0000:00:07.0";
    for (auto& device : nvml.devices) {
        device.name = "NVIDIA H200";
        device.virtualization = 1;
    }
    EXPECT_EQ(seen("h200-pair-vm", nvml).codes(), Codes{"vm-view-of-pcie"});
}

TEST(Fixtures, TheConsoleIsOnACard) {
    auto const scene = seen("boot-console", cards(two));
    EXPECT_EQ(scene.codes(), Codes{"display-active-bar1"});
    EXPECT_EQ(find(scene.findings(), "display-active-bar1")->pairs, (std::vector<std::pair<int, int>>{{1, 0}}));
}

TEST(Fixtures, SmallWindows) {
    EXPECT_EQ(seen("workstation", cards(two), {"bar1:0=256MiB"}).codes(), Codes{"small-bar1"});
}

TEST(Fixtures, MixedModels) {
    auto nvml = cards(two);
    nvml.devices[1].name = "NVIDIA RTX A6000";
    nvml.devices[1].compute_capability = 86;
    EXPECT_EQ(seen("workstation", nvml).codes(), Codes{"mixed-models"});
}

TEST(Fixtures, TwoOfFourCardsInAContainer) {
    auto nvml = cards({"0000:01:00.0", "0000:02:00.0"}, "NVIDIA GeForce RTX 4090");
    auto scene = seen("container", nvml, {"shm=64MiB", "runtime=[1,0]"});
    EXPECT_EQ(scene.codes(), (Codes{"visible-devices-subset", "visible-devices-order"})) << "nothing has to be staged";
    refuse(scene.verdicts);
    EXPECT_EQ(scene.codes(), (Codes{"peer-refused", "visible-devices-subset", "visible-devices-order", "shm-small"}));
}

TEST(Fixtures, LinesOfTheKernelsLog) {
    auto const scene = seen("kernel-log", cards(two));
    EXPECT_EQ(scene.codes(), (Codes{"iommu-fault", "xid-logged"}));
    EXPECT_EQ(find(scene.findings(), "xid-logged")->evidence.size(), 1U) << "lines of other addresses are not ours";
}

TEST(Fixtures, ErrorCountersThatMoved) {
    auto scene = seen("workstation", cards(two));
    scene.facts.run.errors_before = {{"0000:40:01.1", 5, 0, 0}, {"0000:00:1f.0", 1, 0, 0}};
    scene.facts.run.errors_after = {{"0000:40:01.1", 9, 0, 0}, {"0000:00:1f.0", 8, 0, 0}};
    EXPECT_EQ(scene.codes(), Codes{"pcie-errors"});
    EXPECT_EQ(find(scene.findings(), "pcie-errors")->evidence.size(), 1U) << "above the second card, not elsewhere";
}

TEST(Fixtures, AGuestOfWindows) {
    auto const scene = seen("wsl", cards({"0000:01:00.0"}, "NVIDIA GeForce RTX 4090"));
    EXPECT_EQ(scene.codes(), (Codes{"tree-unknown", "vm-view-of-pcie"}));
}

TEST(Fixtures, AModuleThatSomebodyBuilt) {
    EXPECT_EQ(seen("patched-module", cards(two)).codes(), (Codes{"module-patched", "forced-setting"}));
}

TEST(Fixtures, AModuleThatIsOnlyUnsigned) {
    auto scene = seen("workstation", cards(two));
    scene.facts.host.module_taint = "OE";
    EXPECT_EQ(scene.codes(), Codes{}) << "built here and not signed: nothing is wrong with it";
}

TEST(Fixtures, TheManagementLibraryHangs) {
    auto nvml = cards(two);
    nvml.hangs_in = "name";
    Fixture const files("workstation");
    auto const found = discover(files.roots(), nvml.api(), {.start_s = 5, .call_s = 0.2, .total_s = 10});
    nvml.release->set_value();
    EXPECT_EQ(codes(diagnose(found.machine, facts_of(found), proven(found.machine))), Codes{"management-hang"});
}

TEST(Fixtures, ADriverOlderThanThePart) {
    EXPECT_EQ(seen("workstation", cards(two), {"driver=515.48.07"}).codes(), Codes{"driver-branch"});
}

TEST(Fixtures, FactsOfARealMachineReadBackAndSayTheSame) {
    auto const scene = seen("acs-root-ports", cards(two));
    auto const again = read_facts(write_facts(scrub(scene.facts)), "f");
    EXPECT_EQ(diagnose(scene.discovery.machine, again, scene.verdicts), scene.findings());
}

}  // namespace
}  // namespace peerlane::testing_diagnose
