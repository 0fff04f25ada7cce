#include <exception>

#include "conformance/fixture.hpp"

namespace peerlane::conformance {
namespace {

/// A further context of a device, destroyed at the end; whatever was made in it must be given back before.
class OtherContext {
  public:
    OtherContext(Driver& driver, int device) : driver_(driver), device_(device), id_(driver.create_context(device)) {}
    OtherContext(const OtherContext&) = delete;
    OtherContext& operator=(const OtherContext&) = delete;
    ~OtherContext() {
        try {
            driver_.destroy_context(id_);
        } catch (const std::exception&) {  // after a sticky error there is nothing left to give back
        }
    }
    [[nodiscard]] ContextId id() const { return id_; }
    [[nodiscard]] AllocationRequest request(std::uint64_t bytes) const {
        return {gpu(device_), bytes, MemoryKind::plain, {}, {}, id_};
    }
    [[nodiscard]] Stream stream() const { return Stream(driver_, device_, StreamKind::nonblocking, id_); }

  private:
    Driver& driver_;
    int device_;
    ContextId id_;
};

}  // namespace

TEST_P(Contexts, MemoryOfAnotherContextNamesItsDeviceAndItsContext) {
    OtherContext const other(driver(), 0);
    Buffer const memory(driver(), other.request(64 * KiB)), primary(driver(), gpu(0), MemoryKind::plain, 64 * KiB);
    auto const known = driver().provenance(memory.address() + 5);
    EXPECT_EQ(known.place, gpu(0));
    EXPECT_EQ(known.kind, MemoryKind::plain);
    EXPECT_EQ(known.context, other.id());
    EXPECT_EQ(known.base, memory.address());
    EXPECT_EQ(driver().provenance(primary.address()).context, ContextId{});
}

TEST_P(Contexts, EachIsToldApartFromThePrimaryOneAndFromTheNext) {
    OtherContext const first(driver(), 0), second(driver(), 0);
    EXPECT_NE(first.id(), ContextId{});
    EXPECT_NE(second.id(), ContextId{});
    EXPECT_NE(first.id(), second.id());
}

TEST_P(Contexts, ItsOwnStreamsWorkOnItsOwnMemory) {
    OtherContext const other(driver(), 0);
    Stream const stream = other.stream();
    Buffer const memory(driver(), other.request(1 * MiB + 4));
    Content const content(1);
    witness().fill(memory.at(), memory.bytes(), content.data, stream.view());
    EXPECT_TRUE(witness().holds(memory.at(), memory.bytes(), content.data, content.poison, stream.view()));
}

TEST_P(Contexts, WhatThePrimaryContextHoldsOutlivesAnother) {
    Buffer const memory(driver(), gpu(0), MemoryKind::plain, 1 * MiB);
    Content const content(1);
    witness().fill(memory.at(), memory.bytes(), content.data);
    for (int round = 0; round < 3; ++round) {
        OtherContext const other(driver(), 0);
        Buffer const inside(driver(), other.request(64 * KiB));
    }
    EXPECT_TRUE(witness().holds(memory.at(), memory.bytes(), content.data, content.poison));
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(Contexts, OfADeviceThatIsNotThereAreRefused) {
    EXPECT_TRUE(refuses([&] { (void)driver().create_context(devices()); }));
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(PeerContexts, EnablingThePrimaryContextDoesNotOpenTheMemoryOfAnother) {
    OtherContext const other(driver(), 0);
    Buffer const memory(driver(), other.request(64 * KiB));
    enable(1, 0);
    EXPECT_FALSE(listed(memory.address(), 1));
}

TEST_P(PeerContexts, EnablingThatNamesTheOwnersContextOpensItsMemory) {
    OtherContext const other(driver(), 0);
    Stream const owner_stream = other.stream();
    Buffer const memory(driver(), other.request(64 * KiB));
    AccessEdge const edge{1, 0, {}, other.id()};
    ASSERT_TRUE(driver().enable_access(edge).usable());
    EXPECT_EQ(driver().enable_access(edge).kind, MappingOutcome::Kind::already);
    EXPECT_TRUE(listed(memory.address(), 1));
    EXPECT_TRUE(witness().reached(memory, 1, owner_stream.view()));
    EXPECT_EQ(driver().disable_access(edge).kind, MappingOutcome::Kind::done);
    EXPECT_FALSE(listed(memory.address(), 1));
}

TEST_P(PeerContexts, EnablingAnotherContextSaysNothingOfThePrimaryOne) {
    OtherContext const other(driver(), 0);
    ASSERT_TRUE(driver().enable_access({1, 0, {}, other.id()}).usable());
    EXPECT_EQ(driver().disable_access({1, 0}).code, code::peer_access_not_enabled);
    EXPECT_EQ(driver().enable_access({1, 0}).kind, MappingOutcome::Kind::done);
}

TEST_P(AccessFaults, AKernelThatTouchesMemoryOfAnotherContextFaultsAlthoughTheDeviceIsEnabled) {
    in_child([&] {
        OtherContext const other(driver(), 0);
        Buffer const memory(driver(), other.request(64 * KiB));
        enable(1, 0);
        expect_fault(1, memory.at(), Touch::store);
    });
}

}  // namespace peerlane::conformance
