#include "conformance/fixture.hpp"

namespace peerlane::conformance {
namespace {

/// A byte, a few, sizes around what engines like, and a large one that is no multiple of anything.
const std::vector<std::uint64_t> sizes{1, 2, 3, 7, 8, 15, 64, 4095, 4096, 64 * KiB + 1, 1 * MiB, 16 * MiB + 36};

}  // namespace

TEST_P(LocalCopies, BetweenTheDeviceAndEveryKindOfHostMemoryBothWays) {
    for (int device = 0; device < devices(); ++device) {
        Buffer const on_device(driver(), gpu(device), MemoryKind::plain, 1 * MiB + 36);
        for (auto const kind : host_kinds) {
            Buffer const on_host(driver(), host(), kind, 1 * MiB + 36);
            EXPECT_TRUE(witness().copies(witness().stream(device), on_device, on_host));
            EXPECT_TRUE(witness().copies(witness().stream(device), on_host, on_device));
        }
    }
}

TEST_P(LocalCopies, BetweenTheHostAndEveryKindOfDeviceMemory) {
    Buffer const on_host(driver(), host(), MemoryKind::pinned, 256 * KiB + 5);
    for (int device = 0; device < devices(); ++device) {
        for (auto const kind : device_kinds(driver(), device)) {
            Buffer const on_device(driver(), gpu(device), kind, 256 * KiB + 5);
            EXPECT_TRUE(witness().copies(witness().stream(device), on_device, on_host));
            EXPECT_TRUE(witness().copies(witness().stream(device), on_host, on_device));
        }
    }
}

TEST_P(LocalCopies, BetweenEveryTwoKindsOfOneDevice) {
    auto const kinds = device_kinds(driver(), 0);
    for (auto const from_kind : kinds) {
        for (auto const to_kind : kinds) {
            Buffer const from(driver(), gpu(0), from_kind, 64 * KiB + 3), to(driver(), gpu(0), to_kind, 64 * KiB + 3);
            EXPECT_TRUE(witness().copies(witness().stream(0), to, from));
        }
    }
}

TEST_P(LocalCopies, BetweenTwoBuffersOfTheHost) {
    for (auto const from_kind : host_kinds) {
        for (auto const to_kind : host_kinds) {
            Buffer const from(driver(), host(), from_kind, 64 * KiB + 3), to(driver(), host(), to_kind, 64 * KiB + 3);
            EXPECT_TRUE(witness().copies(witness().stream(0), to, from));
        }
    }
}

TEST_P(LocalCopies, OfAnySizeChangeNothingAroundTheDestination) {
    auto const room = sizes.back() + 128;
    Buffer const pinned(driver(), host(), MemoryKind::pinned, room), device(driver(), gpu(0), MemoryKind::plain, room);
    auto const stream = witness().stream(0);
    for (auto const bytes : sizes) {
        EXPECT_TRUE(witness().copies(stream, device, 64, pinned, 32, bytes, CopyApi::automatic))
            << bytes << " bytes in";
        EXPECT_TRUE(witness().copies(stream, pinned, 64, device, 32, bytes, CopyApi::automatic))
            << bytes << " bytes out";
    }
}

TEST_P(LocalCopies, AtOddOffsetsArriveByteForByte) {
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 128 * KiB), b(driver(), gpu(0), MemoryKind::plain, 128 * KiB);
    Buffer const pinned(driver(), host(), MemoryKind::pinned, 128 * KiB);
    auto const stream = witness().stream(0);
    for (auto const to : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{4093}}) {
        for (auto const from : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{513}}) {
            EXPECT_TRUE(witness().copies(stream, b, to, a, from, 65537, CopyApi::automatic)) << from << " to " << to;
            EXPECT_TRUE(witness().copies(stream, pinned, to, a, from, 4097, CopyApi::automatic))
                << from << " to " << to;
        }
    }
}

TEST_P(LocalCopies, OfNoBytesDoNothing) {
    Buffer const from(driver(), gpu(0), MemoryKind::plain, 4096), to(driver(), gpu(0), MemoryKind::plain, 4096);
    Content const content(1);
    auto const stream = witness().stream(0);
    witness().fill(from.at(), 4096, content.data);
    witness().fill(to.at(), 4096, content.poison);
    driver().copy(stream, {to.at(), from.at(), 0});
    driver().copy(stream, {to.at(), from.at(), 0, CopyApi::peer});
    driver().copy_batch(stream, {});
    driver().synchronize(stream);
    EXPECT_TRUE(witness().holds(to.at(), 4096, content.poison, content.data));
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(LocalCopies, IntoTheDefaultStreamArriveToo) {
    Buffer const from(driver(), host(), MemoryKind::pinned, 64 * KiB),
        to(driver(), gpu(0), MemoryKind::plain, 64 * KiB);
    EXPECT_TRUE(witness().copies(StreamView{0, StreamView::legacy}, to, from));
    EXPECT_TRUE(witness().copies(StreamView{0, StreamView::per_thread}, to, from));
}

TEST_P(LocalCopies, ABatchMovesEveryOneOfItsBlocksAndNothingElse) {
    constexpr std::uint64_t block = 1000, count = 200, gap = 24, room = count * (block + gap);
    Buffer const from(driver(), host(), MemoryKind::pinned, room), to(driver(), gpu(0), MemoryKind::plain, room);
    Content const content(1);
    witness().fill(from.at(), room, content.data);
    witness().fill(to.at(), room, content.poison);
    std::vector<CopyRequest> requests;
    for (std::uint64_t i = 0; i < count; ++i) {
        // Blocks arrive in reverse order of their sources.
        requests.push_back({to.at((count - 1 - i) * (block + gap)), from.at(i * block), block});
    }
    auto const stream = witness().stream(0);
    driver().copy_batch(stream, requests);
    driver().synchronize(stream);
    for (std::uint64_t i = 0; i < count; ++i) {
        auto const at = (count - 1 - i) * (block + gap);
        ASSERT_TRUE(witness().holds(to.at(at), block, {content.data.key, i * block}, {content.poison.key, at}))
            << "block " << i;
        ASSERT_TRUE(witness().holds(to.at(at + block), gap, {content.poison.key, at + block}, content.data))
            << "gap " << i;
    }
}

TEST_P(LocalCopies, AFillSetsEveryByteOfItsRangeAlone) {
    auto const expect_bytes = [&](const Buffer& memory) {
        Buffer const out(driver(), host(), MemoryKind::pinned, memory.bytes());
        Content const content(memory.bytes());
        auto const stream = witness().stream(0);
        std::vector<unsigned char> got(memory.bytes()), expected(memory.bytes());
        for (auto const value : {std::uint8_t{0}, std::uint8_t{0x5a}, std::uint8_t{0xff}}) {
            witness().fill(memory.at(), memory.bytes(), content.poison);
            driver().fill(stream, memory.at(5), value, memory.bytes() - 11);
            driver().copy(stream, {out.at(), memory.at(), memory.bytes()});
            driver().synchronize(stream);
            driver().read_host(out.address(), got.data(), got.size());
            write_pattern(content.poison, expected.data(), expected.size());
            std::fill(expected.begin() + 5, expected.end() - 6, value);
            EXPECT_EQ(got, expected) << memory.text() << ", value " << int{value};
        }
    };
    for (auto const kind : device_kinds(driver(), 0)) {
        expect_bytes(Buffer(driver(), gpu(0), kind, 64 * KiB + 1));
    }
    expect_bytes(Buffer(driver(), host(), MemoryKind::pinned, 4099));
}

}  // namespace peerlane::conformance
