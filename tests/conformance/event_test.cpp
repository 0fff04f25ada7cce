#include <utility>

#include "conformance/fixture.hpp"

namespace peerlane::conformance {

TEST_P(Events, OneNeverRecordedIsDoneAndHoldsNobodyBack) {
    Event const event(driver(), 0);
    Stream const stream(driver(), 0);
    EXPECT_TRUE(driver().query(event.view()));
    EXPECT_TRUE(driver().wait_for(event.view(), 0));
    driver().synchronize(event.view());
    driver().wait(stream.view(), event.view());
    driver().synchronize(stream.view());
    EXPECT_TRUE(driver().query(stream.view()));
}

TEST_P(Events, OneIsDoneWhenAllBeforeItIsDone) {
    PEERLANE_NEEDS_GATE(0);
    Stream const stream(driver(), 0);
    Event const before(driver(), 0), after(driver(), 0);
    Gate gate(driver(), witness());
    driver().record(before.view(), stream.view());
    gate.hold(stream.view());
    driver().record(after.view(), stream.view());
    EXPECT_TRUE(driver().wait_for(before.view(), patience_s));
    EXPECT_TRUE(driver().query(before.view()));
    EXPECT_FALSE(driver().query(after.view()));
    gate.open();
    driver().synchronize(after.view());
    EXPECT_TRUE(driver().query(after.view()));
}

TEST_P(Events, ABoundedWaitSaysWhetherItWasMet) {
    PEERLANE_NEEDS_GATE(0);
    Stream const stream(driver(), 0);
    Event const event(driver(), 0);
    Gate gate(driver(), witness());
    gate.hold(stream.view());
    driver().record(event.view(), stream.view());
    auto const start = driver().now();
    EXPECT_FALSE(driver().wait_for(event.view(), blink_s));
    EXPECT_GE(driver().now() - start, blink_s * 0.9) << "it gave up before its time";
    EXPECT_FALSE(driver().wait_for(event.view(), 0));
    gate.open();
    EXPECT_TRUE(driver().wait_for(event.view(), patience_s));
    EXPECT_TRUE(driver().wait_for(event.view(), 0));
}

TEST_P(Events, AStreamWaitsForTheRecordItSawAndNotForALaterOne) {
    PEERLANE_NEEDS_GATE(0);
    Stream const recorder(driver(), 0);
    Event const event(driver(), 0), through(driver(), 0);
    Gate gate(driver(), witness());
    auto const& waiter = gate.stream_beside(recorder.view());
    driver().record(event.view(), recorder.view());
    driver().wait(waiter.view(), event.view());
    gate.hold(recorder.view());
    driver().record(event.view(), recorder.view());
    driver().record(through.view(), waiter.view());
    EXPECT_TRUE(driver().wait_for(through.view(), patience_s)) << "the wait was bound to the first record";
    EXPECT_FALSE(driver().query(event.view())) << "the event itself stands for the second";
}

TEST_P(Events, AWaitBeforeTheFirstRecordBindsToNothing) {
    PEERLANE_NEEDS_GATE(0);
    Stream const recorder(driver(), 0);
    Event const event(driver(), 0), through(driver(), 0);
    Gate gate(driver(), witness());
    auto const& waiter = gate.stream_beside(recorder.view());
    driver().wait(waiter.view(), event.view());
    gate.hold(recorder.view());
    driver().record(event.view(), recorder.view());
    driver().record(through.view(), waiter.view());
    EXPECT_TRUE(driver().wait_for(through.view(), patience_s));
}

TEST_P(Events, RecordedAgainOneStandsForTheLatestRecord) {
    PEERLANE_NEEDS_GATE(0);
    Stream const recorder(driver(), 0);
    Event const event(driver(), 0), through(driver(), 0);
    Gate gate(driver(), witness());
    auto const& waiter = gate.stream_beside(recorder.view());
    driver().record(event.view(), recorder.view());
    driver().synchronize(event.view());
    gate.hold(recorder.view());
    driver().record(event.view(), recorder.view());
    driver().wait(waiter.view(), event.view());
    driver().record(through.view(), waiter.view());
    EXPECT_FALSE(driver().wait_for(through.view(), blink_s));
    gate.open();
    EXPECT_TRUE(driver().wait_for(through.view(), patience_s));
}

TEST_P(Events, OrderTwoStreamsOfOneDevice) {
    PEERLANE_NEEDS_GATE(0);
    constexpr std::uint64_t bytes = 1 * MiB;
    Stream const first(driver(), 0), second(driver(), 0);
    Buffer const a(driver(), gpu(0), MemoryKind::plain, bytes), b(driver(), gpu(0), MemoryKind::plain, bytes),
        c(driver(), gpu(0), MemoryKind::plain, bytes);
    Content const content(1);
    witness().fill(a.at(), bytes, content.data);
    witness().fill(b.at(), bytes, content.poison);
    witness().fill(c.at(), bytes, content.poison);
    Event const event(driver(), 0);
    Gate gate(driver(), witness());
    gate.hold(first.view());
    driver().copy(first.view(), {b.at(), a.at(), bytes});
    driver().record(event.view(), first.view());
    driver().wait(second.view(), event.view());
    driver().copy(second.view(), {c.at(), b.at(), bytes});
    EXPECT_FALSE(driver().query(second.view()));
    gate.open();
    driver().synchronize(second.view());
    EXPECT_TRUE(witness().holds(c.at(), bytes, content.data, content.poison));
}

TEST_P(Events, TimeBetweenTwoOfOneDeviceIsThatOfTheWorkBetween) {
    constexpr std::uint64_t bytes = 16 * MiB;
    Buffer const from(driver(), host(), MemoryKind::pinned, bytes), to(driver(), gpu(0), MemoryKind::plain, bytes);
    Event const start(driver(), 0, true), end(driver(), 0, true);
    auto const stream = witness().stream(0);
    auto const before = driver().now();
    driver().record(start.view(), stream);
    driver().copy(stream, {to.at(), from.at(), bytes});
    driver().record(end.view(), stream);
    driver().synchronize(end.view());
    auto const whole = driver().now() - before;
    auto const seconds = driver().elapsed(start.view(), end.view());
    EXPECT_GT(seconds, 0);
    EXPECT_LE(seconds, whole * 1.01 + 1e-6) << "it cannot take longer than the host saw";
    EXPECT_NEAR(driver().elapsed(start.view(), start.view()), 0, 1e-6);
}

TEST_P(Events, TimeToOneNotYetReachedIs600) {
    PEERLANE_NEEDS_GATE(0);
    Stream const stream(driver(), 0);
    Event const start(driver(), 0, true), end(driver(), 0, true);
    Gate gate(driver(), witness());
    driver().record(start.view(), stream.view());
    gate.hold(stream.view());
    driver().record(end.view(), stream.view());
    EXPECT_EQ(code_of([&] { (void)driver().elapsed(start.view(), end.view()); }), code::not_ready);
    EXPECT_EQ(driver().last_error(), 0);
    gate.open();
    driver().synchronize(end.view());
    EXPECT_GE(driver().elapsed(start.view(), end.view()), 0);
}

TEST_P(Events, TimeNeedsTimingEventsThatWereRecorded) {
    auto const stream = witness().stream(0);
    Event const plain(driver(), 0), timing(driver(), 0, true), never(driver(), 0, true);
    driver().record(plain.view(), stream);
    driver().record(timing.view(), stream);
    driver().synchronize(stream);
    EXPECT_EQ(code_of([&] { (void)driver().elapsed(plain.view(), timing.view()); }), code::invalid_handle);
    EXPECT_EQ(code_of([&] { (void)driver().elapsed(timing.view(), never.view()); }), code::invalid_handle);
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(Events, AMovedHandleKeepsItsEvent) {
    Event first(driver(), 0);
    auto const view = first.view();
    Event const second(std::move(first));
    EXPECT_EQ(second.view(), view);
    driver().record(second.view(), witness().stream(0));
    driver().synchronize(second.view());
    EXPECT_TRUE(driver().query(second.view()));
}

TEST_P(CrossDeviceOrder, AnEventOfOneDeviceCannotBeRecordedOnAnother) {
    Event const event(driver(), 0);
    auto const error = error_of([&] { driver().record(event.view(), witness().stream(1)); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, code::invalid_handle);
    EXPECT_FALSE(error->sticky);
    EXPECT_EQ(driver().last_error(), 0);
    driver().record(event.view(), witness().stream(0));
    driver().synchronize(event.view());
}

TEST_P(CrossDeviceOrder, ThereIsNoTimeBetweenEventsOfTwoDevices) {
    Event const of_0(driver(), 0, true), of_1(driver(), 1, true);
    driver().record(of_0.view(), witness().stream(0));
    driver().record(of_1.view(), witness().stream(1));
    driver().synchronize(of_0.view());
    driver().synchronize(of_1.view());
    EXPECT_EQ(code_of([&] { (void)driver().elapsed(of_0.view(), of_1.view()); }), code::invalid_handle);
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(CrossDeviceOrder, AStreamWaitsForAnEventOfAnotherDevice) {
    PEERLANE_NEEDS_GATE(0);
    constexpr std::uint64_t bytes = 1 * MiB + 4;
    Buffer const a(driver(), gpu(0), MemoryKind::plain, bytes), b(driver(), gpu(1), MemoryKind::plain, bytes),
        c(driver(), gpu(1), MemoryKind::plain, bytes);
    Content const content(1);
    witness().fill(a.at(), bytes, content.data);
    witness().fill(b.at(), bytes, content.poison);
    witness().fill(c.at(), bytes, content.poison);
    enable_both();
    Stream const first(driver(), 0), second(driver(), 1);
    Event const event(driver(), 0), through(driver(), 1);
    Gate gate(driver(), witness());
    gate.hold(first.view());
    driver().copy(first.view(), {b.at(), a.at(), bytes, CopyApi::peer});
    driver().record(event.view(), first.view());
    driver().wait(second.view(), event.view());
    driver().copy(second.view(), {c.at(), b.at(), bytes});
    driver().record(through.view(), second.view());
    EXPECT_FALSE(driver().wait_for(through.view(), blink_s));
    gate.open();
    EXPECT_TRUE(driver().wait_for(through.view(), patience_s));
    EXPECT_TRUE(witness().holds(c.at(), bytes, content.data, content.poison));
}

TEST_P(CrossDeviceOrder, APingPongOverEventsCarriesTheBytesAroundManyTimes) {
    enable_both();
    constexpr std::uint64_t bytes = 256 * KiB + 12;
    constexpr int hops = 20;
    Buffer const a(driver(), gpu(0), MemoryKind::plain, bytes), b(driver(), gpu(1), MemoryKind::plain, bytes);
    Stream const streams[] = {Stream(driver(), 0), Stream(driver(), 1)};
    Event const events[] = {Event(driver(), 0), Event(driver(), 1)};
    Content const content(1);
    witness().fill(a.at(), bytes, content.data);
    witness().fill(b.at(), bytes, content.poison);
    for (int hop = 0; hop < hops; ++hop) {
        auto const issuer = static_cast<std::size_t>(hop % 2);
        auto const& from = hop % 2 == 0 ? a : b;
        auto const& to = hop % 2 == 0 ? b : a;
        driver().copy(streams[issuer].view(), {to.at(), from.at(), bytes, CopyApi::peer});
        driver().fill(streams[issuer].view(), from.at(), 0, bytes);  // so that the next hop is the only source
        driver().record(events[issuer].view(), streams[issuer].view());
        driver().wait(streams[1 - issuer].view(), events[issuer].view());
    }
    driver().synchronize(streams[(hops - 1) % 2].view());
    EXPECT_TRUE(witness().holds(a.at(), bytes, content.data, content.poison));
}

TEST_P(CrossDeviceOrder, WorkForSeveralDevicesMayBeSubmittedInAnyTurn) {
    constexpr std::uint64_t bytes = 64 * KiB;
    std::vector<std::unique_ptr<Buffer>> sources, destinations;
    for (int i = 0; i < 8; ++i) {
        sources.push_back(std::make_unique<Buffer>(driver(), gpu(i % 2), MemoryKind::plain, bytes));
        destinations.push_back(std::make_unique<Buffer>(driver(), gpu(i % 2), MemoryKind::plain, bytes));
        witness().fill(sources.back()->at(), bytes, Content(static_cast<std::uint64_t>(i)).data);
        witness().fill(destinations.back()->at(), bytes, Content(static_cast<std::uint64_t>(i)).poison);
    }
    for (int i = 0; i < 8; ++i) {
        auto const n = static_cast<std::size_t>(i);
        driver().copy(witness().stream(i % 2), {destinations[n]->at(), sources[n]->at(), bytes});
    }
    driver().synchronize(witness().stream(1));
    driver().synchronize(witness().stream(0));
    for (int i = 0; i < 8; ++i) {
        Content const content(static_cast<std::uint64_t>(i));
        EXPECT_TRUE(
            witness().holds(destinations[static_cast<std::size_t>(i)]->at(), bytes, content.data, content.poison));
    }
}

TEST_P(CrossDeviceOrder, TheOtherDevicesWorkRunsOnWhileOneIsHeld) {
    PEERLANE_NEEDS_GATE(0);
    Stream const held(driver(), 0), free(driver(), 1);
    Buffer const a(driver(), gpu(1), MemoryKind::plain, 4096), b(driver(), gpu(1), MemoryKind::plain, 4096);
    Event const done(driver(), 1);
    Gate gate(driver(), witness());
    gate.hold(held.view());
    driver().copy(free.view(), {b.at(), a.at(), 4096});
    driver().record(done.view(), free.view());
    EXPECT_TRUE(driver().wait_for(done.view(), patience_s));
    EXPECT_FALSE(driver().query(held.view()));
}

}  // namespace peerlane::conformance
