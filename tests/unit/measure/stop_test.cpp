// When samples are enough, on fixed sequences.

#include <vector>

#include <gtest/gtest.h>

#include "measure/stop.hpp"

namespace peerlane::measuring {
namespace {

constexpr StopRule rule{5, 12, 0.01, 10.0};

/// How many of these the rule takes; one more than there are when all of them are not enough.
std::size_t taken(const std::vector<double>& samples, const StopRule& of) {
    for (std::size_t n = 0; n <= samples.size(); ++n) {
        if (enough(std::span(samples).first(n), of)) {
            return n;
        }
    }
    return samples.size() + 1;
}

TEST(StopRule, SamplesThatAgreeEndAtSixNeverBefore) {
    EXPECT_EQ(taken(std::vector<double>(20, 1.0), rule), 6U);
    EXPECT_EQ(taken({1, 1.001, 0.999, 1, 1.002, 1, 1, 1}, rule), 6U);
    EXPECT_EQ(taken(std::vector<double>(20, 1.0), {1, 12, 0.5, 1e9}), 6U) << "whatever the least is";
}

TEST(StopRule, SamplesThatDoNotAgreeGoOnToTheMost) {
    EXPECT_EQ(taken({1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}, {5, 12, 0.01, 1e9}), 12U);
}

TEST(StopRule, OneLateSampleAsksForAsManyMoreAsPutItOutside) {
    // With 6, 7 and 8 samples the interval reaches from the least to the greatest; with 9 it leaves one out at each
    // end.
    EXPECT_EQ(taken({1, 1, 1, 5, 1, 1, 1, 1, 1, 1, 1}, {5, 25, 0.01, 1e9}), 9U);
}

TEST(StopRule, DearSamplesEndAtTheLeast) {
    EXPECT_EQ(taken({3, 4, 3, 4, 3, 4, 3}, rule), 5U);  // 17 s spent
    EXPECT_EQ(taken({30, 40, 30, 40, 30, 40, 30}, rule), 5U) << "not before, however dear";
    EXPECT_EQ(taken({1, 2, 1, 2, 1, 2, 1, 2}, rule), 7U);  // 10 s spent
}

TEST(StopRule, NoSampleIsNeverEnough) {
    EXPECT_FALSE(enough({}, {0, 12, 0.01, 0}));
    EXPECT_FALSE(enough(std::vector<double>{0, 0, 0, 0}, rule));
    EXPECT_EQ(taken(std::vector<double>(20, 0.0), rule), 6U) << "below the clock's resolution: no loop without end";
}

}  // namespace
}  // namespace peerlane::measuring
