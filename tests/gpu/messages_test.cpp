/// Couriers and flags on devices.

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <peerlane/courier.hpp>
#include <peerlane/error.hpp>
#include <peerlane/flag.hpp>
#include <peerlane/open.hpp>
#include <peerlane/units.hpp>

#include "kernels/kernel.hpp"
#include "kernels/post.hpp"

namespace peerlane {
namespace {

class MessagesOnDevices : public testing::Test {
  protected:
    void SetUp() override {
        if (cuda_availability().devices < 2) {
            GTEST_SKIP() << "needs two CUDA devices";
        }
        driver = open_cuda();
        ready = {driver->machine(), {}, true};
    }
    std::unique_ptr<Driver> driver;
    Ready ready;
};

/// Source and destination of messages, with what a host loop would have there.
class Ends {
  public:
    static constexpr std::uint64_t room = 1 * MiB;
    Ends(Driver& driver, Place from, Place to)
        : driver_(driver),
          from_(driver, {from, room, from.is_host() ? MemoryKind::pinned : MemoryKind::plain}),
          to_(driver, {to, room, to.is_host() ? MemoryKind::pinned : MemoryKind::plain}),
          pinned_(driver, {host(), room, MemoryKind::pinned}),
          stream_(driver, from.is_device() ? from.index : 0),
          source_(room),
          expected_(room) {
        std::mt19937 random(11);
        for (auto& byte : source_) {
            byte = static_cast<unsigned char>(random());
        }
        write(from_, source_);
        write(to_, expected_);
    }
    [[nodiscard]] void* to(std::uint64_t at) const { return pointer_to(to_.address() + at); }
    [[nodiscard]] const void* from(std::uint64_t at) const { return pointer_to(from_.address() + at); }
    [[nodiscard]] const Allocation& target() const { return to_; }
    [[nodiscard]] const Allocation& source() const { return from_; }
    void expect(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
        std::memcpy(expected_.data() + to, source_.data() + from, bytes);
    }
    /// Other contents for the next messages: a resident kernel must not see old ones.
    void renew(std::uint32_t seed) {
        std::mt19937 random(seed);
        for (auto& byte : source_) {
            byte = static_cast<unsigned char>(random());
        }
        write(from_, source_);
    }
    [[nodiscard]] std::size_t wrong() {
        driver_.copy(stream_.view(), {pinned_.location(), to_.location(), room, CopyApi::automatic});
        driver_.synchronize(stream_.view());
        std::vector<unsigned char> got(room);
        driver_.read_host(pinned_.address(), got.data(), room);
        std::size_t count = 0;
        for (std::size_t i = 0; i < room; ++i) {
            count += got[i] != expected_[i] ? 1 : 0;
        }
        return count;
    }

  private:
    void write(const Allocation& memory, const std::vector<unsigned char>& bytes) {
        driver_.write_host(pinned_.address(), bytes.data(), room);
        driver_.copy(stream_.view(), {memory.location(), pinned_.location(), room, CopyApi::automatic});
        driver_.synchronize(stream_.view());
    }
    Driver& driver_;
    Allocation from_, to_, pinned_;
    Stream stream_;
    std::vector<unsigned char> source_, expected_;
};

TEST_F(MessagesOnDevices, EveryAlignmentAndSizeBetweenEveryTwoPlaces) {
    for (auto const strict : {true, false}) {
        Courier courier(*driver, ready, 0, {.strict = strict});
        for (auto const& [from, to] : std::vector<std::pair<Place, Place>>{{gpu(0), gpu(1)},
                                                                           {gpu(1), gpu(0)},
                                                                           {gpu(0), host()},
                                                                           {host(), gpu(0)},
                                                                           {host(), gpu(1)},
                                                                           {gpu(0), gpu(0)}}) {
            SCOPED_TRACE(to_string(from) + " to " + to_string(to));
            Ends ends(*driver, from, to);
            std::mt19937 random(3);
            for (std::uint32_t round = 0; round < 20; ++round) {
                ends.renew(round);
                Message last;
                for (int i = 0; i < 50; ++i) {
                    auto const bytes = random() % (i % 5 == 0 ? 65537 : 300);
                    auto const at = random() % (Ends::room - bytes), source = random() % (Ends::room - bytes);
                    last = courier.post(ends.to(at), ends.from(source), bytes);
                    ends.expect(at, source, bytes);
                }
                ASSERT_TRUE(last.wait(2)) << "round " << round;
                ASSERT_EQ(ends.wrong(), 0U) << "round " << round;
            }
        }
    }
}

TEST_F(MessagesOnDevices, PostsAtAnyMomentOfAResidenceAreCarried) {
    Courier courier(*driver, ready, 0, {.idle_s = 50e-6, .stay_s = 500e-6});
    Ends ends(*driver, gpu(0), gpu(1));
    Flag flag(*driver, host());
    std::mt19937 random(5);
    for (std::uint32_t i = 1; i <= 20000; ++i) {
        (void)courier.post(ends.to(0), ends.from(0), 64, {.then_set = flag, .value = i});
        ASSERT_TRUE(flag.wait(i, 2)) << i;  // polls the flag alone: nobody looks after the courier
        auto const until = driver->now() + 1e-6 * static_cast<double>(random() % 120);
        while (driver->now() < until) {
        }
    }
    std::printf("[          ] %llu residences for 20000 messages\n",
                static_cast<unsigned long long>(courier.counters().residences));
    EXPECT_GT(courier.counters().residences, 100U);
}

TEST_F(MessagesOnDevices, AStreamsMessagesWithAndWithoutACourierThere) {
    Courier courier(*driver, ready, 0, {.idle_s = 100e-6});
    Ends ends(*driver, gpu(0), gpu(1));
    Stream stream(*driver, 0);
    for (std::uint64_t i = 0; i < 2000; ++i) {
        if (i % 3 == 0) {
            courier.start();
        }
        auto const at = i * 64 % (Ends::room - 64);
        auto const message = courier.post(stream.view(), ends.to(at), ends.from(at), 64);
        ends.expect(at, at, 64);
        if (i % 7 == 0) {
            ASSERT_TRUE(message.wait(2)) << i;
        }
    }
    driver->synchronize(stream.view());
    driver->synchronize_device(0);
    EXPECT_EQ(ends.wrong(), 0U);
}

TEST_F(MessagesOnDevices, KernelsPost) {
    Courier courier(*driver, ready, 0);
    Ends ends(*driver, gpu(0), gpu(1));
    (void)courier.channel(ends.to(0), Ends::room, ends.from(0), Ends::room);
    Flag flag(*driver, gpu(1));
    Allocation result(*driver, {host(), 64, MemoryKind::pinned});
    Stream stream(*driver, 0), waiter(*driver, 1);
    courier.start();
    PostArguments const arguments{address_of(courier.device_ring()),
                                  ends.target().address(),
                                  ends.source().address(),
                                  flag.location().address,
                                  result.address(),
                                  4096,
                                  200,
                                  1,
                                  0.5};
    flag.wait(waiter.view(), 200);
    driver->launch(stream.view(), post_kernel, &arguments, {1, 1});
    driver->synchronize(stream.view());
    driver->synchronize(waiter.view());
    PostOutcome outcome;
    driver->read_host(result.address(), &outcome, sizeof outcome);
    EXPECT_EQ(outcome, (PostOutcome{200, 200}));
    ends.expect(0, 0, 200 * 4096);
    EXPECT_EQ(ends.wrong(), 0U);
}

TEST_F(MessagesOnDevices, WaitsEndInTheirBudget) {
    Flag flag(*driver, gpu(1)), pinned(*driver, host());
    Stream stream(*driver, 1);
    auto const start = driver->now();
    auto const missed = flag.wait(stream.view(), 1, 2e-3);
    driver->synchronize(stream.view());
    auto const waited = driver->now() - start;
    EXPECT_EQ(missed.met(), false);
    EXPECT_GT(waited, 1.9e-3);
    EXPECT_FALSE(pinned.wait(1, 1e-3));
    Stream other(*driver, 0);
    auto const met = flag.wait(stream.view(), 1, 2.0);
    flag.set(other.view(), 1);
    driver->synchronize(stream.view());
    EXPECT_EQ(met.met(), true);
}

TEST_F(MessagesOnDevices, ASynchronisingHostWaitsForABoundedTime) {
    CourierOptions const options;
    Courier courier(*driver, ready, 0, options);
    Ends ends(*driver, gpu(0), gpu(1));
    std::atomic<bool> over{false};
    std::thread poster([&] {
        while (!over) {
            (void)courier.post(ends.to(0), ends.from(0), 4096).wait(2);
        }
    });
    double longest = 0;
    for (int i = 0; i < 100; ++i) {
        auto const start = driver->now();
        driver->synchronize_device(0);
        longest = std::max(longest, driver->now() - start);
    }
    over = true;
    poster.join();
    std::printf("[          ] longest of 100: %.2f ms\n", longest * 1e3);
    EXPECT_LT(longest, 3 * options.stay_s);
}

/// A child that ends with messages under way, in every ugly manner; the device must serve this process afterwards.
TEST_F(MessagesOnDevices, AProcessThatEndsTakesItsCourierAlong) {
    auto const end_in = [](auto&& ugly) {
        auto const child = ::fork();
        if (child == 0) {
            ugly();
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return status;
    };
    // CUDA does not survive a fork: the child starts this program anew.
    for (auto const* how : {"exit", "abort"}) {
        auto const status = end_in([&] {
            ::setenv("PEERLANE_TEST_MESSAGES_END", how, 1);
            ::execl("/proc/self/exe", "test_gpu", "--gtest_filter=MessagesChild.*", "--gtest_brief=1", nullptr);
        });
        EXPECT_EQ(std::strcmp(how, "exit") == 0 ? WIFEXITED(status) : WIFSIGNALED(status), true) << how;
        Courier courier(*driver, ready, 0);
        Ends ends(*driver, gpu(0), gpu(1));
        EXPECT_TRUE(courier.post(ends.to(0), ends.from(0), 4096).wait(2));
    }
}

TEST(MessagesChild, Ends) {
    auto const* const how = std::getenv("PEERLANE_TEST_MESSAGES_END");
    if (how == nullptr) {
        GTEST_SKIP() << "is started by another test";
    }
    auto const driver = open_cuda();
    auto* const courier = new Courier(*driver, {driver->machine(), {}, true}, 0);
    auto* const ends = new Ends(*driver, gpu(0), gpu(1));
    for (int i = 0; i < 100; ++i) {
        (void)courier->post(ends->to(0), ends->from(0), 65536);
    }
    if (std::strcmp(how, "abort") == 0) {
        std::abort();
    }
    std::exit(0);
}

}  // namespace
}  // namespace peerlane
