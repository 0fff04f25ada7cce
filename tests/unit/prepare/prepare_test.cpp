// One proof a machine, however many processes start at once.

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>

#include <peerlane/error.hpp>
#include <peerlane/prepare.hpp>

#include "unit/share/support.hpp"

namespace peerlane::prepare_tests {
namespace {

using share_tests::Child;
using share_tests::Folder;
using share_tests::limit_s;
using share_tests::two_devices;

constexpr int ranks = 8;

/// Bytes that processes leave for each other.
class Pipe {
  public:
    Pipe() {
        if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
            std::abort();
        }
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    void put() const { ASSERT_EQ(::write(ends_[1], "x", 1), 1); }
    /// False when it does not come.
    [[nodiscard]] bool take() const {
        pollfd watched{ends_[0], POLLIN, 0};
        char byte = 0;
        return ::poll(&watched, 1, static_cast<int>(limit_s * 1000)) == 1 && ::read(ends_[0], &byte, 1) == 1;
    }
    [[nodiscard]] int count() const {
        auto count = 0;
        pollfd watched{ends_[0], POLLIN, 0};
        char byte = 0;
        while (::poll(&watched, 1, 0) == 1 && ::read(ends_[0], &byte, 1) == 1) {
            ++count;
        }
        return count;
    }

  private:
    std::array<int, 2> ends_{};
};

/// Simulated probes that are counted, and that begin when `before` lets them.
class Counted final : public prove::ProbeHost {
  public:
    Counted(const Pipe& proofs, std::function<void()> before, std::vector<Fault> faults = {})
        : proofs_(proofs), before_(std::move(before)) {
        prove::InProcessOptions options;
        options.open = [faults] { return open_simulated(SimulatedMachine(two_devices()), {faults}); };
        inner_ = prove::in_process_host(std::move(options));
    }
    std::vector<prove::ProbeOutcome> run(const std::vector<prove::ProbeStep>& steps, double seconds_per_step,
                                         const prove::OnBegin& begin, const prove::OnEnd& end) override {
        proofs_.put();
        if (before_) {
            before_();
        }
        return inner_->run(steps, seconds_per_step, begin, end);
    }

  private:
    const Pipe& proofs_;
    std::function<void()> before_;
    std::unique_ptr<prove::ProbeHost> inner_;
};

PrepareOptions options_with(const std::string& cache, const Pipe& proofs, std::function<void()> before = {},
                            std::vector<Fault> faults = {}) {
    PrepareOptions options;
    options.cache = cache;
    options.measure = Measuring::none;
    options.wait_s = limit_s;
    options.host = [&proofs, before, faults] { return std::make_unique<Counted>(proofs, before, faults); };
    return options;
}

bool proven(const Prepared& prepared) {
    auto const* const pair = prepared.verdicts.pair(0, 1);
    return pair != nullptr && (*pair)[Check::push].result == Result::ok;
}

/// Eight processes start on a cold cache; the one that proves begins when all others wait. `body` says how each ends.
struct Ranks {
    Pipe go, proofs, waiting;

    /// A process counts as waiting with its first word of progress.
    PrepareOptions options(const std::string& cache, const std::function<void()>& at_the_proof) {
        auto options = options_with(cache, proofs, at_the_proof);
        auto told = std::make_shared<bool>(false);
        options.progress = [this, told](const PrepareProgress& progress) {
            if (progress.waiting && !std::exchange(*told, true)) {
                waiting.put();
            }
        };
        return options;
    }
    void wait_for_others(int others) const {
        for (int i = 0; i < others; ++i) {
            if (!waiting.take()) {
                ::_exit(98);
            }
        }
    }
};

TEST(Prepare, EightProcessesProveOnce) {
    Folder const folder;
    auto const cache = folder / "cache";
    Ranks shared;
    std::vector<std::unique_ptr<Child>> children;
    for (int rank = 0; rank < ranks; ++rank) {
        children.push_back(std::make_unique<Child>([&] {
            if (!shared.go.take()) {
                return 97;
            }
            auto const driver = share_tests::open_pair();
            auto const options = shared.options(cache, [&] { shared.wait_for_others(ranks - 1); });
            auto const prepared = prepare(*driver, options);
            return proven(prepared) && prepared.from_cache == prepared.waited ? 0 : 1;
        }));
    }
    for (int rank = 0; rank < ranks; ++rank) {
        shared.go.put();
    }
    for (auto& child : children) {
        EXPECT_EQ(child->join(), 0);
    }
    EXPECT_EQ(shared.proofs.count(), 1);
}

TEST(Prepare, WhenTheProcessThatProvesIsKilledAnotherGoesOn) {
    Folder const folder;
    auto const cache = folder / "cache";
    Ranks shared;
    Child first([&] {
        auto const driver = share_tests::open_pair();
        auto const options = shared.options(cache, [&] {
            shared.go.put();
            shared.wait_for_others(ranks - 1);
            ::kill(::getpid(), SIGKILL);
        });
        (void)prepare(*driver, options);
        return 0;
    });
    ASSERT_TRUE(shared.go.take()) << "it holds the lock and proves";
    std::vector<std::unique_ptr<Child>> children;
    for (int rank = 1; rank < ranks; ++rank) {
        children.push_back(std::make_unique<Child>([&] {
            auto const driver = share_tests::open_pair();
            return proven(prepare(*driver, shared.options(cache, {}))) ? 0 : 1;
        }));
    }
    EXPECT_EQ(first.join(), 128 + SIGKILL);
    for (auto& child : children) {
        EXPECT_EQ(child->join(), 0);
    }
    EXPECT_EQ(shared.proofs.count(), 2) << "the one that was killed, and one more";
}

TEST(Prepare, AFailureIsToldToAllThatWaitAndTriedOnce) {
    Folder const folder;
    auto const cache = folder / "cache";
    Ranks shared;
    std::vector<std::unique_ptr<Child>> children;
    for (int rank = 0; rank < ranks; ++rank) {
        children.push_back(std::make_unique<Child>([&] {
            auto const driver = share_tests::open_pair();
            auto const options = shared.options(cache, [&] {
                shared.wait_for_others(ranks - 1);
                throw Error({code::no_device, "open", -1, -1, "no prober today"});
            });
            try {
                (void)prepare(*driver, options);
            } catch (const Error& error) {
                return std::string(error.what()).find("no prober today") == std::string::npos ? 2 : 0;
            }
            return 1;
        }));
    }
    for (auto& child : children) {
        EXPECT_EQ(child->join(), 0);
    }
    EXPECT_EQ(shared.proofs.count(), 1);
}

TEST(Prepare, WaitingIsBounded) {
    Folder const folder;
    auto const cache = folder / "cache";
    Pipe const proofs, holds, end;
    Child holder([&] {
        auto const driver = share_tests::open_pair();
        (void)prepare(*driver, options_with(cache, proofs, [&] {
            holds.put();
            (void)end.take();
        }));
        return 0;
    });
    ASSERT_TRUE(holds.take());
    auto const driver = share_tests::open_pair();
    auto options = options_with(cache, proofs);
    options.wait_s = 0.2;
    std::string seen;
    options.progress = [&](const PrepareProgress& progress) { seen += progress.waiting ? progress.what : ""; };
    try {
        (void)prepare(*driver, options);
        FAIL() << "the other holds the lock";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code::not_ready);
    }
    EXPECT_NE(seen.find(std::to_string(holder.process())), std::string::npos) << "who is at work: " << seen;
    end.put();
    EXPECT_EQ(holder.join(), 0);
    EXPECT_TRUE(prepare(*driver, options).from_cache);
}

TEST(Prepare, WhatIsStoredHoldsWhileTheMachineIsTheSame) {
    Folder const folder;
    Pipe const proofs;
    auto const driver = share_tests::open_pair();
    auto options = options_with(folder / "cache", proofs);
    options.when_missing = Missing::refuse;
    EXPECT_THROW((void)prepare(*driver, options), Error);
    options.when_missing = Missing::prove;
    EXPECT_FALSE(prepare(*driver, options).from_cache);
    EXPECT_TRUE(prepare(*driver, options).from_cache);
    EXPECT_EQ(proofs.count(), 1);
    options.when_missing = Missing::refuse;
    EXPECT_TRUE(proven(prepare(*driver, options)));
    options.depends_on = "push:0:1=zero";
    EXPECT_THROW((void)prepare(*driver, options), Error);
    options.when_missing = Missing::prove;
    options.host = [&] {
        return std::make_unique<Counted>(proofs, nullptr, std::vector{parse_fault("push:0:1=zero")});
    };
    auto const wrong = prepare(*driver, options);
    EXPECT_EQ((*wrong.verdicts.pair(0, 1))[Check::push].result, Result::wrong);
    EXPECT_EQ(wrong.notices.size(), 1U);
    EXPECT_EQ(proofs.count(), 1);
}

TEST(Prepare, WhatCouldNotBeToldIsNoVerdict) {
    Folder const folder;
    Pipe const proofs;
    auto const driver = share_tests::open_pair();
    auto const options =
        options_with(folder / "cache", proofs, {}, {parse_fault("host:0:1=flip"), parse_fault("host:1:0=flip")});
    EXPECT_THROW((void)prepare(*driver, options), Error);
    EXPECT_THROW((void)prepare(*driver, options), Error) << "nothing was kept";
    EXPECT_EQ(proofs.count(), 2);
}

TEST(Prepare, ProvesMeasuresAndMovesWithoutACache) {
    auto const driver = share_tests::open_pair();
    auto const prepared = prepare(*driver);
    EXPECT_TRUE(proven(prepared));
    EXPECT_TRUE(prepared.profile.quick);
    EXPECT_FALSE(prepared.profile.legs.empty());
    Mover const mover(*driver, prepared);
    EXPECT_FALSE(mover.choose(gpu(0), gpu(1), 1 << 20).routes.empty());
}

TEST(Prepare, AProfileIsMeasuredOnceAndAQuickOneIsNoFullOne) {
    Folder const folder;
    Pipe const proofs;
    auto const driver = share_tests::open_pair();
    auto options = options_with(folder / "cache", proofs);
    options.measure = Measuring::quick;
    EXPECT_FALSE(prepare(*driver, options).from_cache);
    auto const stored = prepare(*driver, options);
    EXPECT_TRUE(stored.from_cache);
    EXPECT_TRUE(stored.profile.quick);
    options.measure = Measuring::full;
    options.when_missing = Missing::refuse;
    EXPECT_THROW((void)prepare(*driver, options), Error);
    EXPECT_EQ(proofs.count(), 1);
}

TEST(Prepare, EachProcessGetsItsPartOfOneProof) {
    Folder const folder;
    Pipe const proofs;
    auto reversed = two_devices();  // a process whose list of visible devices is the other way round
    std::swap(reversed.devices[0].bus, reversed.devices[1].bus);
    std::swap(reversed.devices[0].uuid, reversed.devices[1].uuid);
    auto const here = share_tests::open_pair();
    auto const there = open_simulated(SimulatedMachine(reversed));
    auto options = options_with(folder / "cache", proofs, {}, {parse_fault("push:0:1=zero")});
    auto const first = prepare(*here, options);
    auto const second = prepare(*there, options);
    EXPECT_TRUE(second.from_cache);
    EXPECT_EQ(proofs.count(), 1);
    EXPECT_EQ((*first.verdicts.pair(0, 1))[Check::push].result, Result::wrong);
    EXPECT_EQ((*second.verdicts.pair(1, 0))[Check::push].result, Result::wrong);
    EXPECT_EQ((*second.verdicts.pair(0, 1))[Check::push].result, Result::ok);
    EXPECT_EQ(first.proven, second.proven);

    options.devices = {device_name(reversed, 0)};  // one device alone has no pairs
    auto const alone = prepare(*there, options);
    EXPECT_TRUE(alone.verdicts.pairs.empty());
    EXPECT_EQ(proofs.count(), 0);
    options.devices = {{"GPU-none", ""}};
    EXPECT_THROW((void)prepare(*there, options), std::invalid_argument);
}

}  // namespace
}  // namespace peerlane::prepare_tests
