#include "messages_load.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <peerlane/driver/owned.hpp>

namespace peerlane::bench {
namespace {

constexpr std::uint64_t batch = 256;  ///< messages to slots of their own before the destination is compared
constexpr double stall_s = 2;

/// One posting thread: its part of both devices and of the host.
class Poster {
  public:
    Poster(Driver& driver, Courier& courier, unsigned seed, std::uint64_t most_bytes)
        : driver_(driver),
          random_(seed),
          most_(most_bytes),
          from_(driver, {gpu(0), batch * most_bytes}),
          to_(driver, {gpu(1), batch * most_bytes}),
          pinned_(driver, {host(), batch * most_bytes, MemoryKind::pinned}),
          there_(driver, 1),
          source_(batch * most_bytes),
          expected_(batch * most_bytes),
          channel_(
              courier.channel(pointer_to(to_.address()), to_.bytes(), pointer_to(from_.address()), from_.bytes())) {
        for (std::size_t i = 0; i + 8 <= source_.size(); i += 8) {
            auto const word = random_();
            std::memcpy(source_.data() + i, &word, 8);
        }
        driver.write_host(pinned_.address(), source_.data(), source_.size());
        Stream const here(driver, 0);
        driver.copy(here.view(), {from_.location(), pinned_.location(), from_.bytes(), CopyApi::automatic});
        driver.fill(there_.view(), to_.location(), 0, to_.bytes());
        driver.synchronize(here.view());
        driver.synchronize(there_.view());
    }

    void carry(std::uint64_t messages) {
        for (std::uint64_t sent = 0; sent < messages; sent += batch) {
            carry_batch(std::min(batch, messages - sent));
        }
    }

    std::uint64_t wrong = 0, stalled = 0;
    double slowest_s = 0;

  private:
    void carry_batch(std::uint64_t count) {
        std::vector<std::pair<Message, double>> posted;
        posted.reserve(count);
        auto const together = 1 + random_() % 32;
        for (std::uint64_t i = 0; i < count; ++i) {
            auto const bytes = 1 + random_() % most_;
            auto const in_slot = random_() % (most_ - bytes + 1);
            auto const from = random_() % (from_.bytes() - bytes + 1);
            auto const to = i * most_ + in_slot;
            posted.emplace_back(channel_.post(to, from, bytes), driver_.now());
            std::memcpy(expected_.data() + to, source_.data() + from, bytes);
            if (posted.size() >= together) {
                settle(posted);
            }
        }
        settle(posted);
        driver_.copy(there_.view(), {pinned_.location(), to_.location(), to_.bytes(), CopyApi::automatic});
        driver_.synchronize(there_.view());
        std::vector<unsigned char> got(to_.bytes());
        driver_.read_host(pinned_.address(), got.data(), got.size());
        if (std::memcmp(got.data(), expected_.data(), got.size()) != 0) {
            for (std::size_t i = 0; i < got.size(); ++i) {
                wrong += got[i] != expected_[i] ? 1 : 0;
            }
            expected_ = got;  // counted once
        }
    }
    void settle(std::vector<std::pair<Message, double>>& posted) {
        for (auto const& [message, at] : posted) {
            stalled += message.wait(stall_s) ? 0 : 1;
            slowest_s = std::max(slowest_s, driver_.now() - at);
        }
        posted.clear();
    }

    Driver& driver_;
    std::mt19937_64 random_;
    std::uint64_t most_;
    Allocation from_, to_, pinned_;
    Stream there_;
    std::vector<unsigned char> source_, expected_;
    Channel channel_;
};

}  // namespace

Load carry_random(Driver& driver, Courier& courier, std::uint64_t messages, int threads, std::uint64_t most_bytes) {
    Load load;
    std::mutex mutex;
    std::atomic<bool> over{false};
    std::vector<std::unique_ptr<Poster>> posters;
    for (int i = 0; i < threads; ++i) {
        posters.push_back(std::make_unique<Poster>(driver, courier, 1000U + static_cast<unsigned>(i), most_bytes));
    }
    auto const residences = courier.counters().residences;
    auto const guarded = [&](auto&& work) {
        try {
            work();
        } catch (const std::exception& error) {
            std::lock_guard const lock(mutex);
            load.failed = error.what();
        }
    };
    auto const start = driver.now();
    std::vector<std::thread> running;
    for (auto const& poster : posters) {
        running.emplace_back([&] { guarded([&] { poster->carry(messages / static_cast<std::uint64_t>(threads)); }); });
    }
    std::vector<double> syncs;
    std::thread synchroniser([&] {
        guarded([&] {
            while (!over && !driver.simulated()) {  // virtual clocks of threads have nothing to say here
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
                auto const before = driver.now();
                driver.synchronize_device(0);
                syncs.push_back(driver.now() - before);
            }
        });
    });
    for (auto& thread : running) {
        thread.join();
    }
    load.seconds = driver.now() - start;
    over = true;
    synchroniser.join();
    load.messages = messages / static_cast<std::uint64_t>(threads) * static_cast<std::uint64_t>(threads);
    load.residences = courier.counters().residences - residences;
    for (auto const& poster : posters) {
        load.wrong_bytes += poster->wrong;
        load.stalled += poster->stalled;
        load.slowest_s = std::max(load.slowest_s, poster->slowest_s);
    }
    std::sort(syncs.begin(), syncs.end());
    load.synchronised = syncs.size();
    load.longest_sync_s = syncs.empty() ? 0 : syncs.back();
    load.middle_sync_s = syncs.empty() ? 0 : syncs[syncs.size() / 2];
    return load;
}

}  // namespace peerlane::bench
