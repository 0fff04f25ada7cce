// compare, doctor --expect, --passive, --prometheus, --exit and --oneline: what people and watchers see.

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/doctor.hpp"

namespace peerlane::cli_tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

class Folder : public testing::Test {
  protected:
    void SetUp() override {
        folder_ =
            testing::TempDir() + "peerlane_watch_" + testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string at(const std::string& name) const { return folder_ + "/" + name; }
    std::string folder_;
};
using Comparing = Folder;
using Watching = Folder;

TEST_F(Comparing, TwoHundredSavedFilesOfWhichThreeAreOdd) {
    ASSERT_EQ(typed("--machine h100-8 -i 0,1,2,3 --save " + at("good") + " doctor").status, 0);
    ASSERT_EQ(typed("--machine h100-8 -i 0,1,2,3 --fault rate:3:1=x0.5 --save " + at("slow") + " doctor").status, 0);
    ASSERT_EQ(typed("--machine h100-8 -i 0,1,2,3 --fault load:2:0=zero --save " + at("wrong") + " doctor").status, 2);
    ASSERT_EQ(typed("--machine h100-8 -i 0,1,2 --save " + at("three") + " doctor").status, 0);
    std::string files;
    for (int i = 0; i < 200; ++i) {
        auto const* const of = i == 20 ? "slow" : i == 99 ? "wrong" : i == 150 ? "three" : "good";
        auto const name = at("node-" + std::to_string(i) + ".json");
        std::filesystem::copy_file(at(of), name);
        files += " " + name;
    }
    auto const done = typed("--format json compare" + files);
    EXPECT_EQ(done.status, 2) << done.err;
    auto const document = nlohmann::json::parse(done.out);
    EXPECT_EQ(document["nodes"], 200);
    ASSERT_EQ(document["odd"].size(), 3U) << document["odd"];
    EXPECT_EQ(document["odd"][0]["name"], at("node-99.json"));
    EXPECT_EQ(document["odd"][0]["differences"][0]["text"], "2:0 load wrong (zero)");
    EXPECT_EQ(document["odd"][1]["name"], at("node-150.json"));
    EXPECT_EQ(document["odd"][1]["differences"][0]["text"], "3 devices, not 4");
    EXPECT_EQ(document["odd"][2]["name"], at("node-20.json"));
    EXPECT_THAT(document["odd"][2]["differences"][0]["text"].get<std::string>(), StartsWith("3>1 is 4"));
    EXPECT_THAT(typed("compare" + files).out, StartsWith("200 nodes, 197 alike: 4 x NVIDIA H100"));
}

TEST_F(Comparing, RecordsAndSavedDocumentsTellTheSame) {
    ASSERT_EQ(typed("--machine h200-pair --save " + at("v") + " doctor --record " + at("r")).status, 0);
    auto const done = typed("compare " + at("v") + " " + at("r") + " " + at("v"));
    EXPECT_EQ(done.status, 0) << done.out;
    EXPECT_THAT(done.out, HasSubstr("nothing differs"));
}

TEST_F(Comparing, WhatCannotBeReadIsNamedBesideTheOthers) {
    ASSERT_EQ(typed("--machine h200-pair --save " + at("v") + " doctor").status, 0);
    std::ofstream(at("empty")).close();
    auto const done = typed("compare " + at("v") + " " + at("empty"));
    EXPECT_EQ(done.status, 65);
    EXPECT_THAT(done.out, HasSubstr("unreadable"));
    EXPECT_EQ(typed("compare " + at("nowhere")).status, 66);
    EXPECT_EQ(typed("--machine h200-pair compare " + at("v")).status, 64);
    EXPECT_EQ(typed("compare --tolerance 101 " + at("v")).status, 64);
}

TEST_F(Comparing, AMachineIsJudgedAgainstAGoldenOne) {
    ASSERT_EQ(typed("--machine h200-pair --save " + at("golden") + " doctor").status, 0);
    auto const same = typed("--machine h200-pair doctor --expect " + at("golden"));
    EXPECT_EQ(same.status, 0) << same.out;
    EXPECT_THAT(same.out, HasSubstr("as expected"));
    auto const slow = typed("--machine h200-pair --fault rate:0:1=200GB/s doctor --expect " + at("golden"));
    EXPECT_EQ(slow.status, 1) << slow.out;
    EXPECT_THAT(slow.out, HasSubstr("rate: 0>1 is 4"));
    EXPECT_EQ(
        typed("--machine h200-pair --fault rate:0:1=200GB/s doctor --tolerance 60 --expect " + at("golden")).status, 0);
    EXPECT_EQ(typed("--machine h200-pair doctor --expect " + at("nowhere")).status, 66);
}

TEST_F(Watching, ASoakLoadsAllPairsAndSaysWhatItMoved) {
    auto const done = typed("--machine h200-pair --format json doctor --soak 200ms");
    EXPECT_EQ(done.status, 0) << done.err;
    auto const soak = nlohmann::json::parse(done.out)["doctor"]["soak"];
    EXPECT_NEAR(soak["loaded_s"].get<double>(), 0.2, 1e-6);
    EXPECT_GT(soak["loads"], 3);
    EXPECT_GT(soak["proofs"], 0);
    EXPECT_GT(soak["bytes"], 1e10);
    EXPECT_TRUE(soak["failure"].is_null());
    auto const text = typed("--machine h200-pair doctor --soak 50ms").out;
    EXPECT_THAT(text, HasSubstr("\nSoak\n"));
    EXPECT_THAT(text, Not(HasSubstr("not tested: sustained load")));
}

TEST_F(Watching, ALinkThatGoesDownDuringTheSoakIsToldWithTimeAndPair) {
    ASSERT_EQ(typed("--machine h100-8 -i 0,1,2 --fault link:0:1=down@300ms doctor").status, 0)
        << "the proof is over then";
    auto const done = typed("--machine h100-8 -i 0,1,2 --fault link:0:1=down@300ms --format json doctor --soak 2s");
    EXPECT_EQ(done.status, 2);
    auto const soak = nlohmann::json::parse(done.out)["doctor"]["soak"];
    auto const failure = soak["failure"].get<std::string>();
    EXPECT_THAT(failure, HasSubstr("error"));
    EXPECT_THAT(failure, HasSubstr(" of load"));
    EXPECT_TRUE(failure.find("0 to 1") != std::string::npos || failure.find("1 to 0") != std::string::npos ||
                failure.find("0:1") != std::string::npos || failure.find("1:0") != std::string::npos)
        << failure;
    EXPECT_LT(soak["loaded_s"].get<double>(), 0.5) << "it ends with what failed";
}

TEST_F(Watching, ASoakThatMakesNoSenseIsUsage) {
    for (auto const* const words :
         {"--soak 0s", "--soak soon", "--soak 30m", "--soak 1s --quick", "--soak 1s --passive"}) {
        EXPECT_EQ(typed(std::string("--machine h200-pair doctor ") + words).status, 64) << words;
    }
}

TEST_F(Watching, PassiveMovesNothingAndReportsWhatTheSystemSays) {
    auto const done = typed("--machine h100-8 --fault fact:nvlink:3:5=down --format json doctor --passive");
    EXPECT_EQ(done.status, 1) << done.out;
    auto const document = nlohmann::json::parse(done.out);
    EXPECT_EQ(document["doctor"]["passive"], true);
    EXPECT_EQ(document["pairs"][0]["checks"]["claim"]["result"], "ok");
    EXPECT_EQ(document["pairs"][0]["checks"]["push"]["result"], "skipped");
    auto const fine = typed("--machine h200-pair doctor --passive");
    EXPECT_EQ(fine.status, 0) << fine.out;
    EXPECT_THAT(fine.out, HasSubstr("nothing was moved"));
    EXPECT_THAT(fine.out, HasSubstr("2 of 2 directed pairs are claimed"));
    EXPECT_EQ(typed("--machine h200-pair --fault push:0:1=hang doctor --passive").status, 0) << "nothing was pushed";
    EXPECT_EQ(typed("--machine h200-pair doctor --passive --quick").status, 64);
}

TEST_F(Watching, MetricsAreWrittenWholeWhateverWasFound) {
    EXPECT_EQ(typed("--machine h200-pair --fault push:0:1=flip doctor --prometheus " + at("m.prom")).status, 2);
    auto const text = read(at("m.prom"));
    EXPECT_THAT(text, HasSubstr("peerlane_status{status=\"broken\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("peerlane_simulated 1\n"));
    EXPECT_THAT(text, HasSubstr("peerlane_findings{code=\"claim-broken\",severity=\"error\"} 1\n"));
    EXPECT_EQ(typed("--machine h200-pair doctor --prometheus " + at("no/m.prom")).status, 66);
    int files = 0;
    for (auto const& entry : std::filesystem::directory_iterator(folder_)) {
        files += entry.is_regular_file() ? 1 : 0;
    }
    EXPECT_EQ(files, 1) << "nothing half-written is left";
}

TEST_F(Watching, ExitsAsOthersExpectIt) {
    auto const status = [](const std::string& fault, const std::string& convention) {
        return typed("--machine h200-pair " + fault + " doctor --oneline --exit " + convention);
    };
    EXPECT_EQ(status("", "nagios").status, 0);
    EXPECT_EQ(status("--fault rate:0:1=9.9GB/s", "nagios").status, 1);
    EXPECT_EQ(status("--fault push:0:1=flip", "nagios").status, 2);
    EXPECT_EQ(status("--fault host:0:1=flip", "nagios").status, 3);
    EXPECT_EQ(status("--fault push:0:1=flip", "npd").status, 1);
    EXPECT_EQ(status("--fault host:0:1=flip", "npd").status, 2);
    auto const line = status("--fault push:0:1=flip", "nagios").out;
    EXPECT_THAT(line, StartsWith("PEERLANE CRITICAL - broken: 1 of 2 directed pairs delivers wrong bytes"));
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
    auto const unknown = typed("--machine h200-pair doctor --exit nagios --pair 7:8");
    EXPECT_EQ(unknown.status, 3);
    EXPECT_THAT(unknown.out, StartsWith("PEERLANE UNKNOWN - "));
    EXPECT_EQ(typed("--machine h200-pair doctor --exit icinga").status, 64);
    EXPECT_EQ(typed("--machine h200-pair --format json doctor --oneline").status, 64);
}

TEST_F(Watching, OneLineIsOneLine) {
    auto const done = typed("--machine h200-pair doctor --oneline");
    EXPECT_EQ(done.status, 0);
    EXPECT_EQ(done.out, "healthy: 2 of 2 directed pairs proven right\n");
}

}  // namespace
}  // namespace peerlane::cli_tests
