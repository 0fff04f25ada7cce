/// What findings say, and the questions an auditor answers before and after the fact.

#include <gtest/gtest.h>
#include <peerlane/error.hpp>

#include "unit/audit/codes.hpp"

namespace peerlane::audit_tests {

namespace {

using trace::Step;

bool says(const AuditFinding& finding, const std::string& words) {
    return finding.text.find(words) != std::string::npos;
}

const std::string ab =
    "{\"op\":\"alloc\",\"memory\":\"a\",\"place\":\"gpu0\",\"bytes\":4096}\n"
    "{\"op\":\"alloc\",\"memory\":\"b\",\"place\":\"gpu1\",\"bytes\":4096}\n";

TEST(AuditFindings, unmappedAccessNamesOwnerAndDeviceOfTheLaunch) {  // davisking/dlib#2000
    const AuditFinding f =
        only(audit("{\"op\":\"stream\",\"stream\":\"s\",\"device\":0}\n{\"op\":\"alloc\",\"memory\":\"a\",\"place\":"
                   "\"gpu3\",\"bytes\":4096}\n"
                   "{\"op\":\"launch\",\"stream\":\"s\",\"name\":\"k\",\"steps\":[{\"read\":\"a\"}]}\n{\"op\":\"sync\","
                   "\"device\":0}\n"));
    EXPECT_EQ(f.code, "unmapped-access");
    EXPECT_EQ(f.line, 3u);
    EXPECT_EQ(f.accessor, 0);
    EXPECT_EQ(f.owner, 3);
    EXPECT_EQ(f.memory, "a");
    EXPECT_TRUE(says(f, "launch k (line 3, stream s on device 0) reads a: a is memory of device 3")) << f.text;
    EXPECT_NE(f.cure.find("cudaDeviceEnablePeerAccess(3) while device 0 is current"), std::string::npos) << f.cure;
}

TEST(AuditFindings, wrongDirectionSaysWhichOneIsEnabled) {
    const AuditFinding f = only(audit(two_devices(false) + ab +
                                      "{\"op\":\"enable\",\"accessor\":0,\"owner\":1}\n{\"op\":\"launch\",\"stream\":"
                                      "\"s1\",\"name\":\"k\",\"steps\":[{\"write\":\"a\"}]}\n"));
    EXPECT_EQ(f.code, "wrong-direction");
    EXPECT_TRUE(says(f, "only the opposite access 0:1 is enabled")) << f.text;
    EXPECT_NE(f.cure.find("enable access 1:0"), std::string::npos) << f.cure;
}

TEST(AuditFindings, aCycleIsAChainOfFourWaitsWithTheChannelOfEach) {  // sgl-project/sglang#31117
    const AuditFinding f =
        only(audit(two_devices() + R"({"op":"launch","stream":"s0","name":"w0","steps":[{"wait":"f1","at_least":1}]})"
                                   "\n"
                                   R"({"op":"launch","stream":"s0","name":"g0","steps":[{"signal":"f0","value":1}]})"
                                   "\n"
                                   R"({"op":"launch","stream":"s1","name":"w1","steps":[{"wait":"f0","at_least":1}]})"
                                   "\n"
                                   R"({"op":"launch","stream":"s1","name":"g1","steps":[{"signal":"f1","value":1}]})"
                                   "\n"));
    EXPECT_EQ(f.code, "wait-cycle");
    EXPECT_EQ(f.line, 6u);
    EXPECT_EQ(f.chain, (std::vector<std::string>{"launch w0 (line 6, stream s0 on device 0) waits for flag f1 >= 1, "
                                                 "which launch g1 (line 9, stream s1 on device 1) gives",
                                                 "launch g1 (line 9, stream s1 on device 1) is queued behind launch w1 "
                                                 "(line 8, stream s1 on device 1) in stream s1",
                                                 "launch w1 (line 8, stream s1 on device 1) waits for flag f0 >= 1, "
                                                 "which launch g0 (line 7, stream s0 on device 0) gives",
                                                 "launch g0 (line 7, stream s0 on device 0) is queued behind launch w0 "
                                                 "(line 6, stream s0 on device 0) in stream s0"}));
}

TEST(AuditFindings, raceNamesBothOperationsAndTheMissingEdge) {  // cupy/cupy#9849
    const AuditFinding f =
        only(audit(two_devices() + ab +
                   R"({"op":"copy","stream":"s0","dst":"b","src":"a","bytes":4096})"
                   "\n"
                   R"({"op":"launch","stream":"s1","name":"read","steps":[{"read":"b","offset":64,"bytes":64}]})"
                   "\n"));
    EXPECT_EQ(f.code, "race");
    EXPECT_EQ(f.line, 9u);
    EXPECT_EQ(f.lines, std::vector<std::uint64_t>{8});
    EXPECT_TRUE(says(f, "copy of a to b (line 8, stream s0 on device 0) writes b[0, 4096)")) << f.text;
    EXPECT_TRUE(says(f, "launch read (line 9, stream s1 on device 1) reads b[64, 128)")) << f.text;
    EXPECT_EQ(f.cure, "record an event on stream s0 after line 8 and let stream s1 wait for it before line 9");
}

TEST(AuditFindings, flagScopeNamesFlagLaunchAndBothDevices) {  // ROCm/aiter#4786
    const AuditFinding f = only(audit(
        two_devices() + ab +
        R"({"op":"launch","stream":"s0","name":"put","steps":[{"write":"b"},{"signal":"f","value":1}]})"
        "\n"
        R"({"op":"launch","stream":"s1","name":"get","steps":[{"wait":"f","at_least":1,"scope":"device"},{"read":"b"}]})"
        "\n"));
    EXPECT_EQ(f.code, "flag-scope");
    EXPECT_EQ(f.memory, "f");
    EXPECT_EQ(f.accessor, 1);
    EXPECT_EQ(f.owner, 0);
    EXPECT_TRUE(says(f, "launch get (line 9, stream s1 on device 1)")) << f.text;
    EXPECT_TRUE(says(f, "launch put (line 8, stream s0 on device 0)")) << f.text;
}

TEST(AuditFindings, gridNeverFitsSaysBothNumbers) {  // 1bit-MONSTER/1bit-MONSTER#1010
    const AuditFinding f = only(audit(
        two_devices() +
        R"({"op":"launch","stream":"s0","name":"k","ctas":20480,"resident":1280,"steps":[{"wait":"f","at_least":1},{"signal":"f","value":1}]})"
        "\n"));
    EXPECT_EQ(f.code, "grid-never-fits");
    EXPECT_TRUE(says(f, "20480")) << f.text;
    EXPECT_TRUE(says(f, "1280")) << f.text;
}

TEST(AuditFindings, oneLaunchWithoutNumbersThatWaitsForItselfIsACycle) {
    const std::string steps = R"("steps":[{"wait":"f","at_least":1},{"signal":"f","value":1}]})";
    EXPECT_EQ(codes(two_devices() + R"({"op":"launch","stream":"s0","name":"k",)" + steps),
              std::set<std::string>{"wait-cycle"});
    EXPECT_EQ(codes(two_devices() + R"({"op":"launch","stream":"s0","name":"k","ctas":1,"resident":264,)" + steps),
              std::set<std::string>{"wait-cycle"});
}

TEST(AuditFindings, theSameCauseIsToldOnceAndCounted) {
    std::string text = two_devices() + ab;
    for (int i = 0; i < 100; ++i) {
        text +=
            "{\"op\":\"copy\",\"stream\":\"s0\",\"dst\":\"b\",\"src\":\"a\",\"bytes\":4096}\n"
            "{\"op\":\"launch\",\"stream\":\"s1\",\"name\":\"read\",\"steps\":[{\"read\":\"b\"}]}\n";
    }
    const AuditReport report = audit(text);
    std::uint64_t times = 0;
    for (const AuditFinding& f : report.findings) {
        EXPECT_EQ(f.code, "race");
        times += f.count;
    }
    EXPECT_LE(report.findings.size(), 2u) << to_table(report);
    EXPECT_GE(times, 100u);
}

TEST(AuditFindings, slotsAreListedWithTheirUseAndTheLeastUsedIsOffered) {
    const AuditFinding f =
        only(audit("{\"op\":\"machine\",\"devices\":4}\n{\"op\":\"stream\",\"stream\":\"s\",\"device\":0}\n"
                   "{\"op\":\"alloc\",\"memory\":\"b\",\"place\":\"gpu1\",\"bytes\":64}\n"
                   "{\"op\":\"enable\",\"accessor\":0,\"owner\":1}\n{\"op\":\"enable\",\"accessor\":0,\"owner\":2}\n"
                   "{\"op\":\"launch\",\"stream\":\"s\",\"name\":\"k\",\"steps\":[{\"read\":\"b\"},{\"read\":\"b\"}]}\n"
                   "{\"op\":\"enable\",\"accessor\":0,\"owner\":3,\"result\":\"limit\"}\n"));
    EXPECT_EQ(f.code, "peer-slots");
    EXPECT_TRUE(says(f, "1 (2 accesses), 2 (0 accesses)")) << f.text;
    EXPECT_NE(f.cure.find("0:2 has 0 accesses so far and could be disabled"), std::string::npos) << f.cure;
}

// ---- questions ----

class Questions : public testing::Test {
  protected:
    void play(const trace::Operation& operation) { auditor.push({++line, 0, operation}); }
    trace::Symbols symbols{};
    Auditor auditor{symbols};
    std::uint64_t line = 0;
    trace::Id memory(const std::string& name, int device, trace::MemoryKind kind = trace::MemoryKind::plain,
                     trace::Id pool = trace::no_id) {
        trace::Alloc alloc{};
        alloc.memory = symbols.memories.intern(name);
        alloc.device = device;
        alloc.bytes = 4096;
        alloc.kind = kind;
        alloc.pool = pool;
        play(alloc);
        return alloc.memory;
    }
    trace::Id stream(const std::string& name, int device) {
        const trace::Id id = symbols.streams.intern(name);
        play(trace::Stream{id, device, trace::StreamKind::nonblocking, trace::no_id});
        return id;
    }
};

TEST_F(Questions, explainSaysYesOrTheMissingStepAndItsDirection) {
    play(trace::Machine{3, 0});
    const trace::Id a = memory("a", 0);
    AccessAnswer answer = auditor.explain(1, a);
    EXPECT_FALSE(answer.allowed);
    EXPECT_FALSE(answer.copy_direct);
    EXPECT_EQ(answer.code, "unmapped-access");
    EXPECT_NE(answer.cure.find("enable access 1:0"), std::string::npos) << answer.cure;

    play(trace::Enable{0, 1, trace::EnableResult::ok, trace::no_id});
    answer = auditor.explain(1, a);
    EXPECT_EQ(answer.code, "wrong-direction");
    EXPECT_TRUE(answer.copy_direct) << "a copy needs only one direction";

    play(trace::Enable{1, 0, trace::EnableResult::ok, trace::no_id});
    answer = auditor.explain(1, a);
    EXPECT_TRUE(answer.allowed);
    EXPECT_EQ(answer.code, "");
    EXPECT_EQ(answer.why, "access 1:0 is enabled");
    EXPECT_EQ(auditor.explain(2, a).code, "unmapped-access");
    EXPECT_TRUE(auditor.explain(0, a).allowed);
    EXPECT_EQ(auditor.explain(1, a, 4096, 1).code, "out-of-range");
    EXPECT_TRUE(auditor.explain(1, a, 4095, 1).allowed);
}

TEST_F(Questions, explainKnowsPoolsGrantsImportsAndHosts) {
    play(trace::Machine{2, 0});
    play(trace::Enable{1, 0, trace::EnableResult::ok, trace::no_id});
    const trace::Id pool = symbols.pools.intern("p");
    const trace::Id a = memory("a", 0, trace::MemoryKind::pool, pool);
    EXPECT_EQ(auditor.explain(1, a).code, "grant-missing");
    play(trace::GrantAccess{trace::no_id, pool, 1, trace::Grant::read});
    EXPECT_TRUE(auditor.explain(1, a).allowed);
    EXPECT_EQ(auditor.explain(1, a, trace::to_end, 0, trace::Grant::readwrite).code, "grant-missing");
    EXPECT_TRUE(auditor.explain(1, memory("h", trace::host_device, trace::MemoryKind::pinned)).allowed);
    EXPECT_TRUE(auditor.explain(1, memory("m", 0, trace::MemoryKind::managed)).allowed);
    const trace::Id b = memory("b", 0);
    const trace::Id imported = symbols.memories.intern("b2");
    play(trace::Import{imported, b, 1});
    EXPECT_TRUE(auditor.explain(1, imported).allowed);
    play(trace::Free{b, trace::no_id});
    EXPECT_EQ(auditor.explain(1, imported).code, "stale-mapping");
    EXPECT_EQ(auditor.explain(0, b).code, "use-after-free");
    EXPECT_THROW((void)auditor.explain(0, symbols.memories.intern("nothing")), std::invalid_argument);
}

TEST_F(Questions, checkListsEveryForbiddenRangeBeforeTheLaunchAndChangesNothing) {
    play(trace::Machine{2, 0});
    const trace::Id s1 = stream("s1", 1);
    std::vector<Step> steps(3);
    steps[0].target = memory("a", 0);
    steps[0].bytes = 64;
    steps[1].target = memory("b", 1);
    steps[1].bytes = 64;
    steps[2].kind = Step::Kind::write;
    steps[2].target = memory("c", 0, trace::MemoryKind::virtual_memory);
    steps[2].value = 4000;
    steps[2].bytes = 97;
    trace::Launch launch{};
    launch.stream = s1;
    launch.name = symbols.words.intern("k");
    launch.steps = steps;
    const std::vector<AuditFinding> found = auditor.check(launch);
    std::vector<std::string> list;
    for (const AuditFinding& f : found) {
        list.push_back(f.code + " " + f.memory);
    }
    EXPECT_EQ(list, (std::vector<std::string>{"unmapped-access a", "out-of-range c", "grant-missing c"}));
    EXPECT_TRUE(auditor.findings().empty());
}

TEST_F(Questions, explainFaultNamesTheCandidatesMostLikelyFirst) {
    play(trace::Machine{2, 0});
    const trace::Id s0 = stream("s0", 0);
    const trace::Id s1 = stream("s1", 1);
    const trace::Id a = memory("a", 0);
    const auto launch = [&](trace::Id on, const char* name, std::uint64_t offset) {
        Step step{};
        step.target = a;
        step.value = offset;
        step.bytes = 64;
        trace::Launch l{};
        l.stream = on;
        l.name = symbols.words.intern(name);
        l.steps = std::span<const Step>(&step, 1);
        play(l);
    };
    launch(s0, "fine", 0);
    EXPECT_TRUE(auditor.explain_fault().empty());
    launch(s1, "remote", 0);
    launch(s0, "beyond", 4095);
    const std::vector<AuditFinding> causes = auditor.explain_fault();
    ASSERT_EQ(causes.size(), 2u);
    EXPECT_EQ(causes[0].code, "unmapped-access");
    EXPECT_EQ(causes[0].accessor, 1);
    EXPECT_EQ(causes[0].owner, 0);
    EXPECT_EQ(causes[1].code, "out-of-range");
}

TEST_F(Questions, waitingSaysWhoWaitsForWhom) {
    play(trace::Machine{2, 0});
    const trace::Id s0 = stream("s0", 0);
    const trace::Id s1 = stream("s1", 1);
    Step wait{};
    wait.kind = Step::Kind::wait;
    wait.target = symbols.flags.intern("f");
    wait.value = 1;
    trace::Launch l{};
    l.stream = s0;
    l.name = symbols.words.intern("k");
    l.steps = std::span<const Step>(&wait, 1);
    play(l);
    EXPECT_EQ(auditor.waiting(),
              std::vector<std::string>{
                  "launch k (line 4, stream s0 on device 0) waits for flag f >= 1, which nothing gives"});
    EXPECT_EQ(auditor.in_flight(), 1u);
    Step signal = wait;
    signal.kind = Step::Kind::signal;
    play(trace::FlagStep{s1, signal});
    EXPECT_TRUE(auditor.waiting().empty()) << "the signal has been given";
    EXPECT_TRUE(auditor.finish().findings.empty());
}

TEST_F(Questions, whatDoesNotExistIsRefused) {
    EXPECT_THROW(play(trace::Record{symbols.events.intern("e"), symbols.streams.intern("s")}), std::invalid_argument);
    play(trace::Machine{1, 0});
    EXPECT_THROW(play(trace::Enable{0, 1, trace::EnableResult::ok, trace::no_id}), std::invalid_argument);
}

// ---- printing ----

AuditReport sample() {
    return audit(two_devices(false) + ab +
                 R"({"op":"copy","stream":"s0","dst":"b","src":"a","bytes":4096})"
                 "\n"
                 R"({"op":"launch","stream":"s1","name":"\"q\" ü","steps":[{"read":"a"},{"wait":"f","at_least":1}]})"
                 "\n"
                 R"({"op":"launch","stream":"s1","name":"g","steps":[{"signal":"f","value":1}]})"
                 "\n");
}

TEST(AuditReports, roundTripThroughJson) {
    const AuditReport report = sample();
    EXPECT_EQ(report.findings.size(), 3u) << to_table(report);
    const AuditReport back = audit_report_from_json(to_json(report), "report");
    EXPECT_EQ(back, report);
    EXPECT_EQ(to_json(back), to_json(report));
    EXPECT_EQ(audit_report_from_json(to_json(AuditReport{}), "report"), AuditReport{});
    EXPECT_THROW((void)audit_report_from_json("{}", "report"), InputError);
    EXPECT_THROW((void)audit_report_from_json("{\"schema\":\"peerlane.plan/1\"}", "report"), InputError);
}

TEST(AuditReports, tableHasALineForEachFindingItsCureAndTheCounts) {
    const std::string table = to_table(sample());
    EXPECT_NE(table.find("warn   copy-staged-by-driver"), std::string::npos) << table;
    EXPECT_NE(table.find("error  unmapped-access"), std::string::npos) << table;
    EXPECT_NE(table.find("-> launch g"), std::string::npos) << table;
    EXPECT_NE(table.find("cure: "), std::string::npos) << table;
    EXPECT_NE(table.find("8 events: 2 errors, 1 warning\n"), std::string::npos) << table;
    EXPECT_EQ(to_table(audit("")), "0 events: clean\n");
}

TEST(AuditReports, statusIsThatOfTheWorstFinding) {
    AuditReport report;
    EXPECT_EQ(report.status(), 0);
    report.findings.resize(1);
    report.findings[0].severity = AuditFinding::Severity::warn;
    EXPECT_EQ(report.status(), 1);
    report.findings.resize(2);
    report.findings[1].severity = AuditFinding::Severity::error;
    EXPECT_EQ(report.status(), 2);
}

}  // namespace

}  // namespace peerlane::audit_tests
