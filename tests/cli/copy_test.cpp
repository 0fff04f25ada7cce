// `copy` on simulated machines: proof, plan, verified bytes, exit status; with faults and without.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/ran.hpp"

namespace peerlane::cli_tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

const std::string all_four_wrong =
    " --fault push:0:1=flip --fault store:0:1=flip --fault pull:1:0=zero --fault load:1:0=zero";

Json document(const std::string& line, int status) {
    auto const ran = typed("--format json " + line);
    EXPECT_EQ(ran.status, status) << line << "\n" << ran.err;
    return Json::parse(ran.out);
}

TEST(CliCopy, TellsProofPlanAndResult) {
    auto const ran = typed("--machine h200-pair copy 0 1 256MiB");
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_THAT(ran.out, testing::StartsWith("Simulated machine h200-pair"));
    for (auto const* text :
         {"gpu0  0000:00:06.0", "0 writes 1: push ok", "1 reads 0: pull ok", "store ok", "load ok",
          "0>1 through the host: ok", "1>0 through the host: ok", "direct, pushed by gpu0", "not staged through host:0",
          "verified, every byte checked by gpu1", "achieved", "predicted"}) {
        EXPECT_THAT(ran.out, HasSubstr(text));
    }
}

TEST(CliCopy, PlansFromAMeasuredProfileAndSaysSo) {
    Folder const folder;
    auto const file = folder.file("p.json");
    ASSERT_EQ(typed("--machine h200-pair --fault rate:0:1=9GB/s --save " + file + " measure --quick").status, 0);
    auto const slow = typed("--machine h200-pair copy 0 1 256MiB --profile " + file);
    EXPECT_EQ(slow.status, 0) << slow.err;
    EXPECT_THAT(slow.out, HasSubstr("because costs are those of " + file));
    EXPECT_THAT(slow.out, HasSubstr("staged through host:0")) << "what the profile says is slow is left";
    EXPECT_THAT(slow.out, HasSubstr("verified"));
    auto const none = typed("--machine h200-pair copy 0 1 256MiB");
    EXPECT_THAT(none.out, Not(HasSubstr("costs are"))) << "of a simulated machine nothing is stored";
    EXPECT_EQ(typed("--machine h200-pair copy 0 1 1MiB --profile " + folder.file("none")).status, 66);
}

TEST(CliCopy, JsonHasTheKeysOfTheSchema) {
    auto const json = document("--machine h200-pair copy 0 1 256MiB", 0);
    EXPECT_EQ(json["schema"], "peerlane.transfer/1");
    EXPECT_EQ(json["simulated"], true);
    EXPECT_EQ(json["bytes"], 256 << 20);
    EXPECT_EQ(json["result"], "ok");
    EXPECT_EQ(json["verified"], true);
    EXPECT_TRUE(json["code"].is_null());
    EXPECT_TRUE(json["wrong"].is_null());
    EXPECT_GT(json["predicted_s"], 0);
    EXPECT_NEAR(json["gbs"].get<double>() * 1e9 * json["seconds"].get<double>(), 256 << 20, 1);
    auto const leg = json["plan"]["routes"][0]["legs"][0];
    EXPECT_EQ(leg, (Json{{"from", "gpu0"}, {"to", "gpu1"}, {"engine", "copy"}, {"issuer", "gpu0"}}));
}

TEST(CliCopy, PagesAreMovedByOneKernelAndChecked) {
    auto const json = document("--machine h200-pair copy 0 1 64MiB --page-size 16KiB", 0);
    EXPECT_EQ(json["verified"], true);
    EXPECT_EQ(json["plan"]["routes"][0]["legs"][0]["engine"], "kernel");
    EXPECT_GT(json["gbs"].get<double>(), 300);  // a call a page would give 6
    EXPECT_EQ(document("--machine h200-pair copy host 1 3MiB --page-size 512", 0)["verified"], true);
    EXPECT_EQ(document("--machine dgx-1v copy 0 5 1MiB --page-size 1KiB", 0)["verified"], true);  // nothing mapped
    auto const wrong =
        document("--machine h200-pair --fault load:1:0=flip copy 0 1 1MiB --page-size 4KiB --trust claimed", 2);
    EXPECT_EQ(wrong["wrong"]["kind"], "flip");
    auto const avoided = document("--machine h200-pair --fault load:1:0=flip copy 0 1 1MiB --page-size 4KiB", 1);
    EXPECT_EQ(avoided["plan"]["routes"][0]["legs"][0]["issuer"], "gpu0");  // pushed
    EXPECT_THAT(typed("--machine h200-pair copy 0 1 1MiB --page-size 1000").err, HasSubstr("no whole number of pages"));
    EXPECT_EQ(typed("--machine h200-pair copy 0 1 1MiB --page-size 0").status, 64);
    EXPECT_EQ(typed("--machine h200-pair copy 0 1 1MiB --page-size 4KiB --route direct").status, 64);
}

TEST(CliCopy, RatesOfTheRealPair) {
    EXPECT_NEAR(document("--machine h200-pair copy 0 1 256MiB --route direct", 0)["gbs"], 396, 0.03 * 396);
    EXPECT_NEAR(document("--machine h200-pair copy 0 1 256MiB --route staged", 0)["gbs"], 52, 0.06 * 52);
}

TEST(CliCopy, RelaysAndSplitsOnDemand) {
    auto const relayed = document("--machine v100-partial-mesh copy 0 3 64MiB --route relay:1", 0);
    EXPECT_EQ(relayed["plan"]["routes"][0]["legs"][0]["to"], "gpu1");
    EXPECT_EQ(relayed["verified"], true);
    EXPECT_GT(relayed["gbs"].get<double>(), 40);
    auto const split = document("--machine h200-pair copy 0 1 64MiB --route split", 0);
    EXPECT_EQ(split["plan"]["routes"].size(), 2U);
    EXPECT_EQ(split["verified"], true);
    for (auto const* route : {"relay:0", "relay:9", "relay:", "around"}) {
        EXPECT_EQ(typed(std::string("--machine v100-partial-mesh copy 0 3 1MiB --route ") + route).status, 64) << route;
    }
}

TEST(CliCopy, TwoRunsPrintTheSameBytes) {
    for (auto const* line : {"--machine h200-pair copy 0 1 256MiB", "--machine h200-pair --format json copy 1 0 7MiB",
                             "--machine dgx-1v copy 0 5 16MiB --repeat 3"}) {
        EXPECT_EQ(typed(std::string(line)).out, typed(std::string(line)).out);
    }
    EXPECT_THAT(typed("--machine h200-pair --seed 77 copy 0 1 1MiB").out, HasSubstr("(seed 77)"));
}

TEST(CliCopy, AutoGoesStagedWhereEveryDirectProofFailed) {
    auto const json = document("--machine h200-pair copy 0 1 256MiB" + all_four_wrong, 1);
    EXPECT_EQ(json["verified"], true);
    EXPECT_EQ(json["plan"]["routes"][0]["legs"].size(), 2);
    EXPECT_EQ(json["plan"]["routes"][0]["legs"][0]["to"], "host:0");
}

TEST(CliCopy, DirectRunsThePushedCopyAllTheSameAndNamesTheFirstBadByte) {
    auto const ran = typed("--machine h200-pair copy 0 1 16MiB --route direct" + all_four_wrong);
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.out, HasSubstr("0 writes 1: push WRONG bytes (flip), first at offset"));
    EXPECT_THAT(ran.out, HasSubstr("1 reads 0: pull WRONG bytes (zero), first at offset"));
    EXPECT_THAT(ran.out, HasSubstr("direct, pushed by gpu0"));
    EXPECT_THAT(ran.out, HasSubstr("Copy of 16 MiB from gpu0 to gpu1: WRONG bytes (flip), first at offset"));
    auto const json = document("--machine h200-pair copy 0 1 16MiB --route direct" + all_four_wrong, 2);
    EXPECT_EQ(json["result"], "wrong");
    EXPECT_EQ(json["verified"], false);
    EXPECT_EQ(json["wrong"]["kind"], "flip");
    EXPECT_TRUE(json["wrong"]["first_bad_offset"].is_number());
    EXPECT_GT(json["wrong"]["bad_bytes"], 0);
}

struct Effect {
    const char* fault;
    int status;
    const char* says;
};

class Effects : public testing::TestWithParam<Effect> {};

TEST_P(Effects, OfOneFault) {
    auto const ran = typed(std::string("--machine h200-pair copy 0 1 16MiB --fault ") + GetParam().fault);
    EXPECT_EQ(ran.status, GetParam().status) << ran.out << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Cli, Effects,
    testing::Values(Effect{"push:0:1=zero", 1, "0 writes 1: push WRONG bytes (zero)"},
                    Effect{"push:0:1=stale", 1, "push WRONG bytes (stale)"},
                    Effect{"push:0:1=offset", 1, "push WRONG bytes (offset)"},
                    Effect{"push:0:1=mirror", 1, "push WRONG bytes (mirror)"}, Effect{"push:0:1=hang", 1, "push HANG"},
                    Effect{"push:0:1=freeze", 1, "HANG that could not be ended"},
                    Effect{"push:0:1=error700", 1, "push ERROR"}, Effect{"map:0:1=error205", 1, "map ERROR"},
                    Effect{"push:0:1=flip", 1, "use direct, pulled by gpu1"},
                    Effect{"push:0:1@1MiB+=flip", 1, "push WRONG bytes (flip)"},
                    Effect{"claim:any:any=no", 0, "use staged through host:0"},
                    Effect{"claim:0:1=no", 0, "0 reaches 1: claim no"}, Effect{"rate:0:1=9.9GB/s", 0, "verified"},
                    Effect{"latency:0:1=49ms", 0, "verified"},
                    Effect{"host:0:1=flip", 3, "Nothing was moved: the copy through the host"}));

TEST(CliCopy, AWrongControlArmMovesNothingAndSaysSoInJson) {
    auto const json = document("--machine h200-pair copy 0 1 1MiB --route direct --fault host:0:1=zero", 3);
    EXPECT_EQ(json["verified"], false);
    EXPECT_EQ(json["result"], "error");
    EXPECT_THAT(json["message"].get<std::string>(), HasSubstr("through the host"));
    EXPECT_TRUE(json["seconds"].is_null());
}

TEST(CliCopy, TrustClaimedSkipsTheProofAndSaysSo) {
    auto const ran = typed("--machine h200-pair copy 0 1 1MiB --trust claimed --fault push:0:1=flip");
    EXPECT_EQ(ran.status, 2) << "what was trusted is still checked afterwards";
    EXPECT_THAT(ran.out, HasSubstr("Nothing was proven"));
    EXPECT_THAT(ran.out, HasSubstr("claimed, not proven"));
    EXPECT_EQ(typed("--machine h200-pair copy 0 1 1MiB --trust claimed").status, 0);
}

TEST(CliCopy, ToAndFromTheHost) {
    auto const down = document("--machine h200-pair copy 0 host:0 64MiB", 0);
    EXPECT_EQ(down["to"], "host:0");
    EXPECT_NEAR(down["gbs"], 55.3, 0.06 * 55.3);
    EXPECT_EQ(document("--machine h200-pair copy host gpu1 64MiB", 0)["verified"], true);
}

TEST(CliCopy, EveryNamedMachineMovesAndVerifies) {
    auto const list = Json::parse(typed("--format json topo --list").out);
    for (auto const& machine : list["machines"]) {
        auto const name = machine["name"].get<std::string>();
        auto const last = std::to_string(machine["devices"].get<int>() - 1);
        auto const json = document("--machine " + name + " copy 0 " + last + " 4MiB", 0);
        EXPECT_EQ(json["verified"], true) << name;
    }
}

TEST(CliCopy, MarkdownIsALisOfTheSame) {
    auto const ran = typed("--machine h200-pair --format markdown copy 0 1 1MiB");
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.out, HasSubstr("\n- 0 writes 1: push ok"));
}

TEST(CliCopy, RepeatsReportTheMedian) {
    auto const json = document("--machine h200-pair copy 0 1 1MiB --repeat 5", 0);
    EXPECT_EQ(json["repetitions"], 5);
    EXPECT_THAT(typed("--machine h200-pair copy 0 1 1MiB --repeat 5").out, HasSubstr("(median of 5)"));
}

}  // namespace
}  // namespace peerlane::cli_tests
