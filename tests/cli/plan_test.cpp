// `plan` on simulated machines: table, document, access questions, busy links, profiles from files, exit statuses.

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/ran.hpp"

namespace peerlane::cli_tests {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

Json planned(const std::string& line, int status = 0) {
    auto const ran = typed("--format json " + line);
    EXPECT_EQ(ran.status, status) << line << "\n" << ran.err;
    return Json::parse(ran.out);
}

TEST(CliPlan, PrintsTheChoiceAndTheRunnerUpForEachSize) {
    auto const ran = typed("--machine h200-pair plan 0 1 64KiB 1MiB 1GiB");
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.err, "");
    for (auto const* text :
         {"Simulated machine h200-pair", "Costs are measured: profile", "next best", "margin", "64 KiB  push",
          "1 GiB   8", "% push + 1", "% staged host:0", "64 KiB: why", "All sizes"}) {
        EXPECT_THAT(ran.out, HasSubstr(text));
    }
    EXPECT_EQ(typed("--machine h200-pair plan 0 1 64KiB 1MiB 1GiB").out, ran.out) << "equal commands, equal bytes";
}

TEST(CliPlan, TheDocumentHasTheKeysOfTheSchema) {
    auto const json = planned("--machine h200-pair plan 0 1 1GiB");
    EXPECT_EQ(json["schema"], "peerlane.plan/1");
    EXPECT_EQ(json["simulated"], true);
    EXPECT_EQ(json["costs"], "measured");
    EXPECT_EQ(json["request"]["from"], "gpu0");
    auto const choice = json["choices"][0];
    EXPECT_EQ(choice["bytes"], 1 << 30);
    EXPECT_EQ(choice["access"], "copy");
    ASSERT_EQ(choice["routes"].size(), 2U);
    EXPECT_NEAR(choice["routes"][1]["share"].get<double>(), 0.11, 0.01) << "through the host";
    EXPECT_EQ(choice["routes"][0]["legs"][0]["issuer"], "gpu0");
    EXPECT_GT(choice["margin"].get<double>(), 0.05);
    ASSERT_GE(choice["rejected"].size(), 4U);
    EXPECT_GT(choice["rejected"][0]["predicted_s"], choice["predicted_s"]);
    EXPECT_FALSE(choice["reasons"][0]["because"].empty());
    EXPECT_GE(json["ranges"].size(), 2U);
    EXPECT_EQ(json["ranges"][0]["from_bytes"], 0);
}

TEST(CliPlan, RelaysWhereTheDirectWayIsSlow) {
    auto const json = planned("--machine v100-partial-mesh plan 0 3 1GiB");
    auto const choice = json["choices"][0];
    EXPECT_EQ(choice["routes"][0]["legs"][0]["to"], "gpu1");
    EXPECT_EQ(choice["routes"][1]["legs"][0]["to"], "gpu2");
    EXPECT_GT(choice["predicted_gbs"].get<double>(), 70);
}

TEST(CliPlan, SaysRemoteCopyOrKeep) {
    auto const access = [](const std::string& options, const char* size = "256MiB") {
        auto const json = planned(std::string("--machine h200-pair plan 0 1 ") + size + " " + options);
        return json["choices"][0]["access"].get<std::string>();
    };
    EXPECT_EQ(access("--touches 4"), "copy");
    EXPECT_EQ(access("--touches 4 --capacity 1GiB"), "keep");
    EXPECT_EQ(access("--pattern scattered:4"), "copy");
    EXPECT_EQ(access("--touches 1", "64KiB"), "remote");
    auto const once = planned("--machine h200-pair plan 0 1 256MiB --touches 1")["choices"][0];
    EXPECT_LE(once["margin"].get<double>(), 0.06) << "about as fast";
}

TEST(CliPlan, ABusyLinkChangesTheAnswer) {
    auto const seconds = [](const std::string& options) {
        return planned("--machine v100-partial-mesh plan 0 3 256MiB" + options)["choices"][0]["predicted_s"]
            .get<double>();
    };
    EXPECT_GT(seconds(" --busy 0:1"), seconds("") * 1.1);
}

TEST(CliPlan, PlansFromAProfileInAFile) {
    Folder const folder;
    auto const file = folder.file("profile.json");
    ASSERT_EQ(peerlane({"--machine", "h200-pair", "--format", "json", "--save", file, "measure", "--quick"}).status, 0);
    auto const ran =
        peerlane({"--machine", "h200-pair", "--format", "json", "plan", "0", "1", "1GiB", "--profile", file});
    ASSERT_EQ(ran.status, 0) << ran.err;
    auto const json = Json::parse(ran.out);
    EXPECT_EQ(json["costs"], "given");
    EXPECT_EQ(json["choices"][0]["routes"].size(), 2U);
    std::ofstream(folder.file("bad.json")) << "{}";
    EXPECT_EQ(
        peerlane({"--machine", "h200-pair", "plan", "0", "1", "1GiB", "--profile", folder.file("bad.json")}).status,
        65);
    EXPECT_EQ(typed("--machine h200-pair plan 0 1 1GiB --profile nowhere.json").status, 66);
}

TEST(CliPlan, NothingIsPlannedOverWhatIsWrong) {
    auto const json = planned("--machine h200-pair --fault push:0:1=flip --fault store:0:1=zero plan 0 1 64KiB");
    EXPECT_EQ(json["choices"][0]["routes"][0]["legs"][0]["issuer"], "gpu1") << "pulled instead";
    auto const all = planned(
        "--machine h200-pair --fault push:0:1=flip --fault store:0:1=flip --fault pull:1:0=zero --fault load:1:0=zero "
        "--fault host:0:1=flip plan 0 1 1MiB",
        3);
    EXPECT_TRUE(all["choices"][0]["routes"].empty());
    EXPECT_TRUE(all["choices"][0]["predicted_s"].is_null());
}

TEST(CliPlan, NominalWithoutMeasuring) {
    auto const json = planned("--machine dgx-1v plan 0 1 1MiB --nominal --trust claimed");
    EXPECT_EQ(json["costs"], "nominal");
    EXPECT_EQ(json["trust_claimed"], true);
    EXPECT_EQ(typed("--machine dgx-1v plan 0 1 1MiB --nominal").status, 64);
}

TEST(CliPlan, RefusesWhatMeansNothing) {
    for (auto const* line :
         {"plan 0 0 1MiB", "plan 0 7 1MiB", "plan host host 1MiB", "plan 0 1 0", "plan 0 1 much", "plan 0 1",
          "plan 0 1 1MiB --touches 0", "plan 0 1 1MiB --pattern odd", "plan 0 1 1MiB --pattern scattered:0",
          "plan 0 1 1MiB --busy 0", "plan 0 1 1MiB --busy 0:9", "plan 0 1 1MiB --page-size 3000",
          "plan 0 host 1MiB --touches 2", "plan 0 1 1MiB --trust me", "plan 0 1 1MiB --profile a --nominal"}) {
        EXPECT_EQ(typed(std::string("--machine h200-pair ") + line).status, 64) << line;
    }
}

}  // namespace
}  // namespace peerlane::cli_tests
