#include <atomic>
#include <chrono>
#include <thread>

#include "conformance/fixture.hpp"

namespace peerlane::conformance {
namespace {

/// Runs `work(thread)` in several threads at once and reports what they threw as text.
template <class Work>
std::vector<std::string> in_threads(int count, Work work) {
    std::vector<std::string> thrown(static_cast<std::size_t>(count));
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            try {
                work(i);
            } catch (const std::exception& e) {
                thrown[static_cast<std::size_t>(i)] = e.what();
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    return thrown;
}

}  // namespace

TEST_P(Threads, SeveralAllocateCopyAndCheckAtOnce) {
    constexpr int threads = 4, rounds = 20;
    auto const thrown = in_threads(threads, [&](int me) {
        Witness mine(driver());
        auto const device = me % devices();
        for (int round = 0; round < rounds; ++round) {
            Buffer const from(driver(), host(), MemoryKind::pinned, 64 * KiB + 4),
                to(driver(), gpu(device), MemoryKind::plain, 64 * KiB + 4);
            EXPECT_TRUE(mine.copies(mine.stream(device), to, from)) << "thread " << me << ", round " << round;
        }
    });
    EXPECT_EQ(thrown, std::vector<std::string>(threads));
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(Threads, SeveralFeedOneStream) {
    constexpr int threads = 4;
    constexpr std::uint64_t part = 256 * KiB;
    Buffer const from(driver(), host(), MemoryKind::pinned, threads * part),
        to(driver(), gpu(0), MemoryKind::plain, threads * part);
    Content const content(1);
    auto const stream = witness().stream(0);
    witness().fill(from.at(), from.bytes(), content.data);
    witness().fill(to.at(), to.bytes(), content.poison);
    auto const thrown = in_threads(threads, [&](int me) {
        for (std::uint64_t i = 0; i < 16; ++i) {
            auto const at = static_cast<std::uint64_t>(me) * part + i * (part / 16);
            driver().copy(stream, {to.at(at), from.at(at), part / 16});
        }
    });
    EXPECT_EQ(thrown, std::vector<std::string>(threads));
    driver().synchronize(stream);
    EXPECT_TRUE(witness().holds(to.at(), to.bytes(), content.data, content.poison));
}

TEST_P(Threads, EveryThreadHasAPerThreadStreamOfItsOwn) {
    PEERLANE_NEEDS_GATE(0);
    // Several, for some may share a hardware queue with the one that is held: one that runs shows that they are not one
    // stream.
    constexpr int threads = 12;
    StreamView const mine{0, StreamView::per_thread};
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 4096), b(driver(), gpu(0), MemoryKind::plain, 4096);
    std::vector<Event> events;
    for (int i = 0; i < threads; ++i) {
        events.emplace_back(driver(), 0);
    }
    std::atomic<int> ran = 0;
    Gate gate(driver(), witness());
    gate.hold(mine);
    auto const thrown = in_threads(threads, [&](int me) {
        auto const done = events[static_cast<std::size_t>(me)].view();
        driver().copy(mine, {b.at(), a.at(), 4096});
        driver().record(done, mine);
        ran += driver().wait_for(done, 2);
    });
    EXPECT_EQ(thrown, std::vector<std::string>(threads));
    EXPECT_GT(ran, 0) << "all were taken for the stream of the thread that is held";
    EXPECT_FALSE(driver().query(mine));
}

TEST_P(Threads, OneOpensTheGateThatAnotherWaitsFor) {
    PEERLANE_NEEDS_GATE(0);
    Stream const stream(driver(), 0);
    Event const event(driver(), 0);
    Gate gate(driver(), witness());
    gate.hold(stream.view());
    driver().record(event.view(), stream.view());
    std::atomic<bool> met = false;
    std::thread waiter([&] {
        try {
            // Any number of bounded waits: under simulation one may pass in no real time at all.
            auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
            while (!met && std::chrono::steady_clock::now() < end) {
                met = driver().wait_for(event.view(), blink_s);
            }
        } catch (...) {
        }
    });
    gate.open();
    waiter.join();
    EXPECT_TRUE(met);
}

TEST_P(PeerThreads, SeveralCopyBetweenDevicesAtOnce) {
    constexpr int threads = 4, rounds = 10;
    enable_both();
    auto const thrown = in_threads(threads, [&](int me) {
        Witness mine(driver());
        auto const issuer = me % 2;
        for (int round = 0; round < rounds; ++round) {
            Buffer const a(driver(), gpu(0), MemoryKind::plain, 256 * KiB + 4),
                b(driver(), gpu(1), MemoryKind::plain, 256 * KiB + 4);
            auto const& from = me / 2 == 0 ? a : b;
            auto const& to = me / 2 == 0 ? b : a;
            EXPECT_TRUE(mine.copies(mine.stream(issuer), to, from, round % 2 == 0 ? CopyApi::peer : CopyApi::automatic))
                << "thread " << me << ", round " << round;
        }
    });
    EXPECT_EQ(thrown, std::vector<std::string>(threads));
    EXPECT_EQ(driver().last_error(), 0);
}

}  // namespace peerlane::conformance
