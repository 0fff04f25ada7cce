// peerlane simulate as a user types it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/ran.hpp"

namespace peerlane::cli_tests {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

TEST(SimulateCommand, PrintsTheBottleneckAndSaysItIsSimulated) {
    auto const ran = typed("--machine dgx-1v simulate --pattern shift:1 --bytes 16MiB");
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("Simulated machine dgx-1v, 8 devices. No real device is used."));
    EXPECT_THAT(ran.out, HasSubstr("shift:1: 8 flows of 16 MiB"));
    EXPECT_THAT(ran.out, HasSubstr("Bottleneck: "));
}

TEST(SimulateCommand, DocumentTraceAndSavedFile) {
    Folder folder;
    auto const ran = typed("--machine dgx-1v --format json --save " + folder.file("s.json") +
                           " simulate --pattern ring --bytes 1MiB --trace " + folder.file("t.json"));
    ASSERT_EQ(ran.status, 0) << ran.err;
    auto const document = Json::parse(ran.out);
    EXPECT_EQ(document["schema"], "peerlane.simulation/1");
    EXPECT_EQ(document["simulated"], true);
    EXPECT_EQ(document["flows"].size(), 8U);
    auto const same = shell("cat " + folder.file("s.json"));
    EXPECT_EQ(same.out, ran.out);
    EXPECT_TRUE(Json::parse(shell("cat " + folder.file("t.json")).out)["traceEvents"].is_array());
}

TEST(SimulateCommand, OnlyTheDevicesOfI) {
    auto const ran = typed("--machine dgx-1v -i 2,5,6 --format json simulate --pattern ring --bytes 1MiB");
    ASSERT_EQ(ran.status, 0) << ran.err;
    auto const flows = Json::parse(ran.out)["flows"];
    ASSERT_EQ(flows.size(), 3U);
    EXPECT_EQ(flows[2]["src"], 6);
    EXPECT_EQ(flows[2]["dst"], 2);
}

TEST(SimulateCommand, TablesFromFilesAndFromStandardInput) {
    Folder folder;
    auto const path = folder.file("f.csv", "src,dst,bytes,start\n0,1,1MiB,0\n1,0,1MiB,1ms\n");
    auto const file = typed("--machine h200-pair --format json simulate --csv " + path);
    ASSERT_EQ(file.status, 0) << file.err;
    EXPECT_EQ(Json::parse(file.out)["flows"][1]["start_s"], 0.001);
    auto const input = typed("--machine h200-pair simulate --csv -", {.input = "0,1,1MiB\n"});
    EXPECT_EQ(input.status, 0) << input.err;
}

TEST(SimulateCommand, CsvOfResultsIsATableOfFlows) {
    auto const made =
        typed("--machine dgx-1v --format csv simulate --pattern shift:3 --bytes 1MiB --strategy driver,peerlane");
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(made.out.substr(0, made.out.find('\n')), "src,dst,bytes,start_s,end_s,gbs,strategy");
    auto const again = typed("--machine dgx-1v --format json simulate --csv -", {.input = made.out});
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(Json::parse(again.out)["flows"].size(), 8U);
    auto const other = typed("--machine dgx-1v --format csv topo");
    EXPECT_EQ(other.status, 64);
    EXPECT_THAT(other.err, HasSubstr("topo has no --format \"csv\"; it has table"));
    EXPECT_EQ(typed("--machine dgx-1v --format csv simulate --pattern ring --bytes 1MiB --place 4").status, 64);
}

TEST(SimulateCommand, ListsOfPages) {
    auto const ran =
        typed("--machine h200-pair simulate --pattern ring --bytes 4MiB --page-size 4KiB --strategy driver,peerlane");
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("ring: 2 flows of 4 MiB in pages of 4 KiB"));
    EXPECT_THAT(ran.out, HasSubstr("each list of pages by one kernel"));
    for (auto const* wrong : {"--page-size 3KiB", "--page-size 0", "--page-size 4KiB --strategy library"}) {
        EXPECT_EQ(typed(std::string("--machine h200-pair simulate --pattern ring --bytes 4MiB ") + wrong).status, 64);
    }
}

TEST(SimulateCommand, UnreadableTablesEndWith65AndTheLine) {
    Folder folder;
    auto const path = folder.file("bad.csv", "src,dst,bytes,start\n0,1,1MiB,0\n0,7,1MiB,0\n");
    auto const ran = typed("--machine h200-pair simulate --csv " + path);
    EXPECT_EQ(ran.status, 65);
    EXPECT_THAT(ran.err, HasSubstr("bad.csv:3: dst: the machine has no gpu7"));
    auto const large = typed("--machine h200-pair simulate --csv -", {.input = "0,1,100TiB\n"});
    EXPECT_EQ(large.status, 65);
    EXPECT_THAT(large.err, HasSubstr("more than the memory of gpu0"));
    EXPECT_EQ(typed("--machine h200-pair simulate --csv " + folder.file("none.csv")).status, 66);
    EXPECT_EQ(typed("--machine h200-pair simulate --csv " + folder.path()).status, 65);
}

TEST(SimulateCommand, AFaultThatHoldsAFlowEndsWith2) {
    auto const ran = typed("--machine h200-pair --fault push:0:1=hang simulate --pattern ring --bytes 1MiB");
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.out, HasSubstr("never ends"));
}

TEST(SimulateCommand, UsageErrorsNameTheWord) {
    for (auto const& [line, says] :
         {std::pair("simulate --bytes 1MiB", "--pattern P or --csv FILE"),
          std::pair("simulate --pattern ring", "--bytes N is missing"),
          std::pair("simulate --pattern ring --bytes 0", "--bytes \"0\" is no size above 0"),
          std::pair("simulate --pattern ring --bytes lots", "\"lots\""),
          std::pair("simulate --pattern rings --bytes 1MiB", "no such pattern"),
          std::pair("simulate --pattern ring --csv f --bytes 1MiB", "one of them"),
          std::pair("simulate --csv f --bytes 1MiB", "--bytes goes with --pattern"),
          std::pair("simulate --pattern ring --bytes 1MiB --strategy fast", "\"fast\""),
          std::pair("simulate --pattern ring --bytes 1MiB --strategy driver,driver", "twice"),
          std::pair("simulate --pattern ring --bytes 1MiB --strategy driver,", "\"\""),
          std::pair("simulate --pattern ring --bytes 1MiB --start soon", "\"soon\""),
          std::pair("simulate --pattern ring --bytes 1MiB --phases 0", "--phases"),
          std::pair("simulate --pattern ring --bytes 1MiB --place 3", "a set has 2 to 2 devices"),
          std::pair("simulate --pattern ring --bytes 100TiB", "more than the memory of"),
          std::pair("--fault push:0:9=hang simulate --pattern ring --bytes 1MiB", "no device 9")}) {
        auto const ran = typed(std::string("--machine h200-pair ") + line);
        EXPECT_EQ(ran.status, 64) << line;
        EXPECT_THAT(ran.err, HasSubstr(says)) << line;
        EXPECT_EQ(ran.out, "") << line;
    }
}

TEST(SimulateCommand, PlacementPrintsBestAndWorst) {
    auto const ran = typed("--machine dgx-1v simulate --pattern all-to-all --bytes 16MiB --place 4");
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("Best: 0,1,2,3 (and 1 more)"));
    EXPECT_THAT(ran.out, HasSubstr("Worst: "));
}

}  // namespace
}  // namespace peerlane::cli_tests
