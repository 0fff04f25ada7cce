// Ctrl-C and probers that hang, with the command built for tests, whose helper misbehaves on request.

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/doctor.hpp"

namespace peerlane::cli_tests {
namespace {

using testing::HasSubstr;

/// A word that only our helper has among its arguments.
std::string marker() {
    return "770" + std::to_string(::getpid());
}

/// Processes with this word on their command line.
int processes_with(const std::string& word) {
    int count = 0;
    for (auto const& entry : std::filesystem::directory_iterator("/proc")) {
        std::ifstream file(entry.path() / "cmdline", std::ios::binary);
        std::string const text{std::istreambuf_iterator<char>(file), {}};
        count += text.find(word) != std::string::npos ? 1 : 0;
    }
    return count;
}

/// False when it did not come true within a minute.
template <class F>
bool comes_true(F&& what) {
    for (int i = 0; i < 1200; ++i) {
        if (what()) {
            return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
}

pid_t start(const std::vector<std::string>& arguments, const std::string& helper_options, const std::string& out) {
    auto const child = ::fork();
    if (child != 0) {
        return child;
    }
    ::setenv("PEERLANE_TEST_HELPER_OPTIONS", helper_options.c_str(), 1);
    auto const file = ::open(out.c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    std::vector<char*> words{const_cast<char*>(PEERLANE_TEST_COMMAND)};
    for (auto const& argument : arguments) {
        words.push_back(const_cast<char*>(argument.c_str()));
    }
    words.push_back(nullptr);
    ::execv(words[0], words.data());
    ::_exit(127);
}

class Stopped : public testing::TestWithParam<int> {};

TEST_P(Stopped, LeavesNoProcessAndPrintsWhatWasLearned) {
    Folder const folder;
    auto const record = folder.file("record.jsonl");
    auto const child = start({"--machine", "h200-pair", "doctor", "--record", record},
                             "--test-hang-at;1:0 pull;--test-ignore-term;--seed;" + marker(), folder.file("out"));
    ASSERT_GT(child, 0);
    ASSERT_TRUE(comes_true([&] {
        return text_of(record).find("{\"begin\":{\"step\":\"1:0 pull\"") != std::string::npos;
    })) << text_of(folder.file("out"));
    EXPECT_EQ(processes_with(marker()), 1);
    ASSERT_EQ(::kill(child, GetParam()), 0);
    int status = 0;
    ::waitpid(child, &status, 0);
    auto const out = text_of(folder.file("out"));
    ASSERT_TRUE(WIFEXITED(status)) << out;
    EXPECT_EQ(WEXITSTATUS(status), 128 + GetParam()) << out;
    EXPECT_EQ(processes_with(marker()), 0);
    EXPECT_THAT(out, HasSubstr("STOPPED by the user"));
    EXPECT_THAT(out, HasSubstr("inconclusive: stopped by the user"));
    EXPECT_THAT(out, HasSubstr("1 of 2 directed pairs proven right"));
    auto const replayed = doctored({"--machine", record, "doctor"});
    EXPECT_EQ(replayed.check(0, 1, "store"), "ok") << "what was learned before";
    EXPECT_EQ(replayed.check(1, 0, "pull"), "skipped");
    EXPECT_FALSE(replayed.has("probe-interrupted")) << "the user stopped it, not the step";
}

INSTANTIATE_TEST_SUITE_P(Doctor, Stopped, testing::Values(SIGINT, SIGTERM),
                         [](auto const& signal) { return signal.param == SIGINT ? "CtrlC" : "Terminate"; });

TEST(Doctor, AKilledRunLeavesItsStepOpenForTheNext) {
    Folder const folder;
    auto const record = folder.file("record.jsonl");
    auto const child = start({"--machine", "h200-pair", "doctor", "--record", record},
                             "--test-hang-at;0:1 store;--seed;" + marker(), folder.file("out"));
    ASSERT_GT(child, 0);
    ASSERT_TRUE(comes_true([&] {
        return text_of(record).find("{\"begin\":{\"step\":\"0:1 store\"") != std::string::npos;
    })) << text_of(folder.file("out"));
    ::kill(child, SIGKILL);  // the host goes down
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(comes_true([] { return processes_with(marker()) == 0; })) << "the helper dies with its parent";
    auto const next = doctored({"--machine", "h200-pair", "doctor", "--record", record});
    EXPECT_EQ(next.status, 2);
    EXPECT_EQ(next.pairs_of("probe-interrupted"), "0:1");
    EXPECT_EQ(next.check(0, 1, "store"), "skipped");
    EXPECT_EQ(next.check(1, 0, "store"), "ok");
}

}  // namespace
}  // namespace peerlane::cli_tests
