// Statistics of fixed sequences; every expected number is worked out by hand.

#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "measure/statistics.hpp"

namespace peerlane::measuring {
namespace {

std::vector<double> counted(int n) {
    std::vector<double> samples;
    for (int i = 1; i <= n; ++i) {
        samples.push_back(i);
    }
    return samples;
}

TEST(Statistics, MedianAndSpreadInWhateverOrder) {
    EXPECT_EQ(summarize(std::vector<double>{5, 1, 4, 2, 3}), (Summary{3, 1.0 / 3, 5}));  // quartiles 2 and 4
    EXPECT_EQ(summarize(std::vector<double>{4, 1, 3, 2}).median, 2.5);
    EXPECT_EQ(summarize(std::vector<double>{7}).median, 7);
    EXPECT_EQ(summarize(std::vector<double>{2, 2, 2, 2, 900}), (Summary{2, 0, 5}))
        << "one that is late changes nothing";
}

TEST(Statistics, FewerThanFiveHaveNoSpreadHoweverWellTheyAgree) {
    for (std::size_t n = 1; n < 5; ++n) {
        EXPECT_EQ(summarize(std::vector<double>(n, 3.0)).spread, -1) << n;
    }
    EXPECT_EQ(summarize(std::vector<double>(5, 3.0)).spread, 0);
    EXPECT_EQ(summarize(std::vector<double>(9, 0.0)).spread, -1) << "no part of nothing";
}

TEST(Statistics, QuantilesLieBetweenSamplesInProportion) {
    std::vector<double> const samples{10, 20, 30, 40};
    EXPECT_EQ(quantile(samples, 0), 10);
    EXPECT_EQ(quantile(samples, 0.5), 25);
    EXPECT_EQ(quantile(samples, 0.25), 17.5);
    EXPECT_EQ(quantile(samples, 1), 40);
    EXPECT_THROW(quantile(samples, 1.1), std::invalid_argument);
    EXPECT_THROW(quantile(std::vector<double>{}, 0.5), std::invalid_argument);
    EXPECT_THROW(summarize(std::vector<double>{}), std::invalid_argument);
}

TEST(Statistics, IntervalOfTheMedianIsThatOfTheBinomialTable) {
    for (int n = 0; n < 6; ++n) {
        EXPECT_FALSE(median_interval(counted(n))) << n;  // 1 - 2 / 2^5 = 0.9375
    }
    // n, and the sample from either end that the interval takes: 0.969, 0.984, 0.992, 0.961, 0.979, 0.959, 0.957.
    for (auto const& [n, k] :
         std::vector<std::pair<int, int>>{{6, 1}, {7, 1}, {8, 1}, {9, 2}, {10, 2}, {20, 6}, {25, 8}}) {
        EXPECT_EQ(median_interval(counted(n)), (Interval{double(k), double(n + 1 - k)})) << n;
    }
}

}  // namespace
}  // namespace peerlane::measuring
