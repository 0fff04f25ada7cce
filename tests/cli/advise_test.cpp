// peerlane advise: what it prints, writes and refuses.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/doctor.hpp"

namespace peerlane::cli_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(AdviseCommand, IsAScriptThatAShellTakes) {
    auto const done = typed("--machine h100-8 --fault push:2:5=flip advise --for vllm --gpus 4");
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr("SIMULATED"));
    EXPECT_THAT(done.out, HasSubstr("\nexport CUDA_VISIBLE_DEVICES=0,1,2,3\n"));
    std::istringstream lines(done.out);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_TRUE(line.empty() || line.rfind("#", 0) == 0 || line.rfind("export ", 0) == 0 ||
                    line.rfind("vllm serve ", 0) == 0)
            << line;
    }
}

TEST(AdviseCommand, WhatIsAvoidedIsAnExitStatusAndADocument) {
    auto const done = typed("--machine h200-pair --fault store:0:1=stale --format json advise");
    EXPECT_EQ(done.status, 1) << done.err;
    auto const document = nlohmann::json::parse(done.out);
    EXPECT_EQ(document["schema"], "peerlane.advice/1");
    EXPECT_EQ(document["settings"].back()["name"], "NCCL_P2P_DISABLE");
    EXPECT_EQ(document["pairs"][0]["standing"], "wrong");
    EXPECT_EQ(typed("--machine h200-pair --fault host:0:1=flip advise").status, 3);
}

TEST(AdviseCommand, TheFileIsWrittenWhereItIsAskedForAndNeverForASimulatedMachineByItself) {
    auto const folder = testing::TempDir() + "peerlane_advise_cache";
    std::filesystem::remove_all(folder);
    auto const done = typed("--machine h200-pair advise --for sglang --write --folder " + folder);
    EXPECT_EQ(done.status, 0) << done.err;
    auto const path = folder + "/gpu_p2p_access_cache_for_0,1.json";
    EXPECT_THAT(done.out, HasSubstr(path));
    std::ifstream file(path);
    auto const written = nlohmann::json::parse(file);
    EXPECT_EQ(written, (nlohmann::json{{"0->0", true}, {"0->1", true}, {"1->0", true}, {"1->1", true}}));
    std::filesystem::remove_all(folder);
    EXPECT_EQ(typed("--machine h200-pair advise --for sglang --write").status, 64);
    EXPECT_EQ(typed("--machine h200-pair advise --for nccl --write --folder " + folder).status, 64);
    EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(AdviseCommand, WrongWordsAreUsage) {
    for (auto const* const line : {"--machine h200-pair advise --for tensorflow", "--machine h200-pair advise --gpus 0",
                                   "--machine h200-pair advise --gpus 3", "--machine h200-pair advise --folder /tmp"}) {
        EXPECT_EQ(typed(line).status, 64) << line;
    }
}

}  // namespace
}  // namespace peerlane::cli_tests
