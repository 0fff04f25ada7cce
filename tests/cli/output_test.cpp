// Where results go: standard output that is closed, full or no longer read, and the file of --save.

#include <cstdio>
#include <filesystem>

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/ran.hpp"

namespace peerlane::cli_tests {
namespace {

using testing::HasSubstr;

TEST(CliOutput, AFullDiskIsAnError) {
    auto const ran = typed("--machine h200-pair topo", {.out_to = "/dev/full"});
    EXPECT_EQ(ran.status, 70);
    EXPECT_THAT(ran.err, HasSubstr("cannot write to standard output: No space left on device"));
}

TEST(CliOutput, ClosedStandardOutputIsAnErrorAndNeverHitsAnotherFile) {
    Folder const folder;
    auto const save = folder.file("saved.json");
    auto const ran = peerlane({"--machine", "h200-pair", "--save", save, "topo"}, {.out_to = "closed"});
    EXPECT_EQ(ran.status, 70);
    EXPECT_THAT(ran.err, HasSubstr("cannot write to standard output"));
    EXPECT_EQ(text_of(save), typed("--machine h200-pair --format json topo").out);
}

TEST(CliOutput, AReaderThatGoesAwayIsNoError) {
    Folder const folder;
    auto const pipe = folder.file("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    // `head -c 1` takes one byte of a text larger than a pipe holds.
    auto const reader = "head -c 1 '" + pipe + "' > /dev/null &";
    ASSERT_EQ(std::system(reader.c_str()), 0);
    auto const ran = typed("--machine dgx-2 --format json topo", {.out_to = pipe});
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.err, "");
}

TEST(CliOutput, SaveWritesTheDocumentBesideWhatIsPrinted) {
    Folder const folder;
    auto const save = folder.file("t.json");
    auto const ran = peerlane({"--machine", "h200-pair", "--save", save, "copy", "0", "1", "1MiB"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.out, HasSubstr("verified"));
    EXPECT_EQ(text_of(save), typed("--machine h200-pair --format json copy 0 1 1MiB").out);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"t.json"});
}

TEST(CliOutput, SaveReplacesAFileOrLeavesItAlone) {
    Folder const folder;
    auto const save = folder.file("t.json", "what was there");
    EXPECT_EQ(peerlane({"--machine", "missing", "--save", save, "topo"}).status, 66);
    EXPECT_EQ(text_of(save), "what was there");
    EXPECT_EQ(peerlane({"--machine", "h200-pair", "--save", save, "topo"}).status, 0);
    EXPECT_THAT(text_of(save), testing::StartsWith("{"));
    EXPECT_EQ(folder.names().size(), 1);
}

TEST(CliOutput, SaveThroughALinkKeepsTheLink) {
    Folder const folder;
    auto const file = folder.file("real.json", "old");
    std::filesystem::create_symlink("real.json", folder.file("link.json"));
    EXPECT_EQ(peerlane({"--machine", "h200-pair", "--save", folder.file("link.json"), "topo"}).status, 0);
    EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link.json")));
    EXPECT_THAT(text_of(file), testing::StartsWith("{"));
}

TEST(CliOutput, SaveThatCannotBeWrittenFailsBeforeAnythingRuns) {
    Folder const folder;
    auto const no_folder = peerlane({"--machine", "h200-pair", "--save", folder.file("no/t.json"), "topo"});
    EXPECT_EQ(no_folder.status, 66);
    EXPECT_THAT(no_folder.err, HasSubstr("No such file or directory"));
    EXPECT_EQ(no_folder.out, "");
    EXPECT_EQ(peerlane({"--machine", "h200-pair", "--save", folder.path(), "topo"}).status, 70);
    EXPECT_EQ(typed("--machine h200-pair --save /dev/full topo").status, 70);
    EXPECT_EQ(peerlane({"--machine", "h200-pair", "--save", "", "topo"}).status, 64);
}

}  // namespace
}  // namespace peerlane::cli_tests
