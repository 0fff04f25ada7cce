// What went wrong, from what the owner found.
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "prove/classify.hpp"
#include "prove/transfer.hpp"

namespace peerlane::prove {
namespace {

constexpr std::uint64_t guard = 64;

/// A range between two guards in host memory, as an owner sees it after a transfer.
struct Memory {
    explicit Memory(std::uint64_t size) : bytes(size), all(guard + size + guard) {
        Transfer transfer{.from = 0, .to = 1, .bytes = bytes, .seed = 5};
        patterns = patterns_of(transfer);
        write_pattern({patterns.poison_key, 0}, all.data(), all.size());
    }
    std::uint8_t* payload() { return all.data() + guard; }
    void arrive(std::int64_t shift = 0) { write_pattern(patterns.expected, payload() + shift, bytes); }
    [[nodiscard]] Observation look() {
        Pattern const poison{patterns.poison_key, guard};
        Observation seen{bytes, patterns.expected};
        seen.payload = check_pattern(payload(), bytes, patterns.expected, poison);
        seen.before = check_pattern(all.data(), guard, {patterns.poison_key, 0}, patterns.expected);
        seen.after = check_pattern(payload() + bytes, guard, {patterns.poison_key, guard + bytes}, patterns.expected);
        seen.windows.push_back({-static_cast<std::int64_t>(guard), all});
        return seen;
    }

    std::uint64_t bytes;
    std::vector<std::uint8_t> all;
    Patterns patterns;
};

class ClassifyEverySize : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, ClassifyEverySize, testing::Values(1, 3, 8, 9, 64, 4096, 4100, 65536 + 5));

TEST_P(ClassifyEverySize, Right) {
    Memory memory(GetParam());
    memory.arrive();
    EXPECT_EQ(classify(memory.look()), std::nullopt);
}

TEST_P(ClassifyEverySize, Zero) {
    Memory memory(GetParam());
    std::memset(memory.payload(), 0, memory.bytes);
    auto const seen = memory.look();
    EXPECT_EQ(classify(seen), WrongKind::zero);
    EXPECT_EQ(first_bad_offset(seen), 0u) << "the first byte of a pattern is never zero";
}

TEST_P(ClassifyEverySize, Stale) {
    Memory memory(GetParam());
    auto const seen = memory.look();
    EXPECT_EQ(classify(seen), WrongKind::stale);
    EXPECT_EQ(first_bad_offset(seen), 0u) << "the first byte of a pattern is never that of the poison";
}

TEST_P(ClassifyEverySize, Flip) {
    Memory memory(GetParam());
    memory.arrive();
    memory.payload()[memory.bytes / 2] ^= 0x10;
    auto const seen = memory.look();
    EXPECT_EQ(classify(seen), WrongKind::flip);
    EXPECT_EQ(first_bad_offset(seen), memory.bytes / 2);
}

TEST_P(ClassifyEverySize, MirrorWhenTheAccessorSeesItsOwn) {
    Memory memory(GetParam());
    for (bool const zeros : {false, true}) {
        if (zeros) {
            std::memset(memory.payload(), 0, memory.bytes);
        }
        auto seen = memory.look();
        seen.own_bytes_back = true;
        EXPECT_EQ(classify(seen), WrongKind::mirror);
    }
}

TEST(Classify, OffsetAtEveryByteShiftBothWays) {
    for (std::uint64_t const bytes : {16, 64, 4096, 4100}) {
        for (std::int64_t shift = -48; shift <= 48; ++shift) {
            if (shift == 0) {
                continue;
            }
            Memory memory(bytes);
            memory.arrive(shift);
            EXPECT_EQ(classify(memory.look()), WrongKind::offset) << bytes << " bytes shifted by " << shift;
        }
    }
}

TEST(Classify, OffsetWithinTheRangeWithoutTouchingTheGuards) {
    Memory memory(4096);
    std::vector<std::uint8_t> turned(4096);
    write_pattern(memory.patterns.expected, turned.data(), turned.size());
    std::rotate(turned.begin(), turned.begin() + 64, turned.end());
    std::memcpy(memory.payload(), turned.data(), turned.size());
    EXPECT_EQ(classify(memory.look()), WrongKind::offset);
}

TEST(Classify, RightBytesAndAWrittenGuardIsNoPass) {
    Memory memory(4096);
    memory.arrive();
    memory.payload()[4096 + 3] ^= 1;
    auto seen = memory.look();
    EXPECT_EQ(classify(seen), WrongKind::flip);
    EXPECT_EQ(first_bad_offset(seen), 4096u + 3);
    memory.payload()[-5] ^= 1;
    EXPECT_EQ(first_bad_offset(memory.look()), 0u);
}

TEST(Classify, HalfStaleHalfRightIsStale) {
    Memory memory(4096);
    write_pattern(memory.patterns.expected, memory.payload(), 2048);
    auto const seen = memory.look();
    EXPECT_EQ(classify(seen), WrongKind::stale);
    EXPECT_EQ(first_bad_offset(seen), 2048u);
}

TEST(Classify, RandomBytesAreAFlip) {
    std::mt19937_64 random(2024);
    for (int i = 0; i < 50; ++i) {
        Memory memory(4096);
        for (std::uint64_t at = 0; at < 4096; ++at) {
            memory.payload()[at] = static_cast<std::uint8_t>(random());
        }
        EXPECT_EQ(classify(memory.look()), WrongKind::flip);
    }
}

TEST(Patterns, DifferByPairCheckSizeAndSeed) {
    Transfer const one{.from = 0, .to = 1, .bytes = 4096, .name = 2, .seed = 5};
    auto const differs = [&](auto change) {
        auto other = one;
        change(other);
        auto const a = patterns_of(one), b = patterns_of(other);
        return a.expected.key != b.expected.key && a.poison_key != b.poison_key && a.expected.key != b.poison_key;
    };
    EXPECT_TRUE(differs([](Transfer& t) { std::swap(t.from, t.to); }));
    EXPECT_TRUE(differs([](Transfer& t) { t.to = 2; }));
    EXPECT_TRUE(differs([](Transfer& t) { t.bytes = 4097; }));
    EXPECT_TRUE(differs([](Transfer& t) { t.name = 3; }));
    EXPECT_TRUE(differs([](Transfer& t) { t.seed = 6; }));
    EXPECT_EQ(patterns_of(one).expected, patterns_of(one).expected);
}

}  // namespace
}  // namespace peerlane::prove
