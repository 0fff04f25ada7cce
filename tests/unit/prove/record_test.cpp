// Records: written ahead, read back however the run ended. One of the reports behind them: Dasharo and QUDA users whose
// whole node froze in a check, with nothing on disk that named it (lattice/quda#669).

#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

#include <gtest/gtest.h>

#include <peerlane/error.hpp>
#include <peerlane/record.hpp>

#include "unit/prove/make.hpp"

namespace peerlane {
namespace {

using prove::ProbeStep;

constexpr const char* machine_text = R"({
  "schema": "peerlane.machine/1",
  "devices": [{"id": 0, "model": "a  b"}]
})";

class RecordFile : public testing::Test {
  protected:
    void SetUp() override {
        path_ = (std::filesystem::temp_directory_path() / "peerlane-record-XXXXXX").string();
        ASSERT_GE(::close(::mkstemp(path_.data())), 0);
    }
    void TearDown() override { std::filesystem::remove(path_); }
    [[nodiscard]] std::string text() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    [[nodiscard]] Record read() const { return read_record(text(), path_); }
    [[nodiscard]] std::string last_line() const {
        auto const all = text();
        auto const before = all.rfind('\n', all.size() - 2);
        return all.substr(before + 1);
    }
    std::string path_;
};

ProbeStep check(Check what, int accessor, int owner) {
    return {ProbeStep::Kind::check, what, accessor, owner, {4096}, 9};
}

RecordedRun run() {
    return {"1.2.3", true, 9, 77, 5, "boot-a"};
}

TEST_F(RecordFile, IsReadBackAsItWasWritten) {
    auto const verdicts = test::healthy_pair();
    auto const writer = write_record(path_, run(), machine_text, R"({"schema": "facts"})");
    writer->begin(check(Check::push, 0, 1));
    writer->end({check(Check::push, 0, 1), test::right(300)});
    writer->finish(verdicts, R"({"schema": "later"})");
    EXPECT_EQ(writer->failure(), "");
    auto const record = read();
    EXPECT_EQ(record.run, run());
    EXPECT_EQ(record.machine, R"({"schema":"peerlane.machine/1","devices":[{"id":0,"model":"a  b"}]})");
    EXPECT_EQ(record.machine_line, 2);
    EXPECT_EQ(record.facts, R"({"schema":"later"})");
    ASSERT_EQ(record.outcomes.size(), 1U);
    EXPECT_EQ(record.outcomes[0].result, test::right(300));
    EXPECT_EQ(record.verdicts, verdicts);
    EXPECT_TRUE(record.open.empty());
}

TEST_F(RecordFile, AStepIsOnDiskBeforeItRuns) {
    auto const writer = write_record(path_, run(), machine_text, "");
    writer->begin(check(Check::store, 0, 2));
    // Here the host freezes: nothing of the process is ever heard again.
    EXPECT_NE(last_line().find("0:2 store"), std::string::npos);
    auto const record = read();
    ASSERT_EQ(record.open.size(), 1U);
    EXPECT_EQ(record.open[0], (RecordedStep{check(Check::store, 0, 2), run()}));
    EXPECT_FALSE(record.verdicts);
}

TEST_F(RecordFile, AFrozenStepStaysOpenAndIsNamedInTheLastLine) {
    auto const writer = write_record(path_, run(), machine_text, "");
    writer->begin(check(Check::store, 0, 2));
    CheckResult hang{Result::hang};
    hang.frozen = true;
    writer->end({check(Check::store, 0, 2), hang});
    writer->begin(check(Check::load, 0, 2));
    writer->end({check(Check::load, 0, 2), {Result::ok}});
    writer->finish(test::healthy_pair(), "");
    EXPECT_NE(last_line().find("0:2 store"), std::string::npos) << last_line();
    auto const record = read();
    ASSERT_EQ(record.open.size(), 1U);
    EXPECT_EQ(describe(record.open[0].step), "0:2 store");
    EXPECT_EQ(record.outcomes.size(), 2U);
}

TEST_F(RecordFile, WhatAnEarlierRunLeftOpenStaysUntilItIsRunAgainAndEnds) {
    RecordedStep const earlier{check(Check::store, 0, 2), {"1.0", true, 1, 5, 6, "boot-before"}};
    {
        auto const writer = write_record(path_, run(), machine_text, "", {earlier});
        CheckResult skipped;
        skipped.reason = "not repeated";
        writer->end({earlier.step, skipped});  // never begun
        writer->finish(test::healthy_pair(), "");
    }
    EXPECT_EQ(read().open, std::vector<RecordedStep>{earlier});
    auto const again = write_record(path_, run(), machine_text, "", read().open);
    again->begin(earlier.step);
    again->end({earlier.step, {Result::ok}});
    again->finish(test::healthy_pair(), "");
    EXPECT_TRUE(read().open.empty());
}

TEST_F(RecordFile, ALineThatWasCutIsLeftOutAndDamageIsNamedByLine) {
    {
        auto const writer = write_record(path_, run(), machine_text, "");
        writer->begin(check(Check::store, 0, 1));
    }
    auto const whole = text();
    EXPECT_TRUE(read_record(whole.substr(0, whole.size() - 20), "r").open.empty());
    auto const refused = [](const std::string& text) -> std::string {
        try {
            static_cast<void>(read_record(text, "r"));
            return "";
        } catch (const InputError& error) {
            return error.what();
        }
    };
    EXPECT_EQ(refused(whole.substr(0, 40)), "r:1: no JSON object");
    EXPECT_EQ(refused(""), "r: the record is empty");
    EXPECT_EQ(refused("{\"schema\":\"peerlane.record/1\"}\n"), "r: the record holds no machine");
    EXPECT_EQ(refused("{\"schema\":\"peerlane.record/2\"}\n"), "r:1: \"schema\" must be peerlane.record/1");
    auto damaged = whole;
    damaged.replace(damaged.find("\"store\""), 7, "\"stare\"");
    EXPECT_EQ(refused(damaged), "r:3: check: is no check");
    damaged = whole + "{\"verdicts\":{}}\n";
    EXPECT_EQ(refused(damaged), "r:4: document: misses \"schema\"");
    damaged = whole + "]\n" + "{}\n";
    EXPECT_EQ(refused(damaged), "r:4: no JSON object");
}

TEST_F(RecordFile, EveryPrefixIsReadOrRefused) {
    {
        auto const writer = write_record(path_, run(), machine_text, "{}");
        writer->begin(check(Check::store, 0, 1));
        writer->end({check(Check::store, 0, 1), test::wrong(WrongKind::flip)});
        writer->finish(test::healthy_pair(), "");
    }
    auto const whole = text();
    int sound = 0;
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        try {
            static_cast<void>(read_record(whole.substr(0, length), "r"));
            ++sound;
        } catch (const InputError& error) {
            EXPECT_EQ(error.file(), "r");
        }
    }
    EXPECT_GT(sound, 100);
}

TEST(Record, AFileThatCannotBeMadeIsAnError) {
    EXPECT_THROW(static_cast<void>(write_record("/proc/no/such/file", run(), machine_text, "")), Error);
}

TEST(Record, ThisProcessIsStillAtWorkAndAnotherBootsIsNot) {
    auto const now = this_run("1", false, 1, "boot-a");
    EXPECT_TRUE(still_at_work(now, "boot-a"));
    EXPECT_FALSE(still_at_work(now, "boot-b"));
    auto reused = now;
    reused.process_start += 1;
    EXPECT_FALSE(still_at_work(reused, "boot-a"));
    EXPECT_FALSE(still_at_work({"1", false, 1, 0, 0, "boot-a"}, "boot-a"));
}

}  // namespace
}  // namespace peerlane
