#include <cstring>
#include <numeric>

#include "conformance/fixture.hpp"

namespace peerlane::conformance {

TEST_P(HostMemory, EveryKindKeepsWhatTheHostWrites) {
    for (auto const kind : host_kinds) {
        Buffer const memory(driver(), host(), kind, 64 * KiB);
        std::vector<unsigned char> sent(10001), got(sent.size());
        std::iota(sent.begin(), sent.end(), static_cast<unsigned char>(3));
        driver().write_host(memory.address() + 77, sent.data(), sent.size());
        driver().read_host(memory.address() + 77, got.data(), got.size());
        EXPECT_EQ(got, sent) << memory.text();
        driver().read_host(memory.address() + 77 + 5000, got.data(), 5001);
        EXPECT_EQ(std::memcmp(got.data(), sent.data() + 5000, 5001), 0) << memory.text() << " read from the middle";
    }
}

TEST_P(HostMemory, IsCopiedBetweenAllKinds) {
    constexpr std::uint64_t bytes = 3 * MiB + 5;
    for (auto const from_kind : host_kinds) {
        for (auto const to_kind : host_kinds) {
            Buffer const from(driver(), host(), from_kind, bytes + 3), to(driver(), host(), to_kind, bytes + 7);
            Content const content(4);
            driver().fill_host(from.address(), from.bytes(), content.data);
            driver().fill_host(to.address(), to.bytes(), content.poison);
            driver().copy_host(to.address() + 7, from.address() + 3, bytes);
            Pattern const moved{content.data.key, content.data.offset + 3};
            EXPECT_EQ(driver().check_host(to.address() + 7, bytes, moved, content.poison), CheckOutcome{}) << to.text();
            EXPECT_EQ(driver().check_host(to.address(), 7, content.poison, {}), CheckOutcome{}) << to.text();
        }
    }
}

TEST_P(HostMemory, AFilledRangeHoldsThePatternByteForByte) {
    for (auto const kind : host_kinds) {
        Buffer const memory(driver(), host(), kind, 8192);
        Pattern const pattern{42, 5};
        driver().fill_host(memory.address() + 3, 4099, pattern);
        std::vector<unsigned char> got(4099), expected(4099);
        driver().read_host(memory.address() + 3, got.data(), got.size());
        write_pattern(pattern, expected.data(), expected.size());
        EXPECT_EQ(got, expected) << memory.text();
    }
}

TEST_P(HostMemory, ACheckCountsWrongZeroAndOldBytes) {
    Buffer const memory(driver(), host(), MemoryKind::pinned, 4096);
    Content const content(9);
    driver().fill_host(memory.address(), 4096, content.data);
    EXPECT_EQ(driver().check_host(memory.address(), 4096, content.data, content.poison), CheckOutcome{});

    driver().fill_host(memory.address() + 1024, 512, {content.poison.key, 1024});
    std::vector<unsigned char> const zeros(64);
    driver().write_host(memory.address() + 2048, zeros.data(), zeros.size());
    std::vector<unsigned char> all(4096);
    driver().read_host(memory.address(), all.data(), all.size());
    EXPECT_EQ(driver().check_host(memory.address(), 4096, content.data, content.poison),
              check_pattern(all.data(), all.size(), content.data, content.poison));
}

TEST_P(HostMemory, PinnedAndRegisteredMemoryIsKnownAndOpenToEveryDevice) {
    for (auto const kind : known_host_kinds) {
        Buffer const memory(driver(), host(), kind, 64 * KiB);
        auto const known = driver().provenance(memory.address());
        EXPECT_EQ(known.kind, kind);
        EXPECT_TRUE(known.place.is_host()) << memory.text();
        for (int device = 0; device < devices(); ++device) {
            EXPECT_TRUE(listed(memory.address(), device)) << memory.text() << " and device " << device;
        }
    }
}

TEST_P(HostMemory, UnregisteredMemoryIsPageableAgainAndKeepsItsBytes) {
    Allocation const memory(driver(), {host(), 64 * KiB, MemoryKind::pageable});
    Content const content(3);
    EXPECT_EQ(driver().provenance(memory.address()).kind, MemoryKind::pageable);
    driver().fill_host(memory.address(), memory.bytes(), content.data);
    driver().register_host(memory.address(), memory.bytes());
    EXPECT_EQ(driver().provenance(memory.address()).kind, MemoryKind::registered);
    driver().unregister_host(memory.address());
    EXPECT_EQ(driver().provenance(memory.address()).kind, MemoryKind::pageable);
    EXPECT_EQ(driver().check_host(memory.address(), memory.bytes(), content.data, content.poison), CheckOutcome{});
}

TEST_P(HostMemory, WhatWasNotRegisteredCannotBeUnregistered) {
    Allocation const memory(driver(), {host(), 64 * KiB, MemoryKind::pageable});
    auto const outcome = [&] { driver().unregister_host(memory.address()); };
    EXPECT_THROW(outcome(), std::exception);
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(HostMemory, KernelsOfEveryDeviceReachPinnedAndRegisteredMemory) {
    for (auto const kind : known_host_kinds) {
        Buffer const memory(driver(), host(), kind, 64 * KiB + 20);
        for (int device = 0; device < devices(); ++device) {
            EXPECT_TRUE(witness().reached(memory, device));
        }
    }
}

}  // namespace peerlane::conformance
