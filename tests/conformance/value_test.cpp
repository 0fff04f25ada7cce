#include <chrono>
#include <cstring>

#include "conformance/fixture.hpp"

namespace peerlane::conformance {
namespace {

/// A 32-bit flag in pinned memory, 0 at first.
class Flag {
  public:
    explicit Flag(Driver& driver) : driver_(driver), memory_(driver, {host(), 4, MemoryKind::pinned}) { set(0); }
    void set(std::uint32_t value) { driver_.write_host(memory_.address(), &value, sizeof value); }
    [[nodiscard]] Address address() const { return memory_.address(); }
    [[nodiscard]] Location at() const { return memory_.location(); }
    [[nodiscard]] std::uint32_t value() { return driver_.poll(memory_.address()); }
    /// Polls until the value is there. Bounded by the clock on the wall, which the driver has no part in.
    [[nodiscard]] bool becomes(std::uint32_t wanted) {
        auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
        while (value() != wanted) {
            if (std::chrono::steady_clock::now() > end) {
                return false;
            }
        }
        return true;
    }

  private:
    Driver& driver_;
    Allocation memory_;
};

}  // namespace

TEST_P(StreamValues, PollSeesWhatTheHostWrote) {
    Flag flag(driver());
    EXPECT_EQ(flag.value(), 0U);
    for (auto const value : {1U, 77U, 0xffffffffU, 0U}) {
        flag.set(value);
        EXPECT_EQ(flag.value(), value);
    }
}

TEST_P(StreamValues, PollSeesWhatAStreamWroteWithoutAnybodyWaiting) {
    PEERLANE_NEEDS(stream_memory_operations, 0);
    Flag flag(driver());
    driver().write_value(witness().stream(0), flag.address(), 41);
    EXPECT_TRUE(flag.becomes(41));
    driver().synchronize(witness().stream(0));
}

TEST_P(StreamValues, AValueIsWrittenAfterWhatCameBeforeIt) {
    PEERLANE_NEEDS(stream_memory_operations, 0);
    constexpr std::uint64_t bytes = 16 * MiB;
    Flag flag(driver());
    Buffer const from(driver(), gpu(0), MemoryKind::plain, bytes), to(driver(), host(), MemoryKind::pinned, bytes);
    Content const content(1);
    witness().fill(from.at(), bytes, content.data);
    witness().fill(to.at(), bytes, content.poison);
    driver().copy(witness().stream(0), {to.at(), from.at(), bytes});
    driver().write_value(witness().stream(0), flag.address(), 1);
    EXPECT_TRUE(flag.becomes(1));
    EXPECT_TRUE(witness().holds(to.at(), bytes, content.data, content.poison)) << "the flag came before the bytes";
    driver().synchronize(witness().stream(0));
}

TEST_P(StreamValues, AValueWrittenToTheDevicesOwnMemoryIsFoundThere) {
    PEERLANE_NEEDS(stream_memory_operations, 0);
    Buffer const memory(driver(), gpu(0), MemoryKind::plain, 4096);
    Flag out(driver());
    auto const stream = witness().stream(0);
    driver().fill(stream, memory.at(), 0, 4096);
    driver().write_value(stream, memory.address() + 128, 0x12345678);
    driver().copy(stream, {out.at(), memory.at(128), 4});
    driver().synchronize(stream);
    EXPECT_EQ(out.value(), 0x12345678U);
    driver().copy(stream, {out.at(), memory.at(132), 4});
    driver().synchronize(stream);
    EXPECT_EQ(out.value(), 0U) << "only four bytes were written";
}

TEST_P(StreamValues, AWaitIsMetByAnyValueAtLeastAsLarge) {
    PEERLANE_NEEDS_GATE(0);
    Stream const stream(driver(), 0);
    Event const reached(driver(), 0);
    Gate gate(driver(), witness());
    for (auto const value : {5U, 9U}) {
        gate.open(0);
        gate.hold(stream.view(), 5);
        driver().record(reached.view(), stream.view());
        gate.open(4);
        EXPECT_FALSE(driver().wait_for(reached.view(), blink_s));
        gate.open(value);
        EXPECT_TRUE(driver().wait_for(reached.view(), patience_s)) << "value " << value;
    }
}

/// As devices compare: what is at most 2^31 - 1 ahead has reached it, so that counters may wrap.
TEST_P(StreamValues, AWaitComparesAsClocksDo) {
    PEERLANE_NEEDS_GATE(0);
    Stream const stream(driver(), 0);
    Event const reached(driver(), 0);
    Gate gate(driver(), witness());
    struct Case {
        std::uint32_t value, at_least;
        bool met;
    };
    for (auto const& one : {Case{3, 0xfffffff0U, true}, Case{0xfffffff0U, 3, false}, Case{0x80000004U, 5, true},
                            Case{0x80000005U, 5, false}, Case{0xffffffffU, 0x80000001U, true}}) {
        gate.open(one.value);
        gate.hold(stream.view(), one.at_least);
        driver().record(reached.view(), stream.view());
        EXPECT_EQ(driver().wait_for(reached.view(), one.met ? patience_s : blink_s), one.met)
            << one.value << " for " << one.at_least;
        gate.open(one.at_least);
        EXPECT_TRUE(driver().wait_for(reached.view(), patience_s));
    }
}

TEST_P(StreamValues, AnUrgentStreamIsAStream) {
    PEERLANE_NEEDS(stream_memory_operations, 0);
    Stream const stream(driver(), 0, StreamKind::urgent);
    Flag flag(driver());
    driver().write_value(stream.view(), flag.address(), 3);
    driver().synchronize(stream.view());
    EXPECT_EQ(flag.value(), 3U);
}

TEST_P(StreamValues, AWaitThatIsMetAlreadyDoesNotWait) {
    PEERLANE_NEEDS_GATE(0);
    Stream const stream(driver(), 0);
    Event const reached(driver(), 0);
    Gate gate(driver(), witness());
    gate.open(3);
    gate.hold(stream.view(), 2);
    driver().record(reached.view(), stream.view());
    EXPECT_TRUE(driver().wait_for(reached.view(), patience_s));
}

TEST_P(StreamValues, OneStreamLetsAnotherGo) {
    PEERLANE_NEEDS_GATE(0);
    Stream const waiter(driver(), 0);
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 1 * MiB), b(driver(), gpu(0), MemoryKind::plain, 1 * MiB);
    Content const content(1);
    witness().fill(a.at(), a.bytes(), content.poison);
    witness().fill(b.at(), b.bytes(), content.poison);
    Buffer const source(driver(), host(), MemoryKind::pinned, 1 * MiB);
    witness().fill(source.at(), source.bytes(), content.data);
    Gate gate(driver(), witness());
    auto const& signaller = gate.stream_beside(waiter.view());
    gate.hold(waiter.view());
    driver().copy(waiter.view(), {b.at(), a.at(), a.bytes()});
    driver().copy(signaller.view(), {a.at(), source.at(), a.bytes()});
    driver().write_value(signaller.view(), gate.flag(), 1);
    driver().synchronize(waiter.view());
    EXPECT_TRUE(witness().holds(b.at(), b.bytes(), content.data, content.poison));
}

TEST_P(CrossDeviceOrder, AValueWrittenByOneDevicesStreamLetsTheOtherDevicesStreamGo) {
    PEERLANE_NEEDS_GATE(0);
    PEERLANE_NEEDS_GATE(1);
    enable_both();
    constexpr std::uint64_t bytes = 1 * MiB;
    Stream const waiter(driver(), 1), signaller(driver(), 0);
    Buffer const a(driver(), gpu(0), MemoryKind::plain, bytes), b(driver(), gpu(1), MemoryKind::plain, bytes),
        c(driver(), gpu(1), MemoryKind::plain, bytes);
    Content const content(1);
    witness().fill(a.at(), bytes, content.data);
    witness().fill(b.at(), bytes, content.poison);
    witness().fill(c.at(), bytes, content.poison);
    Gate gate(driver(), witness());
    gate.hold(waiter.view());
    driver().copy(waiter.view(), {c.at(), b.at(), bytes});
    driver().copy(signaller.view(), {b.at(), a.at(), bytes, CopyApi::peer});
    driver().write_value(signaller.view(), gate.flag(), 1);
    driver().synchronize(waiter.view());
    EXPECT_TRUE(witness().holds(c.at(), bytes, content.data, content.poison));
}

}  // namespace peerlane::conformance
