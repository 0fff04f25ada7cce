#include "model/cost.hpp"

#include <stdexcept>

#include <gtest/gtest.h>
#include <peerlane/units.hpp>

#include "model/access.hpp"
#include "model/pipeline.hpp"
#include "model/split.hpp"

namespace peerlane::model {
namespace {

TEST(Cost, OfACurveIsStraightInBytesBetweenItsPoints) {
    // 10 us fixed and 1 us a KiB from 4 KiB on; flat below.
    auto const cost = Cost::of(Curve{{{4096, 14e-6, -1}, {16384, 26e-6, -1}, {65536, 74e-6, -1}}});
    EXPECT_DOUBLE_EQ(cost.seconds(256), 14e-6);
    EXPECT_NEAR(cost.seconds(8192), 18e-6, 1e-12);
    EXPECT_NEAR(cost.seconds(40960), 50e-6, 1e-12);
    EXPECT_NEAR(cost.seconds(131072), 138e-6, 1e-12) << "on at the slope of the last two octaves";
}

TEST(Cost, SumsAndMultiplesAreExact) {
    auto const a = Cost::linear(2, 1);
    auto const b = Cost::of({{0, 1}, {10, 1}}, 3);
    auto const sum = a + 2 * b;
    for (auto const bytes : {0.0, 5.0, 10.0, 12.5, 1000.0}) {
        EXPECT_DOUBLE_EQ(sum.seconds(bytes), a.seconds(bytes) + 2 * b.seconds(bytes)) << bytes;
    }
}

TEST(Cost, MaximumAndMinimumHaveAKnotWhereTheyCross) {
    // 4 + x and 1 + 2 x cross at 3, which is no knot of either.
    auto const a = Cost::linear(4, 1);
    auto const b = Cost::linear(1, 2);
    auto const high = max(a, b), low = min(a, b);
    for (auto const bytes : {0.0, 1.0, 2.9, 3.0, 3.1, 50.0}) {
        EXPECT_DOUBLE_EQ(high.seconds(bytes), std::max(a.seconds(bytes), b.seconds(bytes))) << bytes;
        EXPECT_DOUBLE_EQ(low.seconds(bytes), std::min(a.seconds(bytes), b.seconds(bytes))) << bytes;
    }
    EXPECT_EQ(high.knots().size(), 2U);
}

TEST(Cost, RefusesKnotsThatDoNotAscend) {
    EXPECT_THROW((void)Cost::of({{1, 1}}, 0), std::invalid_argument);
    EXPECT_THROW((void)Cost::of({{0, 1}, {5, 1}, {5, 2}}, 0), std::invalid_argument);
}

TEST(Pipeline, FillAndThenTheSlowestStage) {
    // Two stages of 1 us a KiB, four chunks of 1 KiB: the first stage takes 4 us, the last chunk one more.
    Pipeline pipeline{{Cost::linear(0, 1e-6 / 1024), Cost::linear(0, 1e-6 / 1024)}};
    EXPECT_NEAR(seconds(pipeline, {1024, 1024, 1024, 1024}, 4), 5e-6, 1e-12);
    EXPECT_NEAR(seconds(pipeline, {1024}, 4), 2e-6, 1e-12);
    // The second one twice as slow: one chunk in, then four times 2 us.
    pipeline.stages[1] = Cost::linear(0, 2e-6 / 1024);
    EXPECT_NEAR(seconds(pipeline, {1024, 1024, 1024, 1024}, 4), 9e-6, 1e-12);
}

TEST(Pipeline, ThreeStagesAndOneBuffer) {
    Pipeline pipeline{{Cost::linear(1, 0), Cost::linear(1, 0), Cost::linear(1, 0)}};
    EXPECT_DOUBLE_EQ(seconds(pipeline, {1, 1, 1, 1}, 4), 6.0);
    // With one buffer a stage fills it again when the one behind has read it: a chunk leaves every second.
    EXPECT_DOUBLE_EQ(seconds(pipeline, {1, 1, 1, 1}, 1), 9.0);
}

TEST(Pipeline, TheHostThatIssuesIsAStageToo) {
    Pipeline pipeline{{Cost::linear(1e-6, 0), Cost::linear(1e-6, 0)}};
    pipeline.issue_s = 10e-6;
    auto const took = seconds(pipeline, std::vector<std::uint64_t>(10, 4096), 4);
    EXPECT_GT(took, 90e-6);
    EXPECT_LT(took, 101e-6);
    EXPECT_NEAR(s_per_byte(pipeline, 4096), 10e-6 / 4096, 1e-15);
}

TEST(Chunks, GrowAndShrinkAndAddUp) {
    for (auto const bytes : {1_MiB, 16_MiB + 1, 100_MiB + 5, 1_GiB}) {
        for (auto const chunk : {256_KiB, 1_MiB, 8_MiB, 32_MiB}) {
            auto const sizes = chunk_sizes(bytes, chunk, 64);
            std::uint64_t sum = 0;
            for (auto const size : sizes) {
                sum += size;
                EXPECT_GT(size, 0U);
                EXPECT_LE(size, chunk);
            }
            EXPECT_EQ(sum, bytes) << bytes << " " << chunk;
            EXPECT_LE(sizes.size(), std::max<std::uint64_t>(64, (bytes + chunk - 1) / chunk + 1));
        }
    }
    auto const sizes = chunk_sizes(128_MiB, 8_MiB, 64);
    EXPECT_EQ(sizes.front(), 1_MiB);
    EXPECT_EQ(sizes[1], 2_MiB);
    EXPECT_EQ(sizes.back(), 1_MiB);
}

TEST(Chunks, TheBestOneGrowsWithTheBytesAndMemoryIsBoundedFirst) {
    Pipeline const staged{{Cost::linear(4.4e-6, 1 / 55.3e9), Cost::linear(4.4e-6, 1 / 55.5e9)}, 7e-6, 1e-6};
    std::uint64_t before = 0;
    for (auto const bytes : {1_MiB, 16_MiB, 128_MiB, 1_GiB, 4_GiB}) {
        auto const best = best_chunk(staged, bytes, {128_KiB, 64_MiB, 64, 4, 128_MiB});
        EXPECT_GE(best.chunk, before) << bytes;
        EXPECT_LE((bytes + best.chunk - 1) / best.chunk, 64U);
        EXPECT_LE(best.chunk * static_cast<std::uint64_t>(best.buffers), 128_MiB);
        before = best.chunk;
    }
    auto const tight = best_chunk(staged, 1_GiB, {128_KiB, 64_MiB, 64, 4, 1_MiB});
    EXPECT_LE(tight.chunk * static_cast<std::uint64_t>(tight.buffers), 1_MiB);
}

TEST(EqualFinish, AllEndTogether) {
    // 2 B/s at once and 1 B/s from second 3 on, 12 bytes: (12 + 3) / 3 = 5 seconds, 10 and 2 bytes.
    Finisher const ways[] = {{0, 0.5}, {3, 1}};
    auto const split = equal_finish(ways, 12);
    EXPECT_DOUBLE_EQ(split.seconds, 5);
    EXPECT_DOUBLE_EQ(split.bytes[0], 10);
    EXPECT_DOUBLE_EQ(split.bytes[1], 2);
}

TEST(EqualFinish, AWayThatBeginsTooLateGetsNothing) {
    Finisher const ways[] = {{0, 0.5}, {7, 1}};
    auto const split = equal_finish(ways, 12);
    EXPECT_DOUBLE_EQ(split.seconds, 6);
    EXPECT_DOUBLE_EQ(split.bytes[1], 0);
    EXPECT_THROW((void)equal_finish({}, 1), std::invalid_argument);
}

TEST(Access, IsTransactionsTimesCost) {
    AccessCosts costs;
    costs.touches = {{1_MiB, 10e-6, -1}, {256_MiB, 725e-6, -1}};
    costs.reads = {{4, 4, 359}, {4, 32, 46.7}, {4, 128, 35.2}, {4, 4096, 31.3}};
    EXPECT_NEAR(*touch_seconds(costs, {}, 256.0 * MiB), 725e-6, 1e-9);
    // 4-byte pieces anywhere: the rate that was measured for them at the widest distance.
    EXPECT_NEAR(*touch_seconds(costs, {4}, 256.0 * MiB), 256.0 * MiB / 31.3e9, 1e-9);
    // 8 bytes are one transaction of 32 bytes too: half as many of them.
    EXPECT_NEAR(*touch_seconds(costs, {8}, 256.0 * MiB), 256.0 * MiB / 62.6e9, 1e-9);
    // 64 bytes are two, and never faster than in order.
    EXPECT_NEAR(*touch_seconds(costs, {64}, 256.0 * MiB), 256.0 * MiB / (31.3e9 * 8), 1e-4);
    EXPECT_GE(*touch_seconds(costs, {4096}, 256.0 * MiB), 725e-6);
    EXPECT_FALSE(touch_seconds(AccessCosts{}, {}, 1024).has_value());
}

}  // namespace
}  // namespace peerlane::model
