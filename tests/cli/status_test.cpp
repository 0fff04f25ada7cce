// Exit statuses and the texts that go with them: 64 usage, 65 unreadable input, 66 no such file or machine, 3 no
// device.

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/ran.hpp"

namespace peerlane::cli_tests {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

struct Usage {
    const char* line;
    const char* says;
};

class UsageErrors : public testing::TestWithParam<Usage> {};

TEST_P(UsageErrors, EndWith64AndNameTheWord) {
    auto const ran = typed(std::string(GetParam().line));
    EXPECT_EQ(ran.status, 64) << GetParam().line;
    EXPECT_THAT(ran.err, HasSubstr(GetParam().says));
    EXPECT_THAT(ran.err, StartsWith("peerlane: "));
    EXPECT_EQ(ran.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Cli, UsageErrors,
    testing::Values(
        Usage{"", "no command given; there are: topo, "}, Usage{"foo", "unknown command \"foo\""},
        Usage{"copi 0 1 1MiB", "did you mean copy?"}, Usage{"--machine h200-pair", "no command given"},
        Usage{"--frobnicate topo", "unknown option \"--frobnicate\""},
        Usage{"--machine h200-pair topo extra", "topo takes no further argument \"extra\""},
        Usage{"--machine h200-pair --format xyz topo", "topo has no --format \"xyz\"; it has table, json"},
        Usage{"--machine h200-pair --format dot copy 0 1 1MiB",
              "copy has no --format \"dot\"; it has table, json, markdown"},
        Usage{"--format svg topo --list", "topo --list has no --format svg"},
        Usage{"--machine h200-pair --color sometimes topo", "--color \"sometimes\": auto, always or never"},
        Usage{"--machine h200-pair --seed -1 topo", "--seed \"-1\""},
        Usage{"--machine h200-pair --seed 99999999999999999999 topo", "--seed \"99999999999999999999\""},
        Usage{"--machine h200-pair -i 0,x topo", "-i \"x\""}, Usage{"--machine h200-pair -i 0,, topo", "-i \"\""},
        Usage{"--machine h200-pair -i 7 topo", "-i: no device 7; the machine has 2"},
        Usage{"--machine h200-pair --fault pusch:0:1=flip topo",
              "begins with 'pusch', not with one of claim, map, push"},
        Usage{"--machine h200-pair --fault push:0:1=flop topo", "push:0:1=flop"},
        Usage{"--machine h200-pair --fault push:0:9=flip topo", "no device 9; this machine has 2"},
        Usage{"--fault push:0:1=flip topo", "--fault is for simulated machines"},
        Usage{"--fabric nvlink:18 topo", "--fabric is for simulated machines"},
        Usage{"--machine h200-pair --fabric sausage topo", "sausage"}, Usage{"--machine h200-pair copy 0 1", "SIZE"},
        Usage{"--machine h200-pair copy 0 1 12parsecs", "SIZE \"12parsecs\" is no size"},
        Usage{"--machine h200-pair copy 0 1 -5", "SIZE \"-5\" is no size"},
        Usage{"--machine h200-pair copy 0 1 -5MiB", "SIZE \"-5MiB\" is no size"},
        Usage{"--machine h200-pair copy 0 1 0", "SIZE 0: nothing to move"},
        Usage{"--machine h200-pair copy 0 1 0.3", "SIZE \"0.3\" is no size"},
        Usage{"--machine h200-pair copy 0 1 99999999999999999999999", "is no size"},
        Usage{"--machine h200-pair copy 0 1 1000TiB", "more than the memory of gpu0"},
        Usage{"--machine h200-pair copy 0 0 1MiB", "SRC and DST are both gpu0"},
        Usage{"--machine h200-pair copy 0 gpu0 1MiB", "SRC and DST are both gpu0"},
        Usage{"--machine h200-pair copy host host:0 1MiB", "no device takes part"},
        Usage{"--machine h200-pair copy 0 2 1MiB", "DST 2: the machine has 2 devices, numbered from 0"},
        Usage{"--machine h200-pair copy -1 1 1MiB", "SRC \"-1\" is no place"},
        Usage{"--machine h200-pair copy 0 99999999999999999999 1MiB", "is no place"},
        Usage{"--machine h200-pair copy 0 host:5 1MiB", "DST host:5: the machine has no such NUMA node"},
        Usage{"--machine h200-pair copy zero 1 1MiB", "SRC \"zero\" is no place; places are 0, gpu0, host, host:1"},
        Usage{"--machine h200-pair -i 0 copy 0 1 1MiB", "DST 1: -i leaves this device out"},
        Usage{"--machine h200-pair copy 0 1 1MiB --route sideways",
              "--route \"sideways\": auto, direct, staged, split, or relay:2"},
        Usage{"--machine h200-pair copy 0 1 1MiB --trust nobody", "--trust \"nobody\""},
        Usage{"--machine h200-pair copy 0 1 1MiB --repeat 0", "--repeat \"0\""}));

TEST(CliStatus, HelpAndVersionAreNoErrors) {
    auto const help = typed("--help");
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.out, HasSubstr("copy"));
    EXPECT_THAT(help.out, HasSubstr("--machine NAME|FILE"));
    EXPECT_EQ(help.err, "");
    auto const of_copy = typed("copy --help");
    EXPECT_EQ(of_copy.status, 0);
    EXPECT_THAT(of_copy.out, HasSubstr("--route"));
    EXPECT_THAT(typed("--version").out,
                MatchesRegex("peerlane [0-9]+\\.[0-9]+\\.[0-9]+ \\(commit ([0-9a-f]+(, changed)?|unknown), "
                             "(CUDA [0-9]+\\.[0-9]+|simulated machines only)\\)\n"));
}

TEST(CliStatus, NoSuchMachineIs66AndNamesSimilarOnes) {
    auto const file = typed("--machine missing.txt topo");
    EXPECT_EQ(file.status, 66);
    EXPECT_THAT(file.err, HasSubstr("missing.txt"));
    EXPECT_THAT(file.err, HasSubstr("peerlane topo --list"));
    auto const name = typed("--machine dgx-1 topo");
    EXPECT_EQ(name.status, 66);
    EXPECT_THAT(name.err, HasSubstr("similar: dgx-1v"));
    EXPECT_EQ(peerlane({"--machine", "", "topo"}).status, 66);
    EXPECT_EQ(typed("--machine /etc/passwd/nothing topo").status, 66);
    EXPECT_EQ(peerlane({"--machine", std::string(5000, 'x'), "topo"}).status, 66);
    EXPECT_EQ(peerlane({"--machine", "\xff\xfe", "topo"}).status, 66);
}

TEST(CliStatus, UnreadableInputIs65WithFileAndReason) {
    Folder const folder;
    struct Input {
        const char* name;
        std::string text;
    };
    for (auto const& input :
         {Input{"empty", ""}, Input{"blank", " \n\t\n"}, Input{"photo.jpg", "\xff\xd8\xff\xe0\x10JFIF"},
          Input{"binary", std::string("\0\1\2\3", 4)}, Input{"latin1", "gr\xfc\xdf dich\n"},
          Input{"half.json", "{\"schema\": \"peerlane.machine/1\","},
          Input{"other.json", "{\"schema\": \"peerlane.plan/1\", \"devices\": []}"},
          Input{"half.xml", "<system version=\"1\"><cpu numaid=\"0\">"},
          Input{"prose", "there is no machine in here\n"}}) {
        auto const path = folder.file(input.name, input.text);
        auto const ran = peerlane({"--machine", path, "topo"});
        EXPECT_EQ(ran.status, 65) << input.name;
        EXPECT_THAT(ran.err, StartsWith(path + ":")) << input.name;
        EXPECT_EQ(ran.out, "") << input.name;
    }
}

TEST(CliStatus, TheLineOfACutTableIsNamed) {
    Folder const folder;
    auto const path = folder.file("cut.txt", "\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tNV4\t0-3\nGPU1\tNV4\n");
    auto const ran = peerlane({"--machine", path, "topo"});
    EXPECT_EQ(ran.status, 65);
    EXPECT_THAT(ran.err, StartsWith(path + ":3: "));
}

TEST(CliStatus, WhatIsNoFileIs65) {
    Folder const folder;
    auto const ran = peerlane({"--machine", folder.path(), "topo"});
    EXPECT_EQ(ran.status, 65);
    EXPECT_THAT(ran.err, HasSubstr("is a folder"));
    EXPECT_EQ(typed("--machine /proc/self/mem topo").status, 65);
    EXPECT_EQ(typed("--machine /dev/null topo").status, 65);
    EXPECT_EQ(typed("--machine - topo").status, 65);  // nothing on standard input
}

TEST(CliStatus, AFileThatMayNotBeReadIs65) {
    if (::geteuid() == 0) {
        GTEST_SKIP() << "root may read everything";
    }
    Folder const folder;
    auto const path = folder.file("secret", "x");
    ASSERT_EQ(::chmod(path.c_str(), 0), 0);
    auto const ran = peerlane({"--machine", path, "topo"});
    EXPECT_EQ(ran.status, 65);
    EXPECT_THAT(ran.err, HasSubstr("Permission denied"));
}

TEST(CliStatus, TwoMachinesInOneAre65) {
    auto const ran = typed("--machine h200-pair --machine dgx-1v topo");
    EXPECT_EQ(ran.status, 65);
    EXPECT_THAT(ran.err, Not(HasSubstr("internal")));
}

TEST(CliStatus, NoDeviceAndNoMachineIs3WithReasonAndWhatToType) {
    // Where there are devices, they are hidden.
    How const hidden{.environment = {"CUDA_VISIBLE_DEVICES=-1"}};
    for (auto const* line : {"topo", "copy 0 1 1MiB"}) {
        auto const ran = typed(std::string(line), hidden);
        EXPECT_EQ(ran.status, 3) << line;
        EXPECT_THAT(ran.err, HasSubstr("no device to work on: ")) << line;
        EXPECT_THAT(ran.err, HasSubstr("--machine h200-pair")) << line;
    }
    EXPECT_THAT(typed("topo", hidden).out, HasSubstr("CPU")) << "what the system shows comes first";
    EXPECT_EQ(typed("copy 0 1 one", hidden).status, 64) << "what makes no sense anywhere is said first";
}

TEST(CliStatus, AMachineWithoutDevicesIsShownButCopiesNothing) {
    Folder const folder;
    auto const path = folder.file("none.json", R"({"schema": "peerlane.machine/1", "devices": []})");
    EXPECT_EQ(peerlane({"--machine", path, "topo"}).status, 0);
    EXPECT_EQ(peerlane({"--machine", path, "copy", "0", "1", "1MiB"}).status, 64);
}

}  // namespace
}  // namespace peerlane::cli_tests
