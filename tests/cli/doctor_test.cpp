// peerlane doctor: what it prints, keeps and replays, and how it ends.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/doctor.hpp"

namespace peerlane::cli_tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Words = std::vector<std::string>;

Doctored simulated(const std::string& machine, const Words& faults = {}, Words more = {}) {
    auto words = with_faults({"--machine", machine}, faults);
    words.emplace_back("doctor");
    words.insert(words.end(), more.begin(), more.end());
    return doctored(words);
}

TEST(Doctor, AHealthyPairIsHealthyAndSaysWhatWasDone) {
    auto const done = simulated("h200-pair");
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(done.document["schema"], "peerlane.verdicts/1");
    EXPECT_EQ(done.document["status"], "healthy");
    EXPECT_EQ(done.document["simulated"], true);
    EXPECT_THAT(done.complaints(), IsEmpty());
    ASSERT_EQ(done.document["self_tests"].size(), 2U);
    EXPECT_EQ(done.document["self_tests"][1]["found"]["result"], "ok");
    auto const text = typed("--machine h200-pair doctor").out;
    for (auto const* const part : {"SIMULATED", "seed 1", "2 x NVIDIA H200", "2 of 2 directed pairs", "0000:00:06.0",
                                   "a wrong byte planted", "not tested: sustained load", "replay:"}) {
        EXPECT_THAT(text, HasSubstr(part));
    }
    EXPECT_THAT(text, Not(HasSubstr("REAL HARDWARE")));
}

TEST(Doctor, EqualCommandsPrintEqualBytes) {
    for (auto const* const line :
         {"--machine h200-pair doctor", "--machine h200-pair --fault push:0:1=hang --format json doctor",
          "--machine h200-pair --fault store:0:1=freeze --format markdown doctor"}) {
        EXPECT_EQ(typed(line).out, typed(line).out) << line;
    }
}

TEST(Doctor, SlowerThanTheHostIsDegraded) {
    auto const done = simulated("h200-pair", {"rate:0:1=9.9GB/s"});
    EXPECT_EQ(done.status, 1);
    EXPECT_EQ(done.use(0, 1), "staged");
    EXPECT_EQ(done.use(1, 0), "direct 1");
    EXPECT_TRUE(done.has("peer-slower-than-host"));
}

TEST(Doctor, RatesThatOthersDisturbNeverDegrade) {
    auto const done = simulated("h200-pair", {"rate:0:1=9.9GB/s", "fact:compute-processes:0=1"});
    EXPECT_EQ(done.status, 0) << done.document["findings"];
    EXPECT_EQ(done.document["doctor"]["disturbed"], std::vector<int>{0});
    EXPECT_EQ(done.use(0, 1), "direct 0");
    EXPECT_FALSE(done.has("peer-slower-than-host"));
    auto const wrong = simulated("h200-pair", {"push:0:1=flip", "fact:compute-processes:0=1"});
    EXPECT_EQ(wrong.status, 2) << "bytes are another matter";
}

TEST(Doctor, ADeviceThatWasSeenBusyIsAFinding) {
    EXPECT_TRUE(simulated("h200-pair", {"store:0:1=hang", "fact:busy:0=100"}).has("wedge-after-test"));
    EXPECT_FALSE(simulated("h200-pair", {"store:0:1=hang"}).has("wedge-after-test"));
}

TEST(Doctor, ASlowGroupIsFound) {
    auto const done = simulated("h100-8", {"together:3+=0.04GB/s"});
    EXPECT_EQ(done.status, 1);
    EXPECT_TRUE(done.has("group-collapse"));
    EXPECT_THAT(typed("--machine h100-8 --fault together:3+=0.04GB/s doctor").out, HasSubstr("COLLAPSED"));
}

TEST(Doctor, AWrongControlArmCannotTell) {
    auto const done = simulated("h200-pair", {"host:0:1=flip"});
    EXPECT_EQ(done.status, 3);
    EXPECT_EQ(done.document["status"], "inconclusive");
}

TEST(Doctor, NoClaimIsHealthyWithoutPeerAccess) {
    auto const ran = typed("--machine rtx3090-no-p2p-8 doctor");
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.out, HasSubstr("healthy, no peer access"));
}

TEST(Doctor, TheVerdictIsToldInWordsAndThePairInThreeLines) {
    auto const ran = typed("--machine dgx-1v --fault push:0:3@512KiB+=flip doctor");
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.out, HasSubstr("1 of 56 directed pairs delivers wrong bytes"));
    EXPECT_THAT(ran.out, HasSubstr("  0:3  writes: push WRONG(flip), store ok; reads: pull ok, load ok;"));
    EXPECT_THAT(ran.out, HasSubstr("of 512 KiB + 4; tried 4 sizes up to 512 KiB + 4"));
    EXPECT_THAT(ran.out, HasSubstr("control arm through the host: right"));
    EXPECT_THAT(ran.out, HasSubstr("use for data out of the accessor: direct, pulled by the destination"));
}

TEST(Doctor, WhatIsRequiredMustBeRight) {
    EXPECT_EQ(typed("--machine h200-pair doctor --require push,store").status, 0);
    auto const done = simulated("rtx3090-no-p2p-8", {}, {"--require", "push", "-i", "0,1"});
    EXPECT_EQ(done.status, 1);
    EXPECT_EQ(done.document["doctor"]["required_missing"], (Words{"0:1 push", "1:0 push"}));
    auto const ran = typed("--machine h200-pair doctor --require psh");
    EXPECT_EQ(ran.status, 64);
    EXPECT_THAT(ran.err, HasSubstr("claim, map, push"));
}

TEST(Doctor, OnlyThePairsAskedForAreProven) {
    auto const done = simulated("dgx-1v", {"push:0:1=flip"}, {"--pair", "0:3", "--pair", "6:5"});
    EXPECT_EQ(done.status, 0);
    ASSERT_EQ(done.document["pairs"].size(), 2U);
    EXPECT_EQ(done.check(6, 5, "store"), "ok");
    EXPECT_EQ(typed("--machine h100-8 -i 0,1,2 --format json doctor --quick").status, 0);
    for (auto const* const wrong : {"0:0", "0", "0:9", "a:b", "0:1:2", "-1:0"}) {
        EXPECT_EQ(peerlane({"--machine", "dgx-1v", "doctor", std::string("--pair=") + wrong}).status, 64) << wrong;
    }
}

TEST(Doctor, OnlyTheDevicesAskedForWhereverTheyAre) {
    for (auto const* const devices : {"0,2", "1,3,6", "7"}) {
        auto const done = simulated("h100-8", {"fact:nvlink:3:5=down"}, {"--quick", "-i", devices});
        EXPECT_EQ(done.status, devices == std::string("1,3,6") ? 1 : 0) << devices << ": " << done.err;
        for (auto const& pair : done.document["pairs"]) {
            EXPECT_THAT(devices, HasSubstr(std::to_string(pair["accessor"].get<int>())));
        }
    }
}

TEST(Doctor, MarkdownIsForATicket) {
    auto const ran = typed("--machine h200-pair --fault push:0:1=flip --format markdown doctor");
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.out, HasSubstr("## peerlane"));
    EXPECT_THAT(ran.out, HasSubstr("| from | 0 | 1 | bus | model |"));
    EXPECT_THAT(ran.out, HasSubstr("- error claim-broken, 0:1"));
}

TEST(Doctor, ATicketNamesNoFolders) {
    Folder const folder;
    auto const machine = folder.file("m.json", peerlane({"--machine", "h200-pair", "--format", "json", "topo"}).out);
    auto const ran = peerlane({"--machine", machine, "--fault", "push:0:1=flip", "--format", "markdown", "doctor",
                               "--record", folder.file("r.jsonl")});
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.out, HasSubstr("--machine m.json"));
    EXPECT_THAT(ran.out, Not(HasSubstr(folder.path())));
}

TEST(Doctor, TheDocumentIsSavedToo) {
    Folder const folder;
    auto const file = folder.file("verdicts.json");
    auto const ran = peerlane({"--machine", "h200-pair", "--save", file, "--format", "json", "doctor"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(text_of(file), ran.out);
}

class Recorded : public testing::Test {
  protected:
    void record(const Words& faults = {"push:0:1=flip", "fact:iommu=translating"}) {
        first_ = simulated(machine_, faults, {"--record", file_});
    }
    Folder folder_;
    std::string file_ = folder_.file("record.jsonl");
    std::string machine_ = "h200-pair";
    Doctored first_;
};

TEST_F(Recorded, ReplaysWithoutRunningAnything) {
    record();
    EXPECT_EQ(first_.status, 2);
    EXPECT_EQ(folder_.names(), Words{"record.jsonl"}) << "nothing left over";
    auto const again = doctored({"--machine", file_, "doctor"});
    EXPECT_EQ(again.status, 2) << again.err;
    EXPECT_EQ(again.document["doctor"]["replayed"], true);
    EXPECT_THAT(again.err, Not(HasSubstr("steps of at most")));
    for (auto const* const part : {"pairs", "control", "routes", "self_tests", "findings", "status", "seed"}) {
        EXPECT_EQ(again.document[part], first_.document[part]) << part;
    }
    EXPECT_THAT(peerlane({"--machine", file_, "doctor"}).out, HasSubstr("REPLAYED"));
}

TEST_F(Recorded, IsAMachineForOtherCommands) {
    record({});
    auto const topo = peerlane({"--machine", file_, "topo"});
    EXPECT_EQ(topo.status, 0) << topo.err;
    EXPECT_THAT(topo.out, HasSubstr("NVIDIA H200"));
    EXPECT_EQ(peerlane({"--machine", file_, "copy", "0", "1", "1MiB"}).status, 0);
}

TEST_F(Recorded, WhatWasReadCanBeChangedAndNothingElse) {
    machine_ = "rtx4090-6-p2p-hurts";
    record({"push:0:1=zero"});
    auto const without = doctored({"--machine", file_, "doctor"});
    EXPECT_FALSE(without.has("iommu-translating"));
    EXPECT_TRUE(doctored({"--machine", file_, "--fault", "fact:iommu=translating", "doctor"}).has("iommu-translating"));
    for (auto const& words :
         {Words{"--fault", "push:0:1=flip"}, Words{"--machine", "h200-pair"}, Words{"doctor", "--fresh"}}) {
        auto all = words;
        all.insert(all.begin(), {"--machine", file_});
        if (words.front() != "doctor") {
            all.emplace_back("doctor");
        }
        EXPECT_EQ(peerlane(all).status, 64) << words.front();
    }
}

TEST_F(Recorded, DamageIsNamedByFileAndLine) {
    record();
    auto const whole = text_of(file_);
    auto damaged = whole;
    damaged.replace(damaged.find("\"accessor\":0"), 12, "\"accessor\":x");
    folder_.file("record.jsonl", damaged);
    auto const ran = peerlane({"--machine", file_, "doctor"});
    EXPECT_EQ(ran.status, 65) << ran.out;
    EXPECT_THAT(ran.err, HasSubstr(file_ + ":"));
    EXPECT_EQ(peerlane({"--machine", "h200-pair", "doctor", "--record", file_}).status, 65) << "and is not replaced";
    EXPECT_EQ(text_of(file_), damaged);
    folder_.file("record.jsonl", "something else\n");
    EXPECT_EQ(peerlane({"--machine", "h200-pair", "doctor", "--record", file_}).status, 65);
    EXPECT_EQ(peerlane({"--machine", "h200-pair", "doctor", "--record", folder_.file("no") + "/such/file"}).status, 66);
}

TEST_F(Recorded, NamesNobodysMachine) {
    folder_.file("secret-name.json", peerlane({"--machine", "h200-pair", "--format", "json", "topo"}).out);
    auto const ran = peerlane({"--machine", folder_.file("secret-name.json"), "doctor", "--record", file_});
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(text_of(file_), Not(HasSubstr(folder_.path())));
}

class Stored : public testing::Test {
  protected:
    Doctored run(const Words& faults, Words more = {}) const {
        more.insert(more.begin(), {"--cache", file_});
        return simulated("dgx-1v", faults, more);
    }
    static bool from_cache(const Doctored& done) { return done.document["doctor"]["from_cache"].get<bool>(); }
    Folder folder_;
    std::string file_ = folder_.path() + "/deeper/verdicts.json";
};

TEST_F(Stored, VerdictsAreUsedWhileTheyHold) {
    auto const first = run({"push:0:1=flip"});
    EXPECT_FALSE(from_cache(first));
    auto const second = run({"push:0:1=flip"});
    EXPECT_TRUE(from_cache(second));
    EXPECT_EQ(second.status, 2);
    EXPECT_EQ(second.document["pairs"], first.document["pairs"]);
    EXPECT_EQ(second.document["findings"], first.document["findings"]);
    EXPECT_FALSE(from_cache(run({"push:0:1=flip"}, {"--fresh"})));
    auto const part = run({"push:0:1=flip"}, {"--pair", "0:3"});
    EXPECT_TRUE(from_cache(part));
    EXPECT_EQ(part.status, 0);
    EXPECT_EQ(part.document["pairs"].size(), 1U);
}

TEST_F(Stored, AnotherMachineIsProvenAgain) {
    run({"push:0:1=flip"});
    auto const other = run({});
    EXPECT_FALSE(from_cache(other));
    EXPECT_EQ(other.status, 0) << other.document["findings"];
    EXPECT_TRUE(from_cache(run({})));
}

TEST_F(Stored, ADamagedFileIsANotice) {
    run({});
    folder_.file("deeper/verdicts.json", "{");
    auto const done = run({});
    EXPECT_EQ(done.status, 0);
    EXPECT_FALSE(from_cache(done));
    EXPECT_THAT(done.document["doctor"]["notices"].dump(), HasSubstr("stored verdicts are not used"));
    EXPECT_TRUE(from_cache(run({})));
}

TEST_F(Stored, ASimulatedMachineKeepsNothingUnasked) {
    How how;
    how.environment = {"XDG_CACHE_HOME=" + folder_.path(), "XDG_STATE_HOME=" + folder_.path(),
                       "HOME=" + folder_.path()};
    EXPECT_EQ(peerlane({"--machine", "h200-pair", "--fault", "store:0:1=freeze", "doctor"}, how).status, 2);
    EXPECT_THAT(folder_.names(), IsEmpty());
}

}  // namespace
}  // namespace peerlane::cli_tests
