// `topo`: what it prints of a machine, in every format.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/ran.hpp"

namespace peerlane::cli_tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

Json json_of(const Ran& ran) {
    EXPECT_EQ(ran.status, 0) << ran.err;
    return Json::parse(ran.out);
}

TEST(CliTopo, TableShowsDevicesWithBusAndPathsWithNominalRates) {
    auto const ran = typed("--machine h200-pair topo");
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_THAT(ran.out, HasSubstr("gpu1    0000:00:07.0  NVIDIA H200"));
    EXPECT_THAT(ran.out, HasSubstr("NV18 (478.1)"));
    EXPECT_THAT(ran.out, Not(HasSubstr("\x1b"))) << "no colours where nobody looks";
}

TEST(CliTopo, GlobalOptionsStandBeforeOrAfterTheCommand) {
    auto const before = typed("--machine dgx-1v --format json topo");
    auto const after = typed("topo --format json --machine dgx-1v");
    EXPECT_EQ(before.status, 0);
    EXPECT_EQ(before.out, after.out);
}

TEST(CliTopo, ColoursOnlyWhenAskedForOrSeen) {
    EXPECT_THAT(typed("--machine dgx-1v --color always topo").out, HasSubstr("\x1b[32mNV2"));
    EXPECT_THAT(typed("--machine dgx-1v --color always topo", {.environment = {"NO_COLOR=1"}}).out, HasSubstr("\x1b["));
    EXPECT_THAT(typed("--machine dgx-1v --color never topo").out, Not(HasSubstr("\x1b")));
    EXPECT_THAT(typed("--machine dgx-1v --color always --format json topo").out, Not(HasSubstr("\x1b")));
}

TEST(CliTopo, JsonListsEveryDirectedPair) {
    auto const json = json_of(typed("--machine dgx-1v --format json topo"));
    EXPECT_EQ(json["schema"], "peerlane.machine/1");
    EXPECT_EQ(json["origin"]["kind"], "named");
    EXPECT_EQ(json["devices"].size(), 8);
    EXPECT_EQ(json["pairs"].size(), 56);
    for (auto const* key : {"accessor", "owner", "path", "nvlinks", "nominal_gbs", "claim", "measured"}) {
        EXPECT_TRUE(json["pairs"][0].contains(key)) << key;
    }
    for (auto const* key : {"id", "model", "bus", "uuid", "numa"}) {
        EXPECT_TRUE(json["devices"][0].contains(key)) << key;
    }
}

TEST(CliTopo, JsonReadsBackAsTheSameMachine) {
    Folder const folder;
    auto const first = peerlane({"--machine", "a100-8", "--format", "json", "--save", folder.file("m.json"), "topo"});
    ASSERT_EQ(first.status, 0);
    EXPECT_EQ(text_of(folder.file("m.json")), first.out);
    auto const again = peerlane({"--machine", folder.file("m.json"), "--format", "json", "topo"});
    auto machine = json_of(first), same = json_of(again);
    EXPECT_EQ(same["origin"]["files"][0], folder.file("m.json"));
    machine["origin"].erase("files");
    same["origin"].erase("files");
    EXPECT_EQ(machine, same);
}

TEST(CliTopo, LimitedDevicesKeepTheirNumbers) {
    auto const json = json_of(typed("--machine dgx-1v -i 3,0 -i 6 --format json topo"));
    std::vector<int> ids;
    for (auto const& device : json["devices"]) {
        ids.push_back(device["id"]);
    }
    EXPECT_EQ(ids, (std::vector{0, 3, 6}));
    EXPECT_EQ(json["pairs"].size(), 6);
    auto const table = typed("--machine dgx-1v -i 0,3 topo").out;
    EXPECT_THAT(table, HasSubstr("gpu3"));
    EXPECT_THAT(table, Not(HasSubstr("gpu1")));
}

TEST(CliTopo, FaultsShowInTheClaims) {
    auto const json = json_of(typed("--machine h200-pair --fault claim:0:1=no --format json topo"));
    EXPECT_EQ(json["pairs"][0]["claim"], false);
    EXPECT_EQ(json["pairs"][1]["claim"], true);
}

TEST(CliTopo, FabricIsAdded) {
    auto const json = json_of(typed("--machine a6000-6 --fabric nvlink:18@26.56GB/s --format json topo"));
    EXPECT_EQ(json["pairs"][0]["path"], "NV");
    EXPECT_EQ(json["pairs"][0]["nvlinks"], 18);
}

TEST(CliTopo, OtherFormats) {
    EXPECT_THAT(typed("--machine dgx-1v --format tree topo").out, HasSubstr("gpu0"));
    EXPECT_THAT(typed("--machine dgx-1v --format dot topo").out, HasSubstr("graph"));
    EXPECT_THAT(typed("--machine dgx-1v --format nccl-xml topo").out, StartsWith("<system"));
    EXPECT_THAT(typed("--machine dgx-1v --format markdown topo").out, HasSubstr("\n| gpu0 | X | NV1 (25.8) |"));
}

TEST(CliTopo, SvgWhereGraphvizIs) {
    auto const ran = typed("--machine dgx-2 --format svg topo");
    if (ran.status == 3) {
        EXPECT_THAT(ran.err, HasSubstr("install graphviz"));
        GTEST_SKIP() << "Graphviz is not installed";
    }
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.out, HasSubstr("<svg"));
}

TEST(CliTopo, SvgWithoutGraphvizSaysWhatToDo) {
    auto const ran = typed("--machine dgx-1v --format svg topo", {.environment = {"PATH=/nowhere"}});
    EXPECT_EQ(ran.status, 3);
    EXPECT_THAT(ran.err, HasSubstr("--format dot"));
}

TEST(CliTopo, ListNamesEveryShippedMachine) {
    auto const list = typed("topo --list");
    EXPECT_EQ(list.status, 0);
    auto const json = json_of(typed("topo --list --format json"));
    std::size_t files = 0;
    for (auto const& entry : std::filesystem::directory_iterator(PEERLANE_SOURCE_DIR "/machines")) {
        files += entry.path().extension() == ".json" ? 1 : 0;
        if (entry.path().extension() == ".json") {
            EXPECT_THAT(list.out, HasSubstr(entry.path().stem().string() + " "));
        }
    }
    EXPECT_EQ(json["machines"].size(), files);
    for (auto const& machine : json["machines"]) {
        EXPECT_GE(machine["devices"].get<int>(), 2) << machine;
        EXPECT_FALSE(machine["about"].get<std::string>().empty()) << machine;
        EXPECT_EQ(peerlane({"--machine", machine["name"], "topo"}).status, 0);
    }
}

TEST(CliTopo, StandardInputAndOneLineMachines) {
    auto const table = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tNV4\t0-3\nGPU1\tNV4\tX\t0-3\n";
    auto const json = json_of(typed("--machine - --format json topo", {.input = table}));
    EXPECT_EQ(json["pairs"][0]["nvlinks"], 4);
    EXPECT_EQ(json["origin"]["files"][0], "standard input");
    EXPECT_EQ(json_of(typed("--machine sim:gpu=4 --format json topo"))["devices"].size(), 4);
    EXPECT_EQ(typed("--machine sim:gpux=4 topo").status, 65);
}

// Must show of the first issue, with the files that people sent in.
TEST(CliTopo, SharedMachines) {
    std::string const shared = std::string(PEERLANE_SHARED_DIR) + "/machines/";
    if (!std::filesystem::exists(shared)) {
        GTEST_SKIP() << shared << " is not here";
    }
    for (auto const* name : {"topo-m-8gpu-nv18-10nic-ansi.txt", "nccl-oci-H100-topology.xml"}) {
        auto const json = json_of(peerlane({"--machine", shared + name, "--format", "json", "topo"}));
        EXPECT_EQ(json["devices"].size(), 8) << name;
        EXPECT_EQ(json["pairs"].size(), 56) << name;
        for (auto const& pair : json["pairs"]) {
            EXPECT_EQ(pair["path"], "NV") << name << pair;
            EXPECT_EQ(pair["nvlinks"], 18) << name << pair;
        }
    }
    auto const azure = json_of(peerlane({"--machine", shared + "nccl-azure-ncv4.xml", "--format", "json", "topo"}));
    std::vector<std::string> notices;
    for (auto const& notice : azure["notices"]) {
        notices.push_back(notice["text"]);
    }
    EXPECT_THAT(notices, testing::Contains(HasSubstr("self-link: device 3")));
}

}  // namespace
}  // namespace peerlane::cli_tests
