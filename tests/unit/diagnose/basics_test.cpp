/// Forms of facts, the list of codes, what is found on machines in which nothing is wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <peerlane/error.hpp>

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
    facts.host.driver_text = "NVRM version: 550 (frodo@bagend.example) Jan 1";
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

}  // namespace
}  // namespace peerlane::testing_diagnose
