// Proofs in processes of their own: what hangs, crashes or cannot be ended costs one step.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <peerlane/error.hpp>
#include <peerlane/open.hpp>
#include <peerlane/units.hpp>

#include "prove/child_process.hpp"
#include "simulated.hpp"

namespace peerlane {
namespace {

using Lines = std::vector<std::string>;
using prove::ChildOptions;
using prove::ProveOptions;

/// Beside this test where the two were copied to another machine.
std::string helper_path() {
    auto const beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "peerlane-probe-test";
    return std::filesystem::exists(beside) ? beside.string() : PEERLANE_PROBE_TEST;
}

ChildOptions helper(Lines arguments = {}) {
    arguments.insert(arguments.begin(), {"--machine", "h200-pair"});
    ChildOptions options;
    options.helper = helper_path();
    options.arguments = std::move(arguments);
    options.end_seconds = 0.3;
    return options;
}

struct Outcome {
    Verdicts verdicts;
    double seconds = 0;
};

Outcome run(ChildOptions options, ProveOptions proof = {}) {
    auto const machine = test::machine_of(2).machine();
    auto const start = std::chrono::steady_clock::now();
    auto const host = prove::child_host(std::move(options));
    Outcome done;
    done.verdicts = prove::prove(*host, machine, proof);
    done.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return done;
}

const CheckResult& of(const Outcome& done, int accessor, int owner, Check check) {
    return (*done.verdicts.pair(accessor, owner))[check];
}

/// Processes of the helper that are still there.
int left_over() {
    int count = 0;
    for (;;) {
        auto const ended = ::waitpid(-1, nullptr, WNOHANG);
        if (ended > 0) {
            ++count;
        } else {
            return ended == 0 ? count + 1 : count;
        }
    }
}

TEST(ChildHost, ProvesAMachineAndLeavesNoProcess) {
    auto const done = run(helper());
    EXPECT_EQ(test::complaints(done.verdicts), Lines{});
    EXPECT_EQ(done.verdicts.status, Status::healthy);
    EXPECT_EQ(left_over(), 0);
}

TEST(ChildHost, SaysTheSameAsThisProcess) {
    Lines const faults{"push:0:1=flip", "store:1:0=hang", "load:0:1=error700", "pull:1:0=freeze"};
    Lines arguments;
    for (auto const& fault : faults) {
        arguments.insert(arguments.end(), {"--fault", fault});
    }
    auto const done = run(helper(arguments));
    EXPECT_EQ(test::complaints(done.verdicts),
              (Lines{"0:1 push wrong(flip)", "0:1 load error700", "1:0 pull hang frozen", "1:0 store hang"}));
    EXPECT_EQ(left_over(), 0);
}

TEST(ChildHost, AHangIsEndedInItsBoundAndTheRestIsJudged) {
    ProveOptions proof;
    proof.seconds_per_step = 0.5;
    auto const done = run(helper({"--test-hang-at", "0:1 push"}), proof);
    EXPECT_EQ(test::complaints(done.verdicts), Lines{"0:1 push hang"});
    EXPECT_NE(of(done, 0, 1, Check::push).reason.find("about to hang at 0:1 push"), std::string::npos)
        << of(done, 0, 1, Check::push).reason;
    EXPECT_GE(done.seconds, 0.5);
    EXPECT_EQ(left_over(), 0);
}

TEST(ChildHost, ADeviceThatStaysBusyGetsNothingMore) {
    auto const done = run(helper({"--fault", "store:0:1=hang", "--fault", "wedge:1"}));
    EXPECT_EQ(of(done, 0, 1, Check::store).result, Result::hang);
    for (auto const check : {Check::claim, Check::push, Check::load}) {
        EXPECT_EQ(of(done, 1, 0, check).result, Result::skipped);
        EXPECT_EQ(of(done, 1, 0, check).reason, "device 1 is still busy with what 0:1 store left running");
    }
    EXPECT_EQ(left_over(), 0);
}

TEST(ChildHost, StoppedFromOutsideEndsTheStepAtOnceAndLeavesNoProcess) {
    auto options = helper({"--test-hang-at", "0:1 push", "--test-ignore-term"});
    bool stop = false;
    options.stopped = [&] { return stop; };
    options.veto = [&](const prove::ProbeStep&) { return stop ? std::string("stopped") : ""; };
    ProveOptions proof;
    proof.seconds_per_step = 60;
    proof.begin = [&](const prove::ProbeStep& step) { stop = describe(step) == "0:1 push"; };
    auto const done = run(options, proof);
    EXPECT_LT(done.seconds, 30);
    EXPECT_EQ(of(done, 0, 1, Check::push).reason.substr(0, 7), "stopped");
    EXPECT_EQ(of(done, 0, 1, Check::map).result, Result::ok);
    EXPECT_EQ(of(done, 1, 0, Check::load).reason, "stopped");
    EXPECT_EQ(left_over(), 0);
}

TEST(ChildHost, AProberThatIgnoresTheRequestToEndIsKilled) {
    ProveOptions proof;
    proof.seconds_per_step = 0.3;
    auto const done = run(helper({"--test-hang-at", "1:0 load", "--test-ignore-term"}), proof);
    EXPECT_EQ(test::complaints(done.verdicts), Lines{"1:0 load hang"});
    EXPECT_EQ(left_over(), 0);
}

TEST(ChildHost, AProberThatCannotBeKilledIsFrozenAndTheRestStillRuns) {
    ProveOptions proof;
    proof.seconds_per_step = 0.3;
    auto options = helper({"--test-hang-at", "0:1 store"});
    std::vector<pid_t> asked;
    options.send_signal = [&](int process, int) {  // a process in uninterruptible sleep
        asked.push_back(process);
        return true;
    };
    auto const done = run(options, proof);
    EXPECT_EQ(test::complaints(done.verdicts), Lines{"0:1 store hang frozen"});
    ASSERT_FALSE(asked.empty());
    ::kill(asked.front(), SIGKILL);
    ::waitpid(asked.front(), nullptr, 0);
    EXPECT_EQ(left_over(), 0);
}

TEST(ChildHost, ACrashIsAnErrorThatSaysWhatWasPrinted) {
    auto const done = run(helper({"--test-crash-at", "0:1 load"}));
    EXPECT_EQ(test::complaints(done.verdicts), Lines{"0:1 load error999"});
    auto const& reason = of(done, 0, 1, Check::load).reason;
    EXPECT_NE(reason.find("killed by signal 6"), std::string::npos) << reason;
    EXPECT_NE(reason.find("about to crash at 0:1 load"), std::string::npos) << reason;
}

std::string failure(ChildOptions options) {
    try {
        run(std::move(options));
    } catch (const Error& error) {
        return error.what();
    }
    return "started";
}

TEST(ChildHost, NoHelperNoMachineNoOptionAreErrorsAtOnce) {
    auto none = helper();
    none.helper = "/nowhere/peerlane-probe";
    EXPECT_NE(failure(none).find("/nowhere/peerlane-probe: No such file"), std::string::npos) << failure(none);
    EXPECT_NE(failure(helper({"--machine", "missing.json"})).find("missing.json"), std::string::npos);
    EXPECT_NE(failure(helper({"--turbo", "1"})).find("--turbo"), std::string::npos);
    EXPECT_EQ(left_over(), 0);
}

TEST(ChildHost, AHelperThatSaysNothingIsNotWaitedForLong) {
    ChildOptions options;
    options.helper = "/bin/sh";  // which takes "--parent N" for parameters of the script
    options.arguments = {"-c", "exec sleep 60"};
    options.start_seconds = 0.2;
    options.end_seconds = 0.2;
    auto const start = std::chrono::steady_clock::now();
    EXPECT_NE(failure(options).find("not open after 200 ms"), std::string::npos);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
    EXPECT_EQ(left_over(), 0);
}

TEST(ChildHost, AProberThatIsRefusedItsDevicesSaysWhy) {
    // What a prober says where another process holds the devices in exclusive mode.
    ChildOptions options;
    options.helper = "/bin/sh";
    options.arguments = {"-c", R"(echo '{"refused":"another process holds the devices exclusively","code":46}')"};
    EXPECT_NE(failure(options).find("another process holds the devices exclusively"), std::string::npos);
    EXPECT_EQ(left_over(), 0);
}

TEST(ChildHost, ASecondProberThatDoesNotStartSkipsTheRestWithTheReason) {
    // A helper that works once: the second start finds its mark and fails.
    auto const mark = testing::TempDir() + "/peerlane_probe_started_" + std::to_string(::getpid());
    auto const script = std::string("if [ -e ") + mark + " ]; then echo 'device is busy' >&2; exit 3; fi; touch " +
                        mark + "; exec " + helper_path() + " --machine h200-pair --test-crash-at '0:1 push' \"$@\"";
    ChildOptions options;
    options.helper = "/bin/sh";
    options.arguments = {"-c", script, "sh"};
    auto const done = run(options);
    ::unlink(mark.c_str());
    EXPECT_EQ(of(done, 0, 1, Check::map).result, Result::ok);
    EXPECT_EQ(of(done, 0, 1, Check::push).result, Result::error);
    for (auto const check : {Check::pull, Check::store, Check::load}) {
        EXPECT_EQ(of(done, 0, 1, check).result, Result::skipped);
        EXPECT_NE(of(done, 0, 1, check).reason.find("device is busy"), std::string::npos)
            << of(done, 0, 1, check).reason;
    }
}

TEST(ChildHost, TheJournalIsAheadOfTheStep) {
    // At every `begin` the prober has not seen the step yet: the crash of that step comes after the line.
    Lines journal;
    ProveOptions proof;
    proof.begin = [&](const prove::ProbeStep& step) { journal.push_back(describe(step)); };
    proof.end = [&](const prove::ProbeOutcome& outcome) { journal.push_back(to_string(outcome.result.result)); };
    run(helper({"--test-crash-at", "0:1 pull"}), proof);
    auto const at = std::find(journal.begin(), journal.end(), "0:1 pull");
    ASSERT_NE(at, journal.end());
    EXPECT_EQ(*(at + 1), "error");
    EXPECT_EQ(journal.size(), 28u);
}

TEST(ChildHost, TheProberDiesWithItsParent) {
    // A parent that starts a hanging prober and is killed by what Ctrl-C sends.
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    auto const parent = ::fork();
    ASSERT_GE(parent, 0);
    if (parent == 0) {
        ::close(ends[0]);
        auto options = helper({"--test-hang-at", "0:1 push"});
        ProveOptions proof;
        proof.seconds_per_step = 60;
        proof.begin = [&](const prove::ProbeStep& step) {
            if (describe(step) == "0:1 pull") {
                std::_Exit(1);
            }
            auto const line = describe(step) + "\n";
            if (::write(ends[1], line.data(), line.size()) < 0) {
                std::_Exit(2);
            }
        };
        run(options, proof);
        std::_Exit(0);
    }
    ::close(ends[1]);
    std::string seen;
    char c = 0;
    while (seen.find("0:1 push\n") == std::string::npos && ::read(ends[0], &c, 1) == 1) {
        seen += c;
    }
    std::string prober;
    std::ifstream children("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
    children >> prober;
    ::kill(parent, SIGINT);
    ::waitpid(parent, nullptr, 0);
    ::close(ends[0]);
    if (prober.empty()) {
        GTEST_SKIP() << "this kernel does not list children under /proc";
    }
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    auto const gone = [&] {
        std::ifstream stat("/proc/" + prober + "/stat");
        std::string id, name, state;
        return !(stat >> id >> name >> state) || state == "Z";
    };
    while (!gone() && std::chrono::steady_clock::now() < deadline) {
        ::usleep(1000);
    }
    EXPECT_TRUE(gone());
}

/// Two devices of this machine, in the helper.
class RealDevices : public testing::Test {
  protected:
    void SetUp() override {
        auto const available = cuda_availability();
        if (available.devices < 2) {
            GTEST_SKIP() << (available.devices == 1 ? "one device only" : available.reason);
        }
    }
    /// Prints how long each step took.
    static Outcome prove_pair(Lines arguments, ProveOptions proof = {}) {
        ChildOptions options;
        options.helper = helper_path();
        options.arguments = std::move(arguments);
        proof.pairs = {{0, 1}, {1, 0}};
        auto start = std::chrono::steady_clock::now();
        proof.begin = [&](const prove::ProbeStep&) { start = std::chrono::steady_clock::now(); };
        proof.end = [&](const prove::ProbeOutcome& outcome) {
            std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
            std::cout << describe(outcome.step) << ": " << to_string(outcome.result.result) << ", "
                      << seconds_text(took.count()) << ", "
                      << (outcome.result.gbs ? gbs_text(*outcome.result.gbs) + " GB/s" : "") << " "
                      << outcome.result.reason << std::endl;
        };
        auto done = run(std::move(options), proof);
        std::cout << "all of it: " << seconds_text(done.seconds) << std::endl;
        return done;
    }
};

TEST_F(RealDevices, EveryCheckOfThePairBothWays) {
    auto const done = prove_pair({});
    EXPECT_EQ(test::complaints(done.verdicts), Lines{});
    EXPECT_EQ(done.verdicts.status, Status::healthy);
    for (auto const& route : done.verdicts.routes) {
        EXPECT_EQ(route.use, RouteVerdict::Use::direct);
    }
    EXPECT_LT(done.seconds, 8);
    EXPECT_EQ(left_over(), 0);
}

TEST_F(RealDevices, AHangingProberIsEndedAndTheNextRunWorks) {
    ProveOptions proof;
    proof.seconds_per_step = 3;
    EXPECT_EQ(test::complaints(prove_pair({"--test-hang-at", "0:1 store"}, proof).verdicts), Lines{"0:1 store hang"});
    EXPECT_EQ(left_over(), 0);
    EXPECT_EQ(test::complaints(prove_pair({}).verdicts), Lines{});
}

TEST_F(RealDevices, ManySizesAndUnalignedStarts) {
    ProveOptions proof;
    proof.sizes = {1, 7, 8, 4096, 4097, 64 * KiB, 512 * KiB + 4, 16 * MiB + 36};
    EXPECT_EQ(test::complaints(prove_pair({}, proof).verdicts), Lines{});
}

TEST(ChildProcess, LongOutputOnBothPipesDoesNotBlock) {
    prove::ChildProcess child(
        "/bin/sh",
        {"-c",
         "i=0; while [ $i -lt 2000 ]; do echo 'a line of errors that fills the pipe, and more' >&2; "
         "i=$((i+1)); done; echo done"},
        {});
    auto const line = child.read_line(prove::after(60));
    EXPECT_EQ(line.text, "done");
    EXPECT_EQ(child.read_line(prove::after(60)).kind, prove::ChildProcess::Line::Kind::closed);
    EXPECT_TRUE(child.reap(10));
    EXPECT_EQ(child.ending(), "ended with status 0");
    EXPECT_LE(child.complaint().size(), 2000u);
    EXPECT_FALSE(child.write_line("anybody there")) << "and no SIGPIPE";
}

}  // namespace
}  // namespace peerlane
