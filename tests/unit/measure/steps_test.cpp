// Which sizes are measured, for curves that are known.

#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "measure/steps.hpp"

namespace peerlane::measuring {
namespace {

constexpr double us = 1e-6;

/// The sizes that are taken of this curve, in the order in which they are.
struct Taken {
    std::vector<CurvePoint> points;
    std::vector<std::uint64_t> added;
};
Taken taken(const std::function<double(double)>& seconds, const StepRule& rule, double spread = 0) {
    Taken result;
    for (auto const bytes : coarse_sizes(rule)) {
        result.points.push_back({bytes, seconds(static_cast<double>(bytes)), spread});
    }
    while (auto const bytes = next_size(result.points, rule)) {
        result.added.push_back(*bytes);
        auto at = result.points.begin();
        while (at->bytes < *bytes) {
            ++at;
        }
        result.points.insert(at, {*bytes, seconds(static_cast<double>(*bytes)), spread});
    }
    return result;
}

double interpolated(const std::vector<CurvePoint>& points, double bytes) {
    std::size_t i = 0;
    while (i + 2 < points.size() && static_cast<double>(points[i + 1].bytes) < bytes) {
        ++i;
    }
    auto const a = static_cast<double>(points[i].bytes), b = static_cast<double>(points[i + 1].bytes);
    return points[i].seconds + (points[i + 1].seconds - points[i].seconds) * (bytes - a) / (b - a);
}

TEST(Steps, TheCoarseRowHasBothEnds) {
    EXPECT_EQ(coarse_sizes({256, 16384, 4}), (std::vector<std::uint64_t>{256, 1024, 4096, 16384}));
    EXPECT_EQ(coarse_sizes({256, 10000, 4}), (std::vector<std::uint64_t>{256, 1024, 4096, 10000}));
    EXPECT_EQ(coarse_sizes({256, 100, 4}), (std::vector<std::uint64_t>{256}));
    EXPECT_EQ(coarse_sizes(full_steps).size(), 12U);
    EXPECT_EQ(coarse_sizes(full_steps).back(), 1U << 30);
}

TEST(Steps, AStraightLineNeedsNoMore) {
    // 11 us and 396 GB/s: straight in bytes, however bent it looks over the logarithm.
    EXPECT_TRUE(taken([](double n) { return 11 * us + n / 396e9; }, full_steps).added.empty());
    EXPECT_TRUE(taken([](double) { return 11 * us; }, full_steps).added.empty());
    EXPECT_TRUE(taken([](double n) { return n / 396e9; }, full_steps).added.empty());
}

TEST(Steps, MoreWhereTheCurveBendsAndNowhereElse) {
    // Another way of moving from 300,000 bytes on: the rate falls to a quarter.
    auto const bent = [](double n) { return 5 * us + n / 100e9 + std::max(0.0, n - 300e3) * 3 / 100e9; };
    auto const result = taken(bent, full_steps);
    ASSERT_FALSE(result.added.empty());
    for (auto const bytes : result.added) {
        EXPECT_GT(bytes, 65536U);
        EXPECT_LT(bytes, 4U << 20);
    }
    for (double n = 256; n < 1 << 30; n *= 1.1) {
        EXPECT_NEAR(interpolated(result.points, n) / bent(n), 1, 0.06) << n;  // within the kink itself
    }
}

TEST(Steps, AJumpIsClosedInAndThenLeft) {
    auto const jump = [](double n) { return n < 70e3 ? 10 * us : 40 * us + n / 50e9; };
    auto const result = taken(jump, full_steps);
    EXPECT_LE(result.points.size(), full_steps.most_points);
    std::size_t near = 0;
    for (auto const& p : result.points) {
        near += p.bytes > 30'000 && p.bytes < 150'000 ? 1 : 0;
    }
    EXPECT_GE(near, 4U);
}

TEST(Steps, SizesInBetweenAreMultiplesOf64AndNeverAnEnd) {
    auto const result = taken([](double n) { return us * std::pow(n, 0.3); }, {256, 1 << 20, 4, 1e-6, 1.05, 200});
    EXPECT_GT(result.added.size(), 30U);
    for (std::size_t i = 0; i + 1 < result.points.size(); ++i) {
        EXPECT_LT(result.points[i].bytes, result.points[i + 1].bytes);
        EXPECT_EQ(result.points[i].bytes % 16, 0U) << result.points[i].bytes;
    }
}

TEST(Steps, NoiseIsNoBend) {
    auto const noisy = [](double n) {
        return (11 * us + n / 100e9) * (1 + 0.03 * (static_cast<int>(std::log2(n)) % 4 == 0 ? 1 : -1));
    };
    EXPECT_FALSE(taken(noisy, full_steps, 0).added.empty()) << "looks bent";
    EXPECT_TRUE(taken(noisy, full_steps, 0.06).added.empty()) << "but its points are not known better than that";
}

TEST(Steps, NeverMoreThanTheMost) {
    auto const wild = [](double n) { return us * (2 + std::sin(n)) * std::sqrt(n); };
    EXPECT_EQ(taken(wild, full_steps).points.size(), full_steps.most_points);
    EXPECT_EQ(taken(wild, quick_steps).points.size(), quick_steps.most_points);
}

TEST(Steps, BendOfThreePoints) {
    // Flat, then 3 us a kilobyte: in the middle (2048) the line to the right is at 4 us where the flat one says 1.
    std::vector<CurvePoint> const points{{256, 1 * us, 0}, {1024, 1 * us, 0}, {4096, 10 * us, 0}};
    EXPECT_NEAR(bend_between(points, 1), 3.0 / 4.0, 1e-9);
    EXPECT_NEAR(bend_between(points, 0), 1.5, 1e-9);  // at 512: -0.5 us instead of 1
    EXPECT_EQ(bend_between(std::span(points).first(2), 0), 0);
}

}  // namespace
}  // namespace peerlane::measuring
