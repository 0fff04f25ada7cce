#include <algorithm>

#include "conformance/fixture.hpp"

namespace peerlane::conformance {
namespace {

testing::AssertionResult names_device(const std::optional<Error::Info>& error, int device) {
    if (!error) {
        return testing::AssertionFailure() << "no error";
    }
    return error->accessor == device || error->owner == device
               ? testing::AssertionSuccess()
               : testing::AssertionFailure()
                     << error->call << " names accessor " << error->accessor << " and owner " << error->owner;
}

}  // namespace

TEST_P(Allocations, EveryKindOfDeviceMemoryKeepsWhatItsOwnerWrites) {
    std::uint64_t number = 0;
    for (int device = 0; device < devices(); ++device) {
        for (auto const kind : device_kinds(driver(), device)) {
            Buffer const memory(driver(), gpu(device), kind, 64 * KiB + 12);
            Content const content(++number);
            witness().fill(memory.at(), memory.bytes(), content.data);
            EXPECT_TRUE(witness().holds(memory.at(), memory.bytes(), content.data, content.poison)) << memory.text();
        }
    }
}

TEST_P(Allocations, ProvenanceNamesKindOwnerAndPrimaryContext) {
    for (int device = 0; device < devices(); ++device) {
        for (auto const kind : device_kinds(driver(), device)) {
            Buffer const memory(driver(), gpu(device), kind, 1 * MiB);
            auto const known = driver().provenance(memory.address());
            EXPECT_EQ(known.kind, kind) << memory.text();
            EXPECT_EQ(known.place, gpu(device)) << memory.text();
            EXPECT_EQ(known.context, ContextId{}) << memory.text();
            EXPECT_TRUE(listed(memory.address(), device)) << memory.text() << " must be open to its owner";
        }
    }
}

TEST_P(Allocations, WhereaboutsAreTheProvenanceWithoutWhoMayTouchIt) {
    auto const alike = [&](Address at) {
        auto const found = driver().whereabouts(at);
        auto const all = driver().provenance(at);
        EXPECT_EQ(found.bytes, all.bytes);
        EXPECT_EQ(found.kind, all.kind);
        if (all.bytes != 0) {
            EXPECT_EQ(found.place, all.place);
            EXPECT_EQ(found.base, all.base);
            EXPECT_EQ(found.context, all.context);
        }
    };
    for (auto const kind : device_kinds(driver(), 0)) {
        Buffer const memory(driver(), gpu(0), kind, 10000);
        alike(memory.address());
        alike(memory.address() + 9999);
    }
    for (auto const kind : host_kinds) {
        Buffer const memory(driver(), host(), kind, 10000);
        alike(memory.address());
        alike(memory.address() + 9999);
    }
    alike(Address{16});
}

TEST_P(Allocations, InteriorPointersLeadBackToTheBase) {
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (auto const kind : device_kinds(driver(), 0)) {
        buffers.push_back(std::make_unique<Buffer>(driver(), gpu(0), kind, 4 * MiB));
    }
    for (auto const kind : known_host_kinds) {
        buffers.push_back(std::make_unique<Buffer>(driver(), host(), kind, 4 * MiB));
    }
    for (auto const& memory : buffers) {
        for (auto const offset : {std::uint64_t{0}, std::uint64_t{1}, 2 * MiB + 3, 4 * MiB - 1}) {
            auto const known = driver().provenance(memory->address() + offset);
            EXPECT_EQ(known.kind, memory->kind()) << memory->text() << " at " << offset;
            EXPECT_EQ(known.base, memory->address()) << memory->text() << " at " << offset;
            EXPECT_EQ(known.bytes, memory->bytes()) << memory->text() << " at " << offset;
        }
    }
}

TEST_P(Allocations, AnAllocationIsAtLeastAsLargeAsAskedFor) {
    for (auto const kind : device_kinds(driver(), 0)) {
        for (auto const bytes : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{511}, 64 * KiB + 1, 2 * MiB + 36}) {
            Buffer const memory(driver(), gpu(0), kind, bytes);
            EXPECT_GE(driver().provenance(memory.address()).bytes, bytes) << memory.text();
            Content const content(bytes);
            witness().fill(memory.at(), bytes, content.data);
            EXPECT_TRUE(witness().holds(memory.at(), bytes, content.data, content.poison))
                << memory.text() << ", " << bytes;
        }
    }
}

TEST_P(Allocations, TwoAllocationsNeverShareAByte) {
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (int i = 0; i < 8; ++i) {
        for (auto const kind : device_kinds(driver(), 0)) {
            buffers.push_back(std::make_unique<Buffer>(driver(), gpu(0), kind, 1000 + static_cast<std::uint64_t>(i)));
            witness().fill(buffers.back()->at(), buffers.back()->bytes(), Content(buffers.size()).data);
        }
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        Content const content(i + 1);
        EXPECT_TRUE(witness().holds(buffers[i]->at(), buffers[i]->bytes(), content.data, content.poison))
            << buffers[i]->text();
    }
}

TEST_P(Allocations, MemoryOfOneDeviceIsNotTakenForThatOfAnother) {
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (int device = 0; device < devices(); ++device) {
        buffers.push_back(std::make_unique<Buffer>(driver(), gpu(device), MemoryKind::plain, 4096));
    }
    for (int device = 0; device < devices(); ++device) {
        EXPECT_EQ(driver().provenance(buffers[static_cast<std::size_t>(device)]->address()).place, gpu(device));
    }
}

TEST_P(Allocations, AnAddressNobodyKnowsIsPageableAndHasNoSize) {
    int local = 0;
    for (auto const address : {Address::null, address_of(&local), Address{~std::uint64_t{0}}}) {
        auto const known = driver().provenance(address);
        EXPECT_EQ(known.kind, MemoryKind::pageable);
        EXPECT_EQ(known.bytes, 0U);
    }
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(Allocations, FreedMemoryIsNoLongerKnown) {
    auto const device_memory = driver().allocate({gpu(0), 1 * MiB, MemoryKind::plain});
    auto const host_memory = driver().allocate({host(), 1 * MiB, MemoryKind::pinned});
    driver().free(device_memory);
    driver().free(host_memory);
    EXPECT_EQ(driver().provenance(device_memory).bytes, 0U);
    EXPECT_EQ(driver().provenance(host_memory).bytes, 0U);
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(Allocations, MoreThanADeviceHasIsOutOfMemoryAndNamesTheDevice) {
    for (int device = 0; device < devices(); ++device) {
        auto const error = error_of([&] {
            (void)driver().allocate({gpu(device), can(device).memory_bytes + GiB, MemoryKind::plain});
        });
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code, code::out_of_memory);
        EXPECT_FALSE(error->sticky);
        EXPECT_TRUE(names_device(error, device));
        EXPECT_EQ(driver().last_error(), 0);
    }
}

TEST_P(Allocations, PoolsAndVirtualMemoryRunOutTheSameWay) {
    for (auto const kind : device_kinds(driver(), 0)) {
        // Never ask a real device for more managed memory than it has: that can take the machine down with it.
        if (kind == MemoryKind::managed) {
            continue;
        }
        auto const error = error_of([&] { (void)driver().allocate({gpu(0), can(0).memory_bytes + GiB, kind}); });
        ASSERT_TRUE(error) << to_string(kind);
        EXPECT_EQ(error->code, code::out_of_memory) << to_string(kind);
        EXPECT_TRUE(names_device(error, 0)) << to_string(kind);
    }
}

TEST_P(Allocations, EverythingStillWorksAfterRunningOutOfMemory) {
    EXPECT_EQ(code_of([&] {
                  (void)driver().allocate({gpu(0), can(0).memory_bytes + GiB, MemoryKind::plain});
              }),
              code::out_of_memory);
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 1 * MiB), b(driver(), gpu(0), MemoryKind::plain, 1 * MiB);
    EXPECT_TRUE(witness().copies(witness().stream(0), b, a));
}

TEST_P(Allocations, FreeMemoryGoesDownAndComesBack) {
    auto const before = driver().free_bytes(0);
    EXPECT_GT(before, 0U);
    EXPECT_LE(before, can(0).memory_bytes);
    if (!driver().simulated()) {
        GTEST_SKIP() << "others may use a real device at the same time: only the bounds were checked";
    }
    {
        Buffer const memory(driver(), gpu(0), MemoryKind::plain, 64 * MiB);
        EXPECT_LE(driver().free_bytes(0), before - 64 * MiB);
    }
    EXPECT_EQ(driver().free_bytes(0), before);
}

TEST_P(Allocations, NoBytesAtAllAreRefused) {
    EXPECT_THROW((void)driver().allocate({gpu(0), 0, MemoryKind::plain}), std::invalid_argument);
    EXPECT_THROW((void)driver().allocate({host(), 0, MemoryKind::pinned}), std::invalid_argument);
}

TEST_P(Allocations, APlaceThatIsNotThereIsRefused) {
    for (auto const kind : device_kinds(driver(), 0)) {
        EXPECT_TRUE(refuses([&] { (void)driver().allocate({gpu(devices()), 4096, kind}); })) << to_string(kind);
        EXPECT_TRUE(refuses([&] { (void)driver().allocate({gpu(-1), 4096, kind}); })) << to_string(kind);
    }
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(Allocations, AKindThatDoesNotFitItsPlaceIsRefused) {
    EXPECT_TRUE(refuses([&] { (void)driver().allocate({host(), 4096, MemoryKind::plain}); }));
    EXPECT_TRUE(refuses([&] { (void)driver().allocate({host(), 4096, MemoryKind::virtual_memory}); }));
    EXPECT_TRUE(refuses([&] { (void)driver().allocate({gpu(0), 4096, MemoryKind::pinned}); }));
    EXPECT_TRUE(refuses([&] { (void)driver().allocate({gpu(0), 4096, MemoryKind::pageable}); }));
}

TEST_P(Allocations, FreeingAnInteriorPointerIsRefusedAndTheMemoryLivesOn) {
    Buffer const memory(driver(), gpu(0), MemoryKind::plain, 1 * MiB);
    Content const content(1);
    witness().fill(memory.at(), memory.bytes(), content.data);
    EXPECT_TRUE(refuses([&] { driver().free(memory.address() + 4096); }));
    EXPECT_EQ(driver().last_error(), 0);
    EXPECT_TRUE(witness().holds(memory.at(), memory.bytes(), content.data, content.poison));
}

TEST_P(Allocations, FreeingTwiceIsRefused) {
    auto const memory = driver().allocate({gpu(0), 1 * MiB, MemoryKind::plain});
    driver().free(memory);
    EXPECT_TRUE(refuses([&] { driver().free(memory); }));
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(Allocations, FreeingWaitsForWorkThatUsesTheMemory) {
    constexpr std::uint64_t bytes = 16 * MiB;
    Buffer const out(driver(), host(), MemoryKind::pinned, bytes);
    Content const content(1);
    auto const stream = witness().stream(0);
    auto const memory = driver().allocate({gpu(0), bytes, MemoryKind::plain});
    witness().fill({gpu(0), memory}, bytes, content.data);
    witness().fill(out.at(), bytes, content.poison);
    driver().copy(stream, {out.at(), {gpu(0), memory}, bytes});
    driver().free(memory);
    driver().synchronize(stream);
    EXPECT_TRUE(witness().holds(out.at(), bytes, content.data, content.poison));
}

TEST_P(Allocations, AnOwningHandleGivesBackOnceAndReleaseGivesItAway) {
    Allocation first(driver(), {gpu(0), 4096, MemoryKind::plain});
    auto const address = first.address();
    Allocation second(std::move(first));
    EXPECT_EQ(driver().provenance(address).base, address);
    Address released{};
    {
        Allocation const third(driver(), {gpu(0), 4096, MemoryKind::plain});
        EXPECT_NE(third.address(), address);
        Allocation fourth(driver(), {gpu(0), 4096, MemoryKind::plain});
        released = fourth.release();
    }
    EXPECT_EQ(driver().provenance(released).base, released) << "released memory outlives its handle";
    driver().free(released);
    second = Allocation();
    EXPECT_EQ(driver().provenance(address).bytes, 0U) << "assignment gives back what the handle held";
}

}  // namespace peerlane::conformance
