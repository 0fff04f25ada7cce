/// Couriers on the simulator: what arrives, who is there, what is refused.

#include <gtest/gtest.h>

#include <thread>

#include <peerlane/courier.hpp>
#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "kernels/post.hpp"
#include "support/list_oracle.hpp"
#include "unit/sim/pair.hpp"

namespace peerlane {
namespace {

using namespace testing_sim;
using testing_lists::proven;

struct Rig {
    explicit Rig(const std::vector<std::string>& faults = {}, CourierOptions options = {}, bool store = true)
        : driver(open_switched(2, faults)), ready(proven(*driver, store, true)), courier(*driver, ready, 0, options) {
        put(*driver, source, data);
        put(*driver, target, poison);
        (void)driver->enable_access({0, 1});  // as the first post would, but that takes 11 ms
        courier.start();
    }
    [[nodiscard]] CheckOutcome look_at(std::uint64_t at, std::uint64_t bytes, Pattern expected) {
        Stream stream(*driver, 1);
        expected.offset += at;
        CheckArguments const arguments{target.address() + at, bytes, expected, {3, 0}, pinned.address() + 64};
        driver->launch(stream.view(), check_kernel, &arguments);
        driver->synchronize(stream.view());
        CheckOutcome outcome;
        driver->read_host(pinned.address() + 64, &outcome, sizeof outcome);
        return outcome;
    }
    [[nodiscard]] std::uint8_t* from(std::uint64_t at = 0) const {
        return static_cast<std::uint8_t*>(pointer_to(source.address() + at));
    }
    [[nodiscard]] std::uint8_t* to(std::uint64_t at = 0) const {
        return static_cast<std::uint8_t*>(pointer_to(target.address() + at));
    }
    static constexpr Pattern data{7, 0}, poison{99, 0};
    std::unique_ptr<Driver> driver;
    Ready ready;
    Allocation source{*driver, {gpu(0), 2 * MiB}}, target{*driver, {gpu(1), 2 * MiB}};
    Allocation pinned{*driver, {host(), 4096, MemoryKind::pinned}};
    Courier courier;
};

TEST(Courier, AMessageArrivesWithinMicroseconds) {
    if (testing_sim::test_progress == SimProgress::host_pauses) {
        GTEST_SKIP() << "a time, and the host pauses";
    }
    Rig rig;
    auto const warm = rig.courier.post(rig.to(), rig.from(), 64);
    ASSERT_TRUE(warm.wait(1));
    auto const before = rig.courier.counters().residences;
    for (auto const& [bytes, least_s, most_s] : std::vector<std::tuple<std::uint64_t, double, double>>{
             {64, 2.8e-6, 4.2e-6}, {16 * KiB, 2.8e-6, 4.2e-6}, {64 * KiB, 3.8e-6, 5.8e-6}}) {
        auto channel = rig.courier.channel(rig.to(), bytes, rig.from(), bytes);
        auto const start = rig.driver->now();
        ASSERT_TRUE(channel.post(0, 0, bytes).wait(1));
        auto const seconds = rig.driver->now() - start;
        EXPECT_GT(seconds, least_s) << bytes;
        EXPECT_LT(seconds, most_s) << bytes;
    }
    EXPECT_EQ(rig.courier.counters().residences, before);
}

TEST(Courier, BytesAreWholeWhenTheMessageIsDone) {
    Rig rig;
    auto const message = rig.courier.post(rig.to(), rig.from(), 1 * MiB);
    EXPECT_FALSE(message.done());
    ASSERT_TRUE(message.wait(1));
    EXPECT_TRUE(message.done());
    ASSERT_TRUE(rig.courier.post(rig.to(1 * MiB), rig.from(1 * MiB), 1 * MiB).wait(1));
    EXPECT_EQ(look(*rig.driver, rig.target, rig.data, rig.poison), CheckOutcome{});
}

TEST(Courier, NothingBesideTheMessageIsWritten) {
    Rig rig;
    ASSERT_TRUE(rig.courier.post(rig.to(1000), rig.from(1000), 77).wait(1));
    EXPECT_EQ(rig.look_at(0, 1000, rig.poison), CheckOutcome{});
    EXPECT_EQ(rig.look_at(1000, 77, rig.data), CheckOutcome{});
    EXPECT_EQ(rig.look_at(1077, 5000, rig.poison), CheckOutcome{});
}

TEST(Courier, LeavesWhenNothingComesAndComesBackForTheNextMessage) {
    Rig rig;
    ASSERT_TRUE(rig.courier.post(rig.to(), rig.from(), 64).wait(1));
    auto const before = rig.courier.counters().residences;
    auto const start = rig.driver->now();
    rig.driver->synchronize_device(0);
    EXPECT_LT(rig.driver->now() - start, 1.2e-3);
    EXPECT_EQ(rig.courier.counters().residences, before);
    ASSERT_TRUE(rig.courier.post(rig.to(), rig.from(), 64).wait(1));
    EXPECT_EQ(rig.courier.counters().residences, before + 1);
}

TEST(Courier, LeavesUnderLoadAfterItsLongestStay) {
    if (testing_sim::test_progress == SimProgress::host_pauses) {
        GTEST_SKIP() << "a time, and the host pauses";
    }
    Rig rig;
    auto const start = rig.driver->now();
    auto count = 0U;
    while (rig.driver->now() - start < 20e-3) {
        ASSERT_TRUE(rig.courier.post(rig.to(), rig.from(), 4096).wait(1));
        ++count;
    }
    EXPECT_GE(rig.courier.counters().residences, 5U);  // 20 ms in stays of two thirds of 5
    EXPECT_LE(rig.courier.counters().residences, 8U);
    EXPECT_GT(count, 4000U);
}

TEST(Courier, LeavesWhenAsked) {
    if (testing_sim::test_progress == SimProgress::host_pauses) {
        GTEST_SKIP() << "a time, and the host pauses";
    }
    Rig rig;
    ASSERT_TRUE(rig.courier.post(rig.to(), rig.from(), 64).wait(1));
    rig.courier.leave();
    auto const start = rig.driver->now();
    rig.driver->synchronize_device(0);
    EXPECT_LT(rig.driver->now() - start, 20e-6);
    ASSERT_TRUE(rig.courier.post(rig.to(), rig.from(), 64).wait(1)) << "and comes back";
}

TEST(Courier, APostThatNobodyWaitsForIsCarriedAllTheSame) {
    Rig rig;
    for (auto i = 0; i < 40; ++i) {  // at moments all over a residence and between two
        rig.driver->synchronize_device(0);
        rig.courier.start();
        auto const until = rig.driver->now() + i * 30e-6;
        while (rig.driver->now() < until) {
            (void)rig.driver->poll(rig.pinned.address());
        }
        std::uint32_t const zero = 0;
        rig.driver->write_host(rig.pinned.address(), &zero, 4);
        (void)rig.courier.post(rig.to(), rig.from(), 64, {.then_set = rig.pinned.location()});
        rig.driver->synchronize_device(0);
        EXPECT_EQ(rig.driver->poll(rig.pinned.address()), 1U) << i;
    }
}

TEST(Courier, AFullRingHoldsThePoster) {
    Rig rig({}, {.slots = 4});
    std::vector<Message> all;
    for (std::uint64_t i = 0; i < 64; ++i) {
        all.push_back(rig.courier.post(rig.to(i * 32768), rig.from(i * 32768), 32768));
    }
    for (auto const& message : all) {
        ASSERT_TRUE(message.wait(1));
    }
    EXPECT_EQ(look(*rig.driver, rig.target, rig.data, rig.poison), CheckOutcome{});
}

TEST(Courier, ManyBytesAreAFullRingToo) {
    Rig rig({}, {.most_bytes = 64 * KiB, .most_queued_bytes = 64 * KiB});
    auto const first = rig.courier.post(rig.to(), rig.from(), 64 * KiB);
    EXPECT_FALSE(first.done());
    auto const second = rig.courier.post(rig.to(), rig.from(), 1);
    EXPECT_TRUE(first.done()) << "the second had to wait for it";
    EXPECT_TRUE(second.wait(1));
}

TEST(Courier, AFlagIsSetBehindTheBytes) {
    Rig rig;
    Allocation flag(*rig.driver, {gpu(1), 64});
    Stream waiter(*rig.driver, 1);
    rig.driver->fill(waiter.view(), flag.location(), 0, 64);
    rig.driver->synchronize(waiter.view());
    rig.driver->wait_value(waiter.view(), flag.address(), 5);
    rig.driver->copy(waiter.view(), {rig.pinned.location(), rig.target.location(), 8});
    auto const message = rig.courier.post(rig.to(), rig.from(), 1 * MiB, {.then_set = flag.location(), .value = 5});
    rig.driver->synchronize(waiter.view());
    std::uint64_t word = 0;
    rig.driver->read_host(rig.pinned.address(), &word, 8);
    EXPECT_EQ(word, pattern_word(rig.data.key, 0));
    EXPECT_TRUE(message.wait(1));
}

TEST(Courier, AStreamPostsWhenItGetsThere) {
    Rig rig;
    Stream stream(*rig.driver, 0);
    std::uint32_t const zero = 0;
    rig.driver->write_host(rig.pinned.address(), &zero, 4);
    rig.driver->wait_value(stream.view(), rig.pinned.address(), 1);
    auto const message = rig.courier.post(stream.view(), rig.to(), rig.from(), 4096);
    EXPECT_FALSE(message.wait(100e-6)) << "the stream is held";
    auto const other = rig.courier.post(rig.to(8192), rig.from(8192), 4096);
    EXPECT_TRUE(other.wait(1)) << "held messages of a stream hold nobody else";
    std::uint32_t const one = 1;
    rig.driver->write_host(rig.pinned.address(), &one, 4);
    EXPECT_TRUE(message.wait(1));
    EXPECT_EQ(rig.look_at(0, 4096, rig.data), CheckOutcome{});
    EXPECT_EQ(rig.look_at(4096, 4096, rig.poison), CheckOutcome{});
    EXPECT_EQ(rig.look_at(8192, 4096, rig.data), CheckOutcome{});
}

TEST(Courier, AStreamsMessageIsCarriedOnceWhetherTheCourierIsThereOrNot) {
    Rig rig;
    Stream stream(*rig.driver, 0);
    for (auto i = 0; i < 60; ++i) {
        if (i % 3 == 0) {
            rig.driver->synchronize_device(0);
        } else if (i % 3 == 1) {
            rig.courier.start();
        }
        auto const message = rig.courier.post(stream.view(), rig.to(), rig.from(), 64);
        message.wait_in(stream.view());
        rig.driver->synchronize(stream.view());
        EXPECT_TRUE(message.done());
    }
}

TEST(Courier, AStreamWaitsForAMessage) {
    Rig rig;
    Stream stream(*rig.driver, 1);
    auto const message = rig.courier.post(rig.to(), rig.from(), 4096);
    message.wait_in(stream.view());
    rig.driver->copy(stream.view(), {rig.pinned.location(), rig.target.location(), 8});
    rig.driver->synchronize(stream.view());
    std::uint64_t word = 0;
    rig.driver->read_host(rig.pinned.address(), &word, 8);
    EXPECT_EQ(word, pattern_word(rig.data.key, 0));
}

TEST(Courier, AKernelOfItsDevicePosts) {
    Rig rig;
    (void)rig.courier.channel(rig.to(), 2 * MiB, rig.from(), 2 * MiB);
    Stream stream(*rig.driver, 0);
    Allocation flag(*rig.driver, {gpu(1), 64});
    auto const run = [&](std::uint32_t count, double budget_s) {
        PostArguments const arguments{address_of(rig.courier.device_ring()),
                                      rig.target.address(),
                                      rig.source.address(),
                                      flag.address(),
                                      rig.pinned.address(),
                                      2048,
                                      count,
                                      1,
                                      budget_s};
        rig.driver->launch(stream.view(), post_kernel, &arguments, {1, 1});
        rig.driver->synchronize(stream.view());
        PostOutcome outcome;
        rig.driver->read_host(rig.pinned.address(), &outcome, sizeof outcome);
        return outcome;
    };
    rig.courier.start();
    EXPECT_EQ(run(200, 1e-3), (PostOutcome{200, 200}));
    EXPECT_EQ(rig.look_at(0, 200 * 2048, rig.data), CheckOutcome{});
    EXPECT_EQ(rig.look_at(200 * 2048, 4096, rig.poison), CheckOutcome{});
    rig.driver->synchronize_device(0);
    EXPECT_EQ(run(1, 100e-6), (PostOutcome{1, 0})) << "nobody is there, and the wait is bounded";
    rig.courier.start();
    EXPECT_EQ(run(1, 1e-3), (PostOutcome{1, 1})) << "what waited was carried before";
}

TEST(Courier, ABusyHostHoldsNobodyElse) {
    if (testing_sim::test_progress == SimProgress::host_pauses) {
        GTEST_SKIP() << "a time, and the host pauses";
    }
    Rig rig;
    (void)rig.courier.channel(rig.to(), 2 * MiB, rig.from(), 2 * MiB);
    Stream poster(*rig.driver, 0), stream(*rig.driver, 0);
    std::vector<Message> posted;
    for (std::uint64_t i = 0; i < 100; ++i) {  // 2 us each and more
        posted.push_back(rig.courier.post(rig.to(i * 16384), rig.from(i * 16384), 16384));
    }
    PostArguments const arguments{address_of(rig.courier.device_ring()),
                                  rig.target.address() + 1900 * KiB,
                                  rig.source.address() + 1900 * KiB,
                                  Address::null,
                                  rig.pinned.address(),
                                  64,
                                  3,
                                  1,
                                  60e-6};
    rig.driver->launch(poster.view(), post_kernel, &arguments, {1, 1});
    auto const of_stream = rig.courier.post(stream.view(), rig.to(1800 * KiB), rig.from(1800 * KiB), 64);
    EXPECT_TRUE(of_stream.wait(60e-6));
    rig.driver->synchronize(poster.view());
    EXPECT_FALSE(posted.back().done());
    PostOutcome outcome;
    rig.driver->read_host(rig.pinned.address(), &outcome, sizeof outcome);
    EXPECT_EQ(outcome, (PostOutcome{3, 3}));
    EXPECT_TRUE(posted.back().wait(1));
}

TEST(Courier, RefusesWhatIsWrongBeforeItIsPosted) {
    Rig rig;
    auto const posts = rig.courier.counters().posted;
    int on_stack = 0;
    EXPECT_THROW(rig.courier.post(rig.to(2 * MiB - 8), rig.from(), 16), std::invalid_argument);
    EXPECT_THROW(rig.courier.post(rig.to(), rig.from(2 * MiB - 8), 16), std::invalid_argument);
    EXPECT_THROW(rig.courier.post(&on_stack, rig.from(), 4), std::invalid_argument);
    EXPECT_THROW(rig.courier.post(rig.to(), nullptr, 4), std::invalid_argument);
    EXPECT_THROW(rig.courier.post(rig.from(8), rig.from(), 16), std::invalid_argument);
    EXPECT_THROW(rig.courier.post(rig.to(), rig.from(), 1 * MiB + 1), std::invalid_argument);
    EXPECT_THROW(rig.courier.post(rig.to(), rig.from(), 4, {.then_set = rig.target.location(2)}),
                 std::invalid_argument);
    EXPECT_THROW(rig.courier.post(rig.to(), rig.from(), 4, {.then_set = rig.target.location(2 * MiB)}),
                 std::invalid_argument);
    Stream foreign(*rig.driver, 1);
    EXPECT_THROW(rig.courier.post(foreign.view(), rig.to(), rig.from(), 4), std::invalid_argument);
    auto channel = rig.courier.channel(rig.to(), 4096, rig.from(), 4096);
    EXPECT_THROW(channel.post(4090, 0, 8), std::invalid_argument);
    EXPECT_THROW(channel.post(0, 4097, 0), std::invalid_argument);
    EXPECT_TRUE(channel.post(4088, 8, 8).wait(1));
    EXPECT_EQ(rig.courier.counters().posted, posts + 1);
}

TEST(Courier, RefusesAPairThatIsNotProven) {
    Rig rig({}, {}, false);
    EXPECT_THROW(rig.courier.post(rig.to(), rig.from(), 4), std::invalid_argument);
    EXPECT_TRUE(rig.courier.post(rig.from(), rig.to(), 4).wait(1)) << "loads are proven";
    EXPECT_TRUE(rig.courier.post(pointer_to(rig.pinned.address()), rig.from(), 4).wait(1));
}

TEST(Courier, AnEmptyMessageIsDoneInItsTurn) {
    Rig rig;
    EXPECT_TRUE(rig.courier.post(nullptr, nullptr, 0, {.then_set = rig.pinned.location(), .value = 9}).wait(1));
    EXPECT_EQ(rig.driver->poll(rig.pinned.address()), 9U);
}

TEST(Courier, ADeviceErrorIsThrownAndTheCourierIsDestroyedAllTheSame) {
    Rig rig({"store:0:1=error700"});
    EXPECT_THROW((void)rig.courier.post(rig.to(), rig.from(), 64).wait(1), Error);
    EXPECT_THROW((void)rig.courier.post(rig.to(), rig.from(), 64), Error);
}

TEST(Courier, AWaitThatIsNotMetEndsInTime) {
    if (testing_sim::test_progress == SimProgress::host_pauses) {
        GTEST_SKIP() << "a time, and the host pauses";
    }
    Rig rig({"store:0:1=hang"}, {.give_up_s = 1e-3});
    auto const message = rig.courier.post(rig.to(), rig.from(), 64);
    auto const start = rig.driver->now();
    EXPECT_FALSE(message.wait(200e-6));
    EXPECT_LT(rig.driver->now() - start, 400e-6);
}

TEST(Courier, FourThreadsPost) {
    Rig rig({}, {.slots = 16});
    std::vector<std::thread> threads;
    std::atomic<int> missed{0};
    for (std::uint64_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint64_t i = t; i < 512; i += 4) {
                missed += rig.courier.post(rig.to(i * 4096), rig.from(i * 4096), 4096).wait(1) ? 0 : 1;
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(missed, 0);
    EXPECT_EQ(rig.courier.counters().posted, 512U);
    EXPECT_EQ(look(*rig.driver, rig.target, rig.data, rig.poison), CheckOutcome{});
}

}  // namespace
}  // namespace peerlane
