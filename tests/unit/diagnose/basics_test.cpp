/// Forms of facts, the list of codes, what is found on machines in which nothing is wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <peerlane/error.hpp>
#include <peerlane/machine.hpp>
#include <peerlane/units.hpp>

#include "support.hpp"

namespace peerlane::testing_diagnose {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Facts, EveryFieldReadsBackAsWritten) {
    auto facts = apply_facts(healthy_facts(load_machine("h200-pair").machine()),
                             facts_faults({"acs:0=0x1d",
                                           "iommu=translating",
                                           "display:0=active",
                                           "mig:1=on",
                                           "bar1:0=256MiB",
                                           "link:0=gen1x4",
                                           "aer:0=fatal",
                                           "nvlink:0:3=down",
                                           "nvswitch=2",
                                           "fabric.state=in-progress",
                                           "fabric-manager=550.54.15",
                                           "driver=550.90.07",
                                           "driver-init=802",
                                           "module=patched",
                                           "env.P2P=0",
                                           "shm=64MiB",
                                           "shm.device=same",
                                           "ns.ipc=different",
                                           "B.visible=[1]",
                                           "import=error:101",
                                           "graphics-processes[0]=1",
                                           "busy:0=100",
                                           "open-step=0:1:store",
                                           "key:driver=1>2",
                                           "xid:0=79",
                                           "nvml=hangs",
                                           "topo-query=112s",
                                           "imex-channels=0",
                                           "fabric-handle=error:800",
                                           "param:RegistryDwords=ForceP2P=0x11",
                                           "p2p:0:1=CNS",
                                           "hypervisor=xen"}));
    facts.unread.push_back({"kernel log", "/dev/kmsg", "not permitted", true});
    facts.host.wsl = false;
    facts.run.former_runs.push_back({"a.json", "2026-01-02", true});
    for (int const indent : {-1, 2}) {
        EXPECT_EQ(read_facts(write_facts(facts, indent), "f"), facts);
    }
    EXPECT_EQ(read_facts(write_facts(Facts{}), "f"), Facts{});
}

TEST(Facts, WhatIsNoSuchDocumentIsRefused) {
    for (auto const* text :
         {"", "{", "[]", "{}", R"({"schema":"peerlane.machine/1"})", R"({"schema":"peerlane.facts/1","host":3})",
          R"({"schema":"peerlane.facts/1","host":{"pci":[{"numa":"x"}]}})",
          R"({"schema":"peerlane.facts/1","host":{"pci":[{"vendor":-1}]}})",
          R"({"schema":"peerlane.facts/1","host":{"cpus":99999999999}})",
          R"({"schema":"peerlane.facts/1","nvml":{"state":"perhaps"}})",
          R"({"schema":"peerlane.facts/1","process":{"kernel_log":[1]}})"}) {
        EXPECT_THROW(read_facts(text, "f"), InputError) << text;
    }
    try {
        read_facts(R"({"schema":"peerlane.facts/1","host":{"pci":[{},{"numa":"x"}]}})", "f.json");
        FAIL();
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr("f.json: facts.host.pci[1].numa is no whole number"));
    }
}

TEST(Facts, DamagedDocumentsAreRefusedOrDiagnosedNeverMore) {
    auto const machine = load_machine("rtx4090-8-dual-epyc").machine();
    Scene const scene(machine, {"acs:any=0x1d", "log=IO_PAGE_FAULT device=0000:01:00.0", "xid:1=79", "aer:2=fatal",
                                "ns:ipc=different", "B:visible=[1]", "open-step=0:1:store", "busy:0=100"});
    auto const whole = write_facts(scene.facts, -1);
    unsigned state = 7;
    auto const draw = [&](std::size_t below) {
        state = state * 1664525U + 1013904223U;
        return static_cast<std::size_t>(state >> 8U) % below;
    };
    int read = 0;
    for (int round = 0; round < 400; ++round) {
        auto text = whole;
        for (std::size_t change = 0; change <= draw(3); ++change) {
            auto const at = draw(text.size());
            constexpr std::string_view letters = "0123456789-\":,[]{}xenu. \x80";
            if (draw(4) == 0) {
                text.erase(at, draw(40));
            } else {
                text[at] = letters[draw(letters.size())];
            }
        }
        try {
            auto const facts = read_facts(text, "f");
            EXPECT_EQ(read_facts(write_facts(facts), "f"), facts) << round;
            diagnose(machine, facts, scene.verdicts);
            scrub(facts);
            ++read;
        } catch (const InputError&) {
        }
    }
    EXPECT_GT(read, 50);
    EXPECT_THROW(read_facts(std::string(200'000, '['), "f"), InputError);
}

TEST(Facts, AnUnknownNameOrValueNamesWhatCouldStandThere) {
    auto const healthy = healthy_facts(load_machine("h200-pair").machine());
    auto const refusal = [&](const std::string& fact) -> std::string {
        try {
            apply_facts(healthy, facts_faults({fact}));
        } catch (const InputError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_THAT(refusal("iomu=translating"), HasSubstr("known are iommu, acs,"));
    EXPECT_THAT(refusal("iommu=on"), HasSubstr("translating, identity, off"));
    EXPECT_THAT(refusal("mig:2=on"), HasSubstr("\"2\" is no device of 2"));
    EXPECT_THAT(refusal("mig=on"), HasSubstr("names no device"));
    for (auto const* fact : {"acs:0=0xfffff", "acs:0=", "link:0=wide", "bar1:0=much", "ns.net=same", "driver=new",
                             "visible=0", "visible=[7]", "fabric-handle=800", "open-step=store", "key:driver=1",
                             "nvlink:0:70=down", "busy:0=101", "p2p:0=CNS", "p2p:0:1=WHY", "env=1"}) {
        EXPECT_NE(refusal(fact), "accepted") << fact;
    }
}

TEST(Facts, ScrubbedFactsTellDevicesApartButNotWhoseTheyAre) {
    auto facts = healthy_facts(load_machine("h200-pair").machine());
    std::string const uuid = "GPU-3f0c1a52-9d1e-4b1c-8a77-0123456789ab";
    std::string const other = "GPU-b1f30000-9d1e-4b1c-8a77-0123456789ab";
    facts.nvml.devices[0].uuid = uuid;
    facts.nvml.devices[1].uuid = other;
    facts.host.boot_id = "5c8b2e0a-1111-2222-3333-444455556666";
    facts.host.kernel_command_line = "BOOT_IMAGE=/vmlinuz root=UUID=77 intel_iommu=on hostname=frodo";
    facts.host.driver_text = "NVRM version: 550 (frodo@bagend.example) Jan 1 (frodo@)";
    facts.process.settings = {{"CUDA_VISIBLE_DEVICES", uuid + ",GPU-b1f3000", "environment"},
                              {"NCCL_TOPO_FILE", "/home/frodo/topo.xml", "environment"}};
    facts.process.kernel_log = {{"Jan 02 03:04:05 bagend kernel: NVRM: Xid (PCI:0000:01:00): 79, " + other}};
    facts.process.cgroup = "/user.slice/frodo";
    facts.run.open_step = OpenStep{"/home/frodo/run.json", "0:1 store", 0, 1, "5c8b2e0a", false};
    auto const text = write_facts(scrub(facts));
    for (auto const* secret : {"3f0c1a52", "b1f3", "frodo", "bagend", "5c8b2e0a", "UUID=77"}) {
        EXPECT_THAT(text, Not(HasSubstr(secret)));
    }
    auto const clean = scrub(facts);
    EXPECT_EQ(clean.nvml.devices[0].uuid, "GPU-1");
    EXPECT_EQ(clean.process.settings[0].value, "GPU-1,GPU-2");
    EXPECT_EQ(clean.process.settings[1].value, "/home/user/topo.xml");
    EXPECT_THAT(clean.process.kernel_log->front(), HasSubstr("NVRM: Xid (PCI:0000:01:00): 79, GPU-2"));
    EXPECT_EQ(clean.host.kernel_command_line, "intel_iommu=on ...");
    EXPECT_EQ(scrub(clean), clean);
}

TEST(Diagnose, NothingIsFoundOnHealthyNamedMachines) {
    for (auto const& named : named_machines()) {
        Scene const scene(load_machine(named.name).machine());
        for (auto const& finding : scene.findings()) {
            EXPECT_EQ(finding.severity, Finding::Severity::info) << named.name << ": " << finding.code;
            EXPECT_TRUE(finding.code == "peer-refused" || finding.code == "mixed-models" ||
                        finding.code == "nvlink-absent")
                << named.name << ": " << finding.code << "\n"
                << text(scene.findings(), finding.code);
        }
    }
}

TEST(Diagnose, NothingIsConcludedFromNothing) {
    EXPECT_TRUE(diagnose(Machine{}, Facts{}, Verdicts{}).empty());
    EXPECT_TRUE(diagnose(load_machine("h200-pair").machine(), Facts{}, Verdicts{}).empty());
}

TEST(Diagnose, ErrorsComeFirstThenWhatExplainsMost) {
    Scene scene(load_machine("rtx4090-8-dual-epyc").machine(),
                {"display:0=boot-console", "iommu=translating", "xid:3=79"});
    for (auto const check : all_checks) {
        set(scene.verdicts, -1, -1, check, "ok");
    }
    set(scene.verdicts, -1, -1, Check::push, "wrong(zero)");
    auto const found = scene.findings();
    ASSERT_GE(found.size(), 4U);
    EXPECT_EQ(found[0].code, "claim-broken");
    EXPECT_EQ(found[1].code, "iommu-translating");
    EXPECT_EQ(find(found, "xid-logged")->pairs.size(), 14U);
    EXPECT_EQ(find(found, "display-active-bar1")->pairs.size(), 7U);
}

TEST(Diagnose, EveryFindingHasAKnownCodeEvidenceAndACure) {
    std::set<std::string> known;
    for (auto const& code : finding_codes()) {
        EXPECT_TRUE(known.insert(std::string(code.code)).second) << code.code;
    }
    Scene const scene(load_machine("rtx4090-8-dual-epyc").machine(),
                      {"acs:any=0x1d", "iommu=translating", "mig:0=on", "bar1:1=256MiB", "link:2=x4", "driver=390.1"});
    auto const found = scene.findings();
    EXPECT_GE(found.size(), 5U);
    for (auto const& finding : found) {
        EXPECT_EQ(known.count(finding.code), 1U) << finding.code;
        EXPECT_FALSE(finding.evidence.empty()) << finding.code;
        EXPECT_FALSE(finding.cure.empty()) << finding.code;
    }
}

/// Pairs of a machine whose rates were timed, `direct` and `staged` GB/s each.
Scene timed_scene(double direct, double staged) {
    Scene scene(load_machine("a100-pcie-pairs-4").machine());
    for (auto const check : all_checks) {
        set(scene.verdicts, -1, -1, check, "ok");
    }
    for (auto& route : scene.verdicts.routes) {
        route.direct_gbs = direct;
        route.staged_gbs = staged;
    }
    return scene;
}

TEST(Diagnose, RatesWithinATenthOfEachOtherAreTheSame) {
    EXPECT_EQ(codes(timed_scene(30, 20).findings()), std::set<std::string>{});
    EXPECT_EQ(codes(timed_scene(21.9, 20).findings()), std::set<std::string>{"peer-no-gain"});
    EXPECT_EQ(codes(timed_scene(18.1, 20).findings()), std::set<std::string>{"peer-no-gain"});
    EXPECT_EQ(codes(timed_scene(17.9, 20).findings()), std::set<std::string>{"peer-slower-than-host"});
}

TEST(Diagnose, OneSlowDeviceIsOneCauseAndTwoOfFourAreNone) {
    auto scene = timed_scene(30, 20);
    auto const slow = [&](int device) {
        for (auto& route : scene.verdicts.routes) {
            if (route.source == device || route.destination == device) {
                route.direct_gbs = 4;
            }
        }
    };
    slow(2);
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), std::set<std::string>{"weak-device"}) << "the pairs are not told again as slow ones";
    EXPECT_EQ(found.front().pairs.size(), 6U);
    slow(1);
    EXPECT_EQ(codes(scene.findings()).count("weak-device"), 0U);
}

TEST(Diagnose, AGroupThatIsSlowerThanTakingTurns) {
    auto scene = timed_scene(30, 20);
    GroupVerdict group;
    group.pairs = {{0, 1}, {1, 0}, {2, 3}};
    group.result = Result::ok;
    group.gbs = 11;
    scene.verdicts.groups = {group};
    EXPECT_EQ(codes(scene.findings()), std::set<std::string>{});
    scene.verdicts.groups.front().gbs = 0.04;
    EXPECT_EQ(codes(scene.findings()), std::set<std::string>{"group-collapse"});
    scene.verdicts.groups.front().result = Result::hang;
    scene.verdicts.groups.front().gbs.reset();
    EXPECT_EQ(codes(scene.findings()), std::set<std::string>{"claim-broken"});
}

TEST(Diagnose, AccessInOneDirectionOnly) {
    Scene scene(load_machine("rtx4090-8-dual-epyc").machine());
    for (auto const check : all_checks) {
        set(scene.verdicts, -1, -1, check, "ok");
    }
    refuse(scene.verdicts, 1, 0);
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), (std::set<std::string>{"peer-refused", "one-way-access"}));
    EXPECT_EQ(find(found, "one-way-access")->pairs, (std::vector<std::pair<int, int>>{{1, 0}}));
}

TEST(Diagnose, ParametersThatAreAlwaysThereForceOnlyWhenTheyAreSet) {
    auto const machine = load_machine("h200-pair").machine();
    EXPECT_EQ(codes(Scene(machine, {"param:NvLinkDisable=0", "param:GrdmaPciTopoCheckOverride=0", "param:EnableMSI=1"})
                        .findings()),
              std::set<std::string>{});
    auto const found = Scene(machine, {"param:NvLinkDisable=1"}).findings();
    EXPECT_EQ(codes(found), std::set<std::string>{"forced-setting"});
    EXPECT_THAT(text(found, "forced-setting"), HasSubstr("switches NVLink off"));
}

TEST(Diagnose, SmallAccessesThatTakeFarLonger) {
    Scene scene(load_machine("h200-pair").machine());
    for (auto& pair : scene.verdicts.pairs) {
        pair[Check::store].sizes = {8};
        pair[Check::store].small_seconds = pair.accessor == 0 ? 49e-3 : 5e-6;
    }
    for (auto& control : scene.verdicts.control) {
        control.staged.sizes = {8};
        control.staged.small_seconds = 20e-6;
    }
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), std::set<std::string>{"peer-latency"});
    EXPECT_EQ(found.front().pairs, (std::vector<std::pair<int, int>>{{0, 1}}));
}

TEST(Diagnose, ALatePathIsNoSlowOne) {
    Scene scene(load_machine("h200-pair").machine());
    auto& late = *scene.verdicts.pair(1, 0);  // it reads late: the data goes from 0 to 1
    late[Check::pull].sizes = scene.verdicts.control.front().staged.sizes = {8, 16 * MiB};
    late[Check::pull].small_seconds = 49e-3;
    late[Check::pull].gbs = 0.34;
    for (auto& control : scene.verdicts.control) {
        control.staged.sizes = {8, 16 * MiB};
        control.staged.small_seconds = 20e-6;
    }
    for (auto& route : scene.verdicts.routes) {
        route.direct_gbs = route.source == 0 ? 0.34 : 300;
        route.staged_gbs = 40;
    }
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), std::set<std::string>{"peer-latency"}) << "rates are told by the latency already";
    EXPECT_EQ(found.front().pairs, (std::vector<std::pair<int, int>>{{1, 0}}));
}

TEST(Diagnose, FewerLinksByDesignAreNoWeakness) {
    // Three of a DGX-1: one link from 0 to 1 and to 2, two between those.
    auto machine = load_machine("dgx-1v").machine();
    machine.devices.resize(3);
    std::erase_if(machine.pairs, [](const Pair& pair) { return pair.accessor > 2 || pair.owner > 2; });
    Scene scene(machine);
    for (auto& route : scene.verdicts.routes) {
        route.direct_gbs = 24.1 * machine.pair(route.source, route.destination)->nvlinks.value_or(0);
        route.staged_gbs = 11;
    }
    EXPECT_EQ(codes(scene.findings()), std::set<std::string>{});
}

TEST(Diagnose, WrongBytesThatTheControlArmHasTooTellNothingOfThePath) {
    Scene scene(load_machine("h200-pair").machine());
    set(scene.verdicts, 0, 1, Check::push, "wrong(flip)");
    EXPECT_EQ(codes(scene.findings()), std::set<std::string>{"claim-broken"});
    scene.verdicts.control[0].staged.result = Result::wrong;
    EXPECT_EQ(codes(scene.findings()), std::set<std::string>{});
    set(scene.verdicts, 0, 1, Check::push, "hang");
    EXPECT_EQ(codes(scene.findings()), std::set<std::string>{"claim-broken"}) << "a hang is a hang all the same";
}

}  // namespace
}  // namespace peerlane::testing_diagnose
