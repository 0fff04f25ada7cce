#include <algorithm>

#include "conformance/pool.hpp"

namespace peerlane::conformance {
namespace {

constexpr CopyApi both_calls[] = {CopyApi::peer, CopyApi::automatic};

}  // namespace

TEST_P(PeerCopies, WithNothingEnabledArriveBothWaysFromBothIssuers) {
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 1 * MiB + 36),
        b(driver(), gpu(1), MemoryKind::plain, 1 * MiB + 36);
    for (int issuer = 0; issuer < 2; ++issuer) {
        for (auto const api : both_calls) {
            EXPECT_TRUE(witness().copies(witness().stream(issuer), b, a, api));
            EXPECT_TRUE(witness().copies(witness().stream(issuer), a, b, api));
        }
    }
}

TEST_P(PeerCopies, WithEitherDirectionEnabledArriveBothWaysFromBothIssuers) {
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 1 * MiB + 36),
        b(driver(), gpu(1), MemoryKind::plain, 1 * MiB + 36);
    for (auto const edge : {AccessEdge{0, 1}, AccessEdge{1, 0}}) {
        enable(edge.accessor, edge.owner);
        for (int issuer = 0; issuer < 2; ++issuer) {
            for (auto const api : both_calls) {
                EXPECT_TRUE(witness().copies(witness().stream(issuer), b, a, api))
                    << "with " << edge.accessor << ":" << edge.owner;
                EXPECT_TRUE(witness().copies(witness().stream(issuer), a, b, api))
                    << "with " << edge.accessor << ":" << edge.owner;
            }
        }
        driver().disable_access(edge);
    }
}

TEST_P(PeerCopies, WithBothDirectionsEnabledArriveBothWaysFromBothIssuers) {
    enable_both();
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 16 * MiB + 36),
        b(driver(), gpu(1), MemoryKind::plain, 16 * MiB + 36);
    for (int issuer = 0; issuer < 2; ++issuer) {
        for (auto const api : both_calls) {
            EXPECT_TRUE(witness().copies(witness().stream(issuer), b, a, api));
            EXPECT_TRUE(witness().copies(witness().stream(issuer), a, b, api));
        }
    }
}

TEST_P(PeerCopies, StillArriveAfterOneOfTwoDirectionsAndThenBothAreDisabled) {
    enable_both();
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 1 * MiB + 36),
        b(driver(), gpu(1), MemoryKind::plain, 1 * MiB + 36);
    for (auto const edge : {AccessEdge{1, 0}, AccessEdge{0, 1}}) {
        EXPECT_EQ(driver().disable_access(edge).kind, MappingOutcome::Kind::done);
        for (int issuer = 0; issuer < 2; ++issuer) {
            EXPECT_TRUE(witness().copies(witness().stream(issuer), b, a, CopyApi::peer));
            EXPECT_TRUE(witness().copies(witness().stream(issuer), a, b, CopyApi::peer));
        }
    }
}

TEST_P(PeerCopies, OfAnySizeAndOffsetChangeNothingAroundTheDestination) {
    auto const room = 16 * MiB + 256;
    Buffer const a(driver(), gpu(0), MemoryKind::plain, room), b(driver(), gpu(1), MemoryKind::plain, room);
    for (auto const enabled : {false, true}) {
        if (enabled) {
            enable_both();
        }
        for (auto const bytes :
             {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{4097}, 64 * KiB + 1, 1 * MiB, 16 * MiB + 36}) {
            for (int issuer = 0; issuer < 2; ++issuer) {
                EXPECT_TRUE(witness().copies(witness().stream(issuer), b, 101, a, 50, bytes, CopyApi::peer))
                    << bytes << " bytes";
            }
        }
    }
}

TEST_P(PeerCopies, OfOneDeviceToItselfByThePeerCallArriveToo) {
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 64 * KiB + 1),
        b(driver(), gpu(0), MemoryKind::plain, 64 * KiB + 1);
    EXPECT_TRUE(witness().copies(witness().stream(0), b, a, CopyApi::peer));
}

TEST_P(PeerCopies, OfPoolAndVirtualMemoryWithoutAGrantArriveByThePeerCall) {
    enable_both();
    for (int owner = 0; owner < 2; ++owner) {
        Buffer const plain(driver(), gpu(1 - owner), MemoryKind::plain, 1 * MiB + 4);
        for (auto const& closed : closed_memory(driver(), owner, 1 * MiB + 4)) {
            for (int issuer = 0; issuer < 2; ++issuer) {
                EXPECT_TRUE(witness().copies(witness().stream(issuer), plain, closed->memory(), CopyApi::peer));
                EXPECT_TRUE(witness().copies(witness().stream(issuer), closed->memory(), plain, CopyApi::peer));
            }
        }
    }
}

TEST_P(PeerCopies, OfPoolAndVirtualMemoryWithoutAGrantAreRefusedToTheOtherDeviceByTheAutomaticCall) {
    enable_both();
    for (int owner = 0; owner < 2; ++owner) {
        auto const other = 1 - owner;
        Buffer const plain(driver(), gpu(other), MemoryKind::plain, 64 * KiB);
        for (auto const& closed : closed_memory(driver(), owner, 64 * KiB)) {
            auto const& memory = closed->memory();
            EXPECT_TRUE(witness().copies(witness().stream(owner), plain, memory)) << "the owner may";
            EXPECT_TRUE(witness().copies(witness().stream(owner), memory, plain)) << "the owner may";
            auto const error = error_of([&] {
                driver().copy(witness().stream(other), {plain.at(), memory.at(), 4096});
            });
            ASSERT_TRUE(error) << memory.text();
            EXPECT_EQ(error->code, code::invalid_value) << memory.text();
            EXPECT_FALSE(error->sticky);
            EXPECT_EQ(error->accessor, other) << "the issuer";
            EXPECT_EQ(error->owner, owner) << "whose memory it is";
            EXPECT_EQ(code_of([&] {
                          driver().copy(witness().stream(other), {memory.at(), plain.at(), 4096});
                      }),
                      code::invalid_value);
            EXPECT_EQ(driver().last_error(), 0);
        }
    }
}

TEST_P(PeerCopies, OfGrantedPoolAndVirtualMemoryArriveByEveryCall) {
    enable_both();
    for (int owner = 0; owner < 2; ++owner) {
        Buffer const plain(driver(), gpu(1 - owner), MemoryKind::plain, 1 * MiB + 4);
        for (auto const& closed : closed_memory(driver(), owner, 1 * MiB + 4)) {
            ASSERT_TRUE(closed->grant(1 - owner).usable());
            for (int issuer = 0; issuer < 2; ++issuer) {
                for (auto const api : both_calls) {
                    EXPECT_TRUE(witness().copies(witness().stream(issuer), plain, closed->memory(), api));
                    EXPECT_TRUE(witness().copies(witness().stream(issuer), closed->memory(), plain, api));
                }
            }
        }
    }
}

TEST_P(PeerCopies, OfManagedMemoryArrive) {
    PEERLANE_NEEDS(managed, 0);
    enable_both();
    Buffer const managed(driver(), gpu(0), MemoryKind::managed, 1 * MiB + 4),
        plain(driver(), gpu(1), MemoryKind::plain, 1 * MiB + 4);
    for (int issuer = 0; issuer < 2; ++issuer) {
        EXPECT_TRUE(witness().copies(witness().stream(issuer), plain, managed));
        EXPECT_TRUE(witness().copies(witness().stream(issuer), managed, plain));
    }
}

TEST_P(PeerCopies, BetweenTheHostAndADeviceMayBeIssuedByTheOtherDevice) {
    enable_both();
    Buffer const pinned(driver(), host(), MemoryKind::pinned, 256 * KiB + 1),
        memory(driver(), gpu(0), MemoryKind::plain, 256 * KiB + 1);
    EXPECT_TRUE(witness().copies(witness().stream(1), memory, pinned));
    EXPECT_TRUE(witness().copies(witness().stream(1), pinned, memory));
}

TEST_P(PeerCopies, InBothDirectionsAtOnceDoNotMix) {
    enable_both();
    constexpr std::uint64_t bytes = 16 * MiB + 36;
    Buffer const a(driver(), gpu(0), MemoryKind::plain, bytes), b(driver(), gpu(1), MemoryKind::plain, bytes);
    Buffer const from_a(driver(), gpu(1), MemoryKind::plain, bytes), from_b(driver(), gpu(0), MemoryKind::plain, bytes);
    Content const first(1), second(2);
    witness().fill(a.at(), bytes, first.data);
    witness().fill(b.at(), bytes, second.data);
    witness().fill(from_a.at(), bytes, first.poison);
    witness().fill(from_b.at(), bytes, second.poison);
    driver().copy(witness().stream(0), {from_a.at(), a.at(), bytes, CopyApi::peer});
    driver().copy(witness().stream(1), {from_b.at(), b.at(), bytes, CopyApi::peer});
    driver().synchronize(witness().stream(0));
    driver().synchronize(witness().stream(1));
    EXPECT_TRUE(witness().holds(from_a.at(), bytes, first.data, first.poison));
    EXPECT_TRUE(witness().holds(from_b.at(), bytes, second.data, second.poison));
}

TEST_P(PeerCopies, OfABatchArriveBlockByBlock) {
    enable_both();
    constexpr std::uint64_t block = 4096, count = 64, room = block * count;
    Buffer const from(driver(), gpu(0), MemoryKind::plain, room), to(driver(), gpu(1), MemoryKind::plain, room);
    for (int issuer = 0; issuer < 2; ++issuer) {
        Content const content(static_cast<std::uint64_t>(issuer));
        witness().fill(from.at(), room, content.data);
        witness().fill(to.at(), room, content.poison);
        std::vector<CopyRequest> requests;
        for (std::uint64_t i = 0; i < count; ++i) {
            requests.push_back({to.at((i * 37 % count) * block), from.at(i * block), block});
        }
        driver().copy_batch(witness().stream(issuer), requests);
        driver().synchronize(witness().stream(issuer));
        for (std::uint64_t i = 0; i < count; ++i) {
            auto const at = (i * 37 % count) * block;
            ASSERT_TRUE(witness().holds(to.at(at), block, {content.data.key, i * block}, {content.poison.key, at}))
                << "block " << i << ", issued by " << issuer;
        }
    }
}

// llama.cpp#10152: access toggled while copies were in flight.
TEST_P(PeerCopies, InFlightWhileAccessIsToggledArrive) {
    constexpr std::uint64_t bytes = 16 * MiB;
    Buffer const a(driver(), gpu(0), MemoryKind::plain, bytes), b(driver(), gpu(1), MemoryKind::plain, bytes);
    for (int round = 0; round < 4; ++round) {
        Content const content(static_cast<std::uint64_t>(round));
        enable(0, 1);
        witness().fill(a.at(), bytes, content.data);
        witness().fill(b.at(), bytes, content.poison);
        driver().copy(witness().stream(0), {b.at(), a.at(), bytes, CopyApi::peer});
        EXPECT_EQ(driver().disable_access({0, 1}).kind, MappingOutcome::Kind::done);
        driver().synchronize(witness().stream(0));
        EXPECT_TRUE(witness().holds(b.at(), bytes, content.data, content.poison)) << "round " << round;
    }
}

}  // namespace peerlane::conformance
