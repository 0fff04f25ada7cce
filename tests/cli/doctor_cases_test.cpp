// Public reports that the doctor must answer, each test named after its source. Where an example file of the report
// does not lie beside the project, its test is skipped.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/doctor.hpp"

namespace peerlane::cli_tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Words = std::vector<std::string>;

Doctored examined(const Words& machines, const Words& faults, Words more = {}) {
    Words words;
    for (auto const& machine : machines) {
        words.insert(words.end(), {"--machine", machine});
    }
    words = with_faults(words, faults);
    words.emplace_back("doctor");
    words.insert(words.end(), more.begin(), more.end());
    return doctored(words);
}

/// NVIDIA/open-gpu-kernel-modules#1257: two cards say yes, every call succeeds, bytes differ.
TEST(DoctorCases, B01BytesDifferThoughEveryCallSucceeds) {
    PEERLANE_NEED(topology, "topo-m-2x6000ada-wrx90-phb.txt");
    PEERLANE_NEED(rates, "p2pbw-2x6000ada-wrx90.txt");
    auto const done = examined({topology, rates},
                               {"push:any:any=flip", "pull:any:any=flip", "store:any:any=flip", "load:any:any=flip"});
    EXPECT_EQ(done.status, 2);
    for (auto const& [accessor, owner] : {std::pair(0, 1), std::pair(1, 0)}) {
        EXPECT_EQ(done.check(accessor, owner, "claim"), "ok");
        EXPECT_EQ(done.check(accessor, owner, "push"), "wrong(flip)");
        EXPECT_EQ(done.check(accessor, owner, "pull"), "wrong(flip)");
        EXPECT_EQ(done.use(accessor, owner), "staged");
    }
    EXPECT_EQ(done.pairs_of("claim-broken"), "0:1 1:0");
}

/// NVIDIA/nccl#257: the bandwidth test ends well, the collective hangs.
TEST(DoctorCases, B04ARateIsNoProof) {
    PEERLANE_NEED(machine, "p2pbw-4x1080ti-two-islands.txt");
    Words const faults{"push:0:1=stale", "push:1:0=stale", "rate:0:1=10GB/s"};
    auto const done = examined({machine}, faults);
    EXPECT_EQ(done.status, 2);
    EXPECT_EQ(done.check(0, 1, "push"), "wrong(stale)");
    EXPECT_EQ(done.check(0, 2, "claim"), "no");
    EXPECT_EQ(done.check(0, 2, "push"), "no");
    EXPECT_EQ(done.use(0, 2), "staged");
    EXPECT_TRUE(done.has("claim-broken"));
    EXPECT_FALSE(done.has("iommu-translating"));
    auto with_fact = faults;
    with_fact.emplace_back("fact:iommu=translating");
    EXPECT_TRUE(examined({machine}, with_fact).has("iommu-translating"));
}

/// Dasharo/dasharo-issues#436: eight bytes sent, zeros arrive.
TEST(DoctorCases, B06QuickIsEnoughForZeros) {
    PEERLANE_NEED(machine, "topo-m-2gpu-phb.txt");
    auto const done = examined({machine}, {"push:any:any=zero", "pull:any:any=zero"}, {"--quick"});
    EXPECT_EQ(done.status, 2);
    EXPECT_EQ(done.check(0, 1, "push"), "wrong(zero)");
    EXPECT_EQ(done.document["pairs"][0]["checks"]["push"]["first_bad_offset"], 0);
}

/// lattice/quda#669: the whole node froze.
TEST(DoctorCases, B08TheRecordNamesTheStepThatFroze) {
    PEERLANE_NEED(machine, "topo-m-8gpu-pix-pxb-sys-mlx5.txt");
    Folder const folder;
    auto const file = folder.file("record.jsonl");
    auto const last_line = [&] {
        auto const text = text_of(file);
        return text.substr(text.rfind('\n', text.size() - 2) + 1);
    };
    auto const first = examined({machine}, {"store:0:2=freeze"}, {"--record", file});
    EXPECT_EQ(first.status, 2);
    EXPECT_EQ(first.check(0, 2, "store"), "hang");
    EXPECT_FALSE(first.has("probe-interrupted"));
    EXPECT_THAT(last_line(), HasSubstr("0:2 store"));

    auto const next = examined({machine}, {"store:0:2=freeze"}, {"--record", file});
    EXPECT_EQ(next.status, 2);
    EXPECT_EQ(next.check(0, 2, "store"), "skipped");
    EXPECT_EQ(next.pairs_of("probe-interrupted"), "0:2");
    EXPECT_THAT(next.complaints(), IsEmpty()) << "everything else ran";
    EXPECT_THAT(last_line(), HasSubstr("0:2 store")) << "and it stays remembered";

    auto const again = examined({machine}, {}, {"--record", file, "--repeat-interrupted"});
    EXPECT_EQ(again.check(0, 2, "store"), "ok");
    EXPECT_FALSE(again.has("probe-interrupted"));
    EXPECT_FALSE(examined({machine}, {}, {"--record", file}).has("probe-interrupted")) << "closed";
}

/// vllm-project/vllm#51513: a dropped posted write, no error anywhere.
TEST(DoctorCases, B09LostWritesForbidWritingAndNothingElse) {
    Words const faults{"push:any:any=stale", "store:any:any=stale"};
    auto const done = examined({"h200-pair"}, faults);
    EXPECT_EQ(done.status, 2);
    EXPECT_EQ(done.check(0, 1, "push"), "wrong(stale)");
    EXPECT_EQ(done.check(0, 1, "store"), "wrong(stale)");
    EXPECT_EQ(done.check(0, 1, "pull"), "ok");
    EXPECT_EQ(done.check(0, 1, "load"), "ok");
    EXPECT_EQ(done.use(0, 1), "direct 1") << "pulled by the destination";
    EXPECT_EQ(peerlane(with_faults({"--machine", "h200-pair", "copy", "0", "1", "64MiB"}, faults)).status, 1);
}

/// local-inference-lab/rtx6kpro#15: after the killed hang the device stays at 100 % with no process.
TEST(DoctorCases, B12NothingMoreIsLaunchedOnADeviceThatStaysBusy) {
    PEERLANE_NEED(machine, "topo-m-2x5090-phb.txt");
    auto const done = examined({machine}, {"store:0:1=hang", "wedge:0"});
    EXPECT_EQ(done.status, 2);
    EXPECT_EQ(done.check(0, 1, "store"), "hang");
    EXPECT_TRUE(done.has("wedge-after-test"));
    EXPECT_EQ(done.check(0, 1, "load"), "skipped");
    EXPECT_THAT(done.reason(0, 1, "load"), HasSubstr("device 0 is still busy"));
    EXPECT_EQ(done.check(1, 0, "push"), "skipped");
    EXPECT_EQ(done.check(0, 1, "push"), "ok") << "ran before";
}

/// NVIDIA/nccl-tests#117: a hang, and then the management tool hangs too.
TEST(DoctorCases, B14AManagementToolThatHangsIsAFinding) {
    auto const done = examined({"rtx4090-8-dual-epyc"}, {"store:0:1=hang", "fact:nvml=hangs"});
    EXPECT_EQ(done.status, 2) << done.err;
    EXPECT_TRUE(done.has("management-hang"));
    EXPECT_EQ(done.pairs_of("claim-broken"), "0:1");
}

/// tinygrad/open-gpu-kernel-modules#49, #48: one direction right, the other corrupt.
TEST(DoctorCases, B19EachDirectionHasItsVerdict) {
    PEERLANE_NEED(machine, "topo-m-2gpu-phb.txt");
    auto const done =
        examined({machine}, {"push:1:0=offset", "pull:1:0=offset", "store:1:0=offset", "load:1:0=offset"});
    EXPECT_EQ(done.status, 2);
    for (auto const* const check : {"push", "pull", "store", "load"}) {
        EXPECT_EQ(done.check(0, 1, check), "ok") << check;
        EXPECT_EQ(done.check(1, 0, check), "wrong(offset)") << check;
    }
    EXPECT_EQ(done.use(0, 1), "direct 0") << "pushed";
    EXPECT_EQ(done.use(1, 0), "direct 0") << "device 0 may pull";
    EXPECT_EQ(done.pairs_of("claim-broken"), "1:0");
}

/// tinygrad/open-gpu-kernel-modules#44, #36, #29: claim yes, enabling fails with 205.
TEST(DoctorCases, B20ARefusedMappingHasItsCode) {
    PEERLANE_NEED(machine, "topo-m-2x5090-phb.txt");
    auto const done = examined({machine}, {"map:any:any=error205"});
    EXPECT_EQ(done.status, 2);
    EXPECT_EQ(done.check(0, 1, "claim"), "ok");
    EXPECT_EQ(done.check(0, 1, "map"), "error205");
    EXPECT_EQ(done.check(0, 1, "push"), "no");
    EXPECT_EQ(done.check(0, 1, "pull"), "no");
    EXPECT_EQ(done.check(0, 1, "store"), "skipped");
    EXPECT_EQ(done.use(0, 1), "staged");
    EXPECT_TRUE(done.has("enable-refused"));
}

/// NVIDIA/nccl#2335: the accessor reads its own pattern back, the owner has zeros.
TEST(DoctorCases, B23AMirrorIsCaught) {
    PEERLANE_NEED(machine, "topo-p2p-rw-2x3090-ok.txt");
    auto const done = examined(
        {machine}, {"push:any:any=mirror", "pull:any:any=mirror", "store:any:any=mirror", "load:any:any=mirror"});
    EXPECT_EQ(done.status, 2);
    EXPECT_EQ(done.check(0, 1, "push"), "wrong(mirror)");
    EXPECT_EQ(done.check(0, 1, "store"), "wrong(mirror)");
}

/// noonghunna/club-3090, P2P guide: copies are right at 27 GB/s, engines hang in collectives.
TEST(DoctorCases, B24CopiesAreRightAndFlagsHang) {
    PEERLANE_NEED(machine, "topo-m-2gpu-phb.txt");
    auto const done = examined({machine}, {"flag:any:any=hang", "rate:any:any=27GB/s"});
    EXPECT_EQ(done.status, 2);
    EXPECT_EQ(done.check(0, 1, "push"), "ok");
    EXPECT_EQ(done.check(0, 1, "pull"), "ok");
    EXPECT_EQ(done.check(0, 1, "flag"), "hang");
    EXPECT_EQ(done.use(0, 1), "direct 0");
    ASSERT_TRUE(done.has("claim-broken"));
    EXPECT_THAT(done.document["findings"][0]["evidence"].dump(), HasSubstr("flag"));
}

/// noonghunna/club-3090#1332: the host resets without a trace.
TEST(DoctorCases, B25TheNextRunReadsWhatTheResetLeft) {
    PEERLANE_NEED(machine, "topo-m-2gpu-phb.txt");
    Folder const folder;
    auto const file = folder.file("record.jsonl");
    ASSERT_EQ(examined({machine}, {}, {"--record", file}).status, 0);
    auto text = text_of(file);  // as the reset left it: nothing after the step began
    text.resize(text.find('\n', text.find("{\"begin\":{\"step\":\"0:1 store\"")) + 1);
    folder.file("record.jsonl", text);

    auto const replayed = doctored({"--machine", file, "doctor"});
    EXPECT_EQ(replayed.status, 2);
    EXPECT_EQ(replayed.pairs_of("probe-interrupted"), "0:1");
    auto const next = examined({machine}, {"store:0:1=freeze"}, {"--record", file});
    EXPECT_EQ(next.status, 2);
    EXPECT_EQ(next.pairs_of("probe-interrupted"), "0:1");
    EXPECT_EQ(next.check(0, 1, "store"), "skipped");
    EXPECT_EQ(next.check(1, 0, "store"), "ok");
}

/// vllm-project/vllm#5528, #8735, #6895: a check that costs 11 s a pair, and some runs never end.
TEST(DoctorCases, B132OneHangLeavesTheOther55Judged) {
    auto const done = examined({"rtx4090-8-dual-epyc"}, {"store:0:1=hang"});
    EXPECT_EQ(done.status, 2);
    EXPECT_THAT(done.err, HasSubstr("56 directed pairs"));
    EXPECT_THAT(done.err, HasSubstr("even if every one of them hangs"));
    EXPECT_EQ(done.complaints(), Words{"0:1 store hang"});
    EXPECT_EQ(done.document["doctor"]["pairs_proven"], 55);
}

/// NVIDIA/nccl#51, tensorflow/tensorflow#5362: a full mesh of 16 does not fit eight peers a device.
TEST(DoctorCases, B62TheNinthPeerHasNoPlace) {
    PEERLANE_NEED(machine, "hwloc-nvidiaDGX2.xml");
    auto const done = examined({machine}, {"map:any:any=limit8"}, {"--pair", "0:9", "--pair", "0:1"});
    EXPECT_EQ(done.status, 0);  // two peers fit
    auto const all = examined({machine}, {"map:any:any=limit8"});
    EXPECT_EQ(all.status, 1);
    EXPECT_TRUE(all.has("peer-limit"));
    EXPECT_EQ(all.check(0, 8, "map"), "ok");
    EXPECT_EQ(all.check(0, 9, "map"), "ok");                               // alone it has one
    EXPECT_THAT(all.pairs_of("peer-limit"), testing::StartsWith("0:9 "));  // 0:8 is the eighth
    PEERLANE_NEED(roomy, "p2pbw-12gpu-more-than-8-peers-excerpt.txt");
    EXPECT_FALSE(examined({roomy}, {}).has("peer-limit"));
}

/// NVIDIA/nccl#241, tensorflow/tensorflow#30887: a place was taken by the display server.
TEST(DoctorCases, B64APlaceIsHeldByAnother) {
    auto const done = examined({"rtx4090-8-dual-epyc"}, {"map:0:any=limit6", "fact:graphics-processes:0=1"});
    EXPECT_EQ(done.status, 1);
    EXPECT_EQ(done.pairs_of("foreign-peer-holder"), "0:7");
    EXPECT_FALSE(done.has("peer-limit"));
}

/// noonghunna/club-3090#787: people paste a record of all directed pairs proven.
TEST(DoctorCases, B133SaysHowManyPairsWereProvenOfHowMany) {
    auto const done = examined({"v100-partial-mesh"}, {});
    EXPECT_EQ(done.document["doctor"]["pairs_proven"], 12);
    EXPECT_EQ(done.document["doctor"]["pairs_asked"], 12);
    EXPECT_FALSE(done.document["doctor"]["version"].get<std::string>().empty());
    EXPECT_FALSE(done.document["doctor"]["key"]["machine"].get<std::string>().empty());
    EXPECT_THAT(typed("--machine v100-partial-mesh doctor").out, HasSubstr("12 of 12 directed pairs"));
}

}  // namespace
}  // namespace peerlane::cli_tests
