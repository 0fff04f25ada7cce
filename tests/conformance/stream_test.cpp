#include <utility>

#include "conformance/fixture.hpp"

namespace peerlane::conformance {

TEST_P(StreamOrder, WorkOfOneStreamRunsInTheOrderOfTheCalls) {
    constexpr std::uint64_t bytes = 4 * MiB + 4;
    Buffer const a(driver(), gpu(0), MemoryKind::plain, bytes), b(driver(), gpu(0), MemoryKind::plain, bytes),
        c(driver(), host(), MemoryKind::pinned, bytes);
    Content const first(1);
    auto const stream = witness().stream(0);
    witness().fill(a.at(), bytes, first.data);
    witness().fill(b.at(), bytes, first.poison);
    witness().fill(c.at(), bytes, first.poison);
    driver().copy(stream, {b.at(), a.at(), bytes});
    driver().fill(stream, a.at(), 0, bytes);
    driver().copy(stream, {c.at(), b.at(), bytes});
    driver().copy(stream, {b.at(), a.at(), bytes});
    driver().synchronize(stream);
    EXPECT_TRUE(witness().holds(c.at(), bytes, first.data, first.poison));
    EXPECT_EQ(witness().find(b.at(), bytes, first.data, first.poison).zero,
              witness().find(a.at(), bytes, first.data, first.poison).zero);
    EXPECT_GT(witness().find(b.at(), bytes, first.data, first.poison).zero, bytes / 2);
}

TEST_P(StreamOrder, AnIdleStreamAnswersDone) {
    Stream const stream(driver(), 0);
    EXPECT_TRUE(driver().query(stream.view()));
    driver().synchronize(stream.view());
    driver().synchronize_device(0);
    EXPECT_TRUE(driver().query(stream.view()));
}

TEST_P(StreamOrder, AHeldStreamIsNotDoneUntilItIsLetGo) {
    PEERLANE_NEEDS_GATE(0);
    Stream const held(driver(), 0);
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 64 * KiB), b(driver(), gpu(0), MemoryKind::plain, 64 * KiB);
    Content const content(1);
    witness().fill(a.at(), a.bytes(), content.data);
    witness().fill(b.at(), b.bytes(), content.poison);
    Event const freed(driver(), 0);
    Gate gate(driver(), witness());
    auto const& free = gate.stream_beside(held.view());
    gate.hold(held.view());
    driver().copy(held.view(), {b.at(), a.at(), a.bytes()});
    driver().record(freed.view(), free.view());
    EXPECT_FALSE(driver().query(held.view()));
    EXPECT_TRUE(driver().wait_for(freed.view(), patience_s)) << "nobody else waits for a held stream";
    EXPECT_TRUE(witness().holds(b.at(), b.bytes(), content.poison, content.data, free.view()))
        << "nothing behind the gate has run";
    gate.open();
    driver().synchronize(held.view());
    EXPECT_TRUE(driver().query(held.view()));
    EXPECT_TRUE(witness().holds(b.at(), b.bytes(), content.data, content.poison));
}

TEST_P(StreamOrder, SynchronizingADeviceWaitsForAllItsStreams) {
    constexpr std::uint64_t bytes = 8 * MiB;
    for (int device = 0; device < devices(); ++device) {
        Stream const first(driver(), device), second(driver(), device, StreamKind::blocking);
        Buffer const from(driver(), host(), MemoryKind::pinned, bytes),
            a(driver(), gpu(device), MemoryKind::plain, bytes), b(driver(), gpu(device), MemoryKind::plain, bytes);
        Content const content(static_cast<std::uint64_t>(device));
        witness().fill(from.at(), bytes, content.data);
        witness().fill(a.at(), bytes, content.poison);
        witness().fill(b.at(), bytes, content.poison);
        driver().copy(first.view(), {a.at(), from.at(), bytes});
        driver().copy(second.view(), {b.at(), from.at(), bytes});
        driver().synchronize_device(device);
        EXPECT_TRUE(driver().query(first.view()));
        EXPECT_TRUE(driver().query(second.view()));
        EXPECT_TRUE(witness().holds(a.at(), bytes, content.data, content.poison));
        EXPECT_TRUE(witness().holds(b.at(), bytes, content.data, content.poison));
    }
}

TEST_P(StreamOrder, WorkInADestroyedStreamStillCompletes) {
    constexpr std::uint64_t bytes = 16 * MiB;
    Buffer const from(driver(), host(), MemoryKind::pinned, bytes), to(driver(), gpu(0), MemoryKind::plain, bytes);
    Content const content(1);
    witness().fill(from.at(), bytes, content.data);
    witness().fill(to.at(), bytes, content.poison);
    {
        Stream const stream(driver(), 0);
        driver().copy(stream.view(), {to.at(), from.at(), bytes});
    }
    driver().synchronize_device(0);
    EXPECT_TRUE(witness().holds(to.at(), bytes, content.data, content.poison));
}

TEST_P(StreamOrder, AMovedHandleKeepsItsStream) {
    Stream first(driver(), 0);
    auto const view = first.view();
    Stream second(std::move(first));
    EXPECT_EQ(second.view(), view);
    EXPECT_EQ(second.device(), 0);
    {
        Stream const gone(std::move(second));
        EXPECT_EQ(gone.view(), view);
    }
    Stream const next(driver(), 0);
    EXPECT_TRUE(driver().query(next.view()));
    Stream given(driver(), 0);
    auto const released = given.release();
    EXPECT_TRUE(driver().query(released));
    driver().destroy_stream(released);
}

TEST_P(StreamOrder, MoreWorkThanAQueueHoldsIsTakenInOrder) {
    constexpr int copies = 3000;
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 4096), b(driver(), gpu(0), MemoryKind::plain, 4096);
    Content const content(1);
    auto const stream = witness().stream(0);
    witness().fill(a.at(), 4096, content.data);
    witness().fill(b.at(), 4096, content.poison);
    for (int i = 0; i < copies; ++i) {
        driver().copy(stream, {b.at(), a.at(), 4096});
    }
    driver().synchronize(stream);
    EXPECT_TRUE(witness().holds(b.at(), 4096, content.data, content.poison));
}

TEST_P(StreamOrder, AStreamOfADeviceThatIsNotThereIsRefused) {
    EXPECT_TRUE(refuses([&] { (void)driver().create_stream(devices()); }));
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(DefaultStreams, ABlockingStreamWaitsForTheLegacyStreamAndANonblockingOneDoesNot) {
    PEERLANE_NEEDS_GATE(0);
    StreamView const legacy{0, StreamView::legacy};
    Stream const blocking(driver(), 0, StreamKind::blocking);
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 4096), b(driver(), gpu(0), MemoryKind::plain, 4096),
        c(driver(), gpu(0), MemoryKind::plain, 4096);
    Event const ordered(driver(), 0), unordered(driver(), 0);
    Gate gate(driver(), witness());
    auto const& nonblocking = gate.stream_beside(legacy);
    gate.hold(legacy);
    driver().copy(blocking.view(), {b.at(), a.at(), 4096});
    driver().record(ordered.view(), blocking.view());
    driver().copy(nonblocking.view(), {c.at(), a.at(), 4096});
    driver().record(unordered.view(), nonblocking.view());
    EXPECT_TRUE(driver().wait_for(unordered.view(), patience_s));
    EXPECT_FALSE(driver().wait_for(ordered.view(), blink_s));
    gate.open();
    EXPECT_TRUE(driver().wait_for(ordered.view(), patience_s));
}

TEST_P(DefaultStreams, TheLegacyStreamDoesNotWaitForNonblockingStreams) {
    PEERLANE_NEEDS_GATE(0);
    StreamView const legacy{0, StreamView::legacy};
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 4096), b(driver(), gpu(0), MemoryKind::plain, 4096);
    Event const done(driver(), 0);
    Gate gate(driver(), witness());
    auto const& nonblocking = gate.stream_beside(legacy);
    gate.hold(nonblocking.view());
    driver().copy(legacy, {b.at(), a.at(), 4096});
    driver().record(done.view(), legacy);
    EXPECT_TRUE(driver().wait_for(done.view(), patience_s));
    EXPECT_FALSE(driver().query(nonblocking.view()));
}

TEST_P(DefaultStreams, TheLegacyStreamWaitsForBlockingStreams) {
    PEERLANE_NEEDS_GATE(0);
    StreamView const legacy{0, StreamView::legacy};
    Stream const blocking(driver(), 0, StreamKind::blocking);
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 4096), b(driver(), gpu(0), MemoryKind::plain, 4096);
    Event const behind(driver(), 0);
    Gate gate(driver(), witness());
    gate.hold(blocking.view());
    driver().copy(legacy, {b.at(), a.at(), 4096});
    driver().record(behind.view(), legacy);
    EXPECT_FALSE(driver().wait_for(behind.view(), blink_s));
    gate.open();
    EXPECT_TRUE(driver().wait_for(behind.view(), patience_s));
}

TEST_P(DefaultStreams, EveryDeviceHasItsOwn) {
    if (devices() < 2) {
        GTEST_SKIP() << "needs two devices";
    }
    PEERLANE_NEEDS_GATE(0);
    StreamView const of_0{0, StreamView::legacy}, of_1{1, StreamView::legacy};
    Buffer const a(driver(), gpu(1), MemoryKind::plain, 4096), b(driver(), gpu(1), MemoryKind::plain, 4096);
    Event const done(driver(), 1);
    Gate gate(driver(), witness());
    gate.hold(of_0);
    driver().copy(of_1, {b.at(), a.at(), 4096});
    driver().record(done.view(), of_1);
    EXPECT_TRUE(driver().wait_for(done.view(), patience_s));
    EXPECT_FALSE(driver().query(of_0));
}

TEST_P(DefaultStreams, ThePerThreadStreamKeepsTheOrderOfItsCalls) {
    StreamView const mine{0, StreamView::per_thread};
    constexpr std::uint64_t bytes = 1 * MiB;
    Buffer const a(driver(), gpu(0), MemoryKind::plain, bytes), b(driver(), gpu(0), MemoryKind::plain, bytes),
        c(driver(), gpu(0), MemoryKind::plain, bytes);
    Content const content(1);
    witness().fill(a.at(), bytes, content.data);
    witness().fill(b.at(), bytes, content.poison);
    witness().fill(c.at(), bytes, content.poison);
    driver().copy(mine, {b.at(), a.at(), bytes});
    driver().copy(mine, {c.at(), b.at(), bytes});
    driver().synchronize(mine);
    EXPECT_TRUE(driver().query(mine));
    EXPECT_TRUE(witness().holds(c.at(), bytes, content.data, content.poison));
}

}  // namespace peerlane::conformance
