// `measure` on simulated machines: page, document, store, faults, exit statuses.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/ran.hpp"

namespace peerlane::cli_tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

double rate(const Json& profile, const std::string& from, const std::string& to, const std::string& issuer,
            std::uint64_t bytes) {
    for (auto const& leg : profile["legs"]) {
        if (leg["from"] == from && leg["to"] == to && leg["issuer"] == issuer && leg["engine"] == "copy") {
            for (auto const& point : leg["queued"]) {
                if (point["bytes"] == bytes) {
                    return static_cast<double>(bytes) / point["seconds"].get<double>() / 1e9;
                }
            }
        }
    }
    return 0;
}

constexpr std::uint64_t mebi64 = 64ULL << 20, gibi = 1ULL << 30;

TEST(CliMeasure, TellsLegsGroupsAccessAndCalls) {
    auto const ran = typed("--machine h200-pair measure");
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.err, "") << "progress only on a terminal";
    for (auto const* text : {"Simulated machine h200-pair", "gpu0  0000:00:06.0  NVIDIA H200", "full measurement",
                             "gpu0 > gpu1    copy pushed", "host:0 > gpu1  kernel",
                             "At the same time: 14 groups of legs", "Access in place", "Calls of the host"}) {
        EXPECT_THAT(ran.out, HasSubstr(text));
    }
    EXPECT_EQ(typed("--machine h200-pair measure").out, ran.out) << "equal commands print equal bytes";
}

TEST(CliMeasure, JsonIsTheSavedDocument) {
    Folder const folder;
    auto const ran =
        peerlane({"--machine", "h200-pair", "--format", "json", "--save", folder.file("p.json"), "measure"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(text_of(folder.file("p.json")), ran.out);
    auto const json = Json::parse(ran.out);
    EXPECT_EQ(json["schema"], "peerlane.profile/1");
    EXPECT_EQ(json["simulated"], true);
    EXPECT_EQ(json["complete"], true);
    EXPECT_EQ(json["key"].get<std::string>().size(), 32U);
    EXPECT_EQ(json["legs"].size(), 16U);
    EXPECT_NEAR(rate(json, "gpu0", "gpu1", "gpu0", gibi), 396.7, 4);
    EXPECT_NEAR(rate(json, "gpu1", "host:0", "gpu1", gibi), 55.3, 0.6);
}

TEST(CliMeasure, FaultsShowAndLegsThatAreNotRightAreLeftOut) {
    auto const measured = [](const std::string& faults) {
        auto const ran = typed("--machine h200-pair " + faults + " --format json measure --quick");
        EXPECT_EQ(ran.status, 0) << ran.err;
        return Json::parse(ran.out);
    };
    auto const slow = measured("--fault rate:0:1=100GB/s");
    EXPECT_NEAR(rate(slow, "gpu0", "gpu1", "gpu0", mebi64), 100, 2);
    EXPECT_NEAR(rate(slow, "gpu1", "gpu0", "gpu1", mebi64), 391, 5);
    auto const wrong = measured("--fault push:0:1=flip");
    EXPECT_EQ(rate(wrong, "gpu0", "gpu1", "gpu0", mebi64), 0);
    EXPECT_GT(rate(wrong, "gpu0", "gpu1", "gpu1", mebi64), 300);
    auto const hangs = measured("--fault push:0:1=hang");
    EXPECT_EQ(rate(hangs, "gpu0", "gpu1", "gpu0", mebi64), 0);
    EXPECT_GT(rate(hangs, "gpu0", "gpu1", "gpu1", mebi64), 300);
}

TEST(CliMeasure, WhatFailsLaterIsToldAndMakesItDegraded) {
    auto const ran = typed("--machine h200-pair --fault link:0:1=down@900ms measure");  // after the proof
    EXPECT_EQ(ran.status, 1) << ran.out;
    EXPECT_THAT(ran.out, HasSubstr("Not measured"));
    EXPECT_THAT(ran.out, HasSubstr("link failed"));
    EXPECT_THAT(ran.out, HasSubstr("gpu0 > gpu1    copy pushed"));
    EXPECT_THAT(ran.out, HasSubstr("host:0 > gpu1  kernel"));
    auto const lost = typed("--machine h200-pair --fault pull:1:0@32MiB+=error700 measure --quick");
    EXPECT_EQ(lost.status, 2) << lost.out;
    EXPECT_THAT(lost.out, HasSubstr("NOT COMPLETE"));
    EXPECT_THAT(lost.out, HasSubstr("gpu0 > gpu1, pulled by gpu1: "));
}

TEST(CliMeasure, KeepsAndShowsAndNeverUsesAStaleProfileSilently) {
    Folder const folder;
    auto const cache = folder.file("cache/profile.json");
    std::string const pair = "--machine h200-pair ";
    auto const none = typed(pair + "measure --show --cache " + cache);
    EXPECT_EQ(none.status, 3);
    EXPECT_THAT(none.err, HasSubstr("no profile of this machine is stored"));
    auto const first = typed(pair + "--format json measure --quick --cache " + cache);
    EXPECT_EQ(first.status, 0);
    auto const shown = typed(pair + "--format json measure --show --cache " + cache);
    EXPECT_EQ(shown.status, 0);
    EXPECT_EQ(shown.out, first.out);
    EXPECT_THAT(typed(pair + "measure --quick --cache " + cache).out, HasSubstr("stored (--fresh measures again)"));
    EXPECT_THAT(typed(pair + "measure --quick --fresh --cache " + cache).out, Not(HasSubstr("stored")));

    auto const other = typed(pair + "--fault rate:0:1=x0.5 measure --quick --cache " + cache);
    EXPECT_EQ(other.status, 0);
    EXPECT_THAT(other.err, HasSubstr("the stored profile is not used"));
    EXPECT_THAT(other.err, HasSubstr("faults"));
    EXPECT_THAT(other.out, Not(HasSubstr("stored")));
    auto const stale = typed(pair + "measure --show --cache " + cache);
    EXPECT_EQ(stale.status, 3);
    EXPECT_THAT(stale.err, HasSubstr("faults"));

    auto const full = typed(pair + "--format json measure --cache " + cache);
    EXPECT_EQ(Json::parse(full.out)["quick"], false);
    EXPECT_EQ(typed(pair + "--format json measure --quick --cache " + cache).out, full.out) << "does for a quick one";

    std::ofstream(cache) << "{";
    auto const damaged = typed(pair + "measure --quick --cache " + cache);
    EXPECT_EQ(damaged.status, 0);
    EXPECT_THAT(damaged.err, HasSubstr("the stored profile is not used"));
}

TEST(CliMeasure, AFileWhoseFiguresChangedIsAnotherMachine) {
    Folder const folder;
    auto text = text_of(PEERLANE_SOURCE_DIR "/machines/h200-pair.json");
    auto const machine = folder.file("m.json", text);
    auto const command = "--machine " + machine + " measure --quick --cache " + folder.file("p.json");
    EXPECT_EQ(typed(command).err, "");
    EXPECT_EQ(typed(command).err, "");
    auto const at = text.find("\"to_device_gbs\": {\"value\": 55.5");
    ASSERT_NE(at, std::string::npos);
    folder.file("m.json", text.replace(at, 31, "\"to_device_gbs\": {\"value\": 45.5"));
    EXPECT_THAT(typed(command).err, HasSubstr("figures changed"));
}

TEST(CliMeasure, OfSomeDevicesIsNotStored) {
    Folder const folder;
    auto const ran = typed("--machine dgx-1v -i 0,3 --format json measure --quick --cache " + folder.file("p.json"));
    EXPECT_EQ(ran.status, 0) << ran.err;
    auto const json = Json::parse(ran.out);
    for (auto const& leg : json["legs"]) {
        for (auto const* end : {"from", "to"}) {
            auto const place = leg[end].get<std::string>();
            EXPECT_TRUE(place == "gpu0" || place == "gpu3" || place.rfind("host:", 0) == 0) << place;
        }
    }
    EXPECT_FALSE(std::filesystem::exists(folder.file("p.json")));
}

TEST(CliMeasure, WithoutPeerAccessHostLegsAreMeasured) {
    auto const ran = typed("--machine rtx3090-no-p2p-8 -i 0,1 measure --quick");
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("gpu0 > host"));
    EXPECT_THAT(ran.out, Not(HasSubstr("gpu0 > gpu1")));
}

TEST(CliMeasure, Usage) {
    EXPECT_EQ(typed("--machine h200-pair measure --show --quick").status, 64);
    EXPECT_EQ(typed("--machine h200-pair measure 0").status, 64);
    EXPECT_EQ(peerlane({"--machine", "h200-pair", "measure", "--cache", ""}).status, 64);
    EXPECT_EQ(peerlane({"--machine", "-", "measure", "--cache", "x"},
                       {.input = text_of(PEERLANE_SOURCE_DIR "/machines/h200-pair.json")})
                  .status,
              64);
    EXPECT_EQ(typed("--machine no-such measure").status, 66);
}

TEST(CliMeasure, MarkdownHasTables) {
    auto const ran = typed("--machine h200-pair --format markdown measure --quick");
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.out, HasSubstr("| gpu0 > gpu1 | copy pushed |"));
}

}  // namespace
}  // namespace peerlane::cli_tests
