/// Lists of blocks before anything is submitted: checks, runs, merging, pieces.

#include <gtest/gtest.h>

#include <random>

#include "move/lists.hpp"

namespace peerlane::move {
namespace {

Address at(std::uint64_t value) {
    return Address{value};
}

TEST(Lists, UnitIsTheLargestPowerOfTwoUpTo16ThatDividesAll) {
    EXPECT_EQ(unit_of({16, 32, 4096}), 16U);
    EXPECT_EQ(unit_of({16, 24}), 8U);
    EXPECT_EQ(unit_of({4096, 4}), 4U);
    EXPECT_EQ(unit_of({4096, 6}), 2U);
    EXPECT_EQ(unit_of({4096, 7}), 1U);
    EXPECT_EQ(unit_of({64, 128}), 16U);
}

TEST(Lists, FirstOutsideCountsWhatFits) {
    std::vector<std::int64_t> const pages{0, 3, 4, -1};
    EXPECT_EQ(first_outside(pages, 100, 100, 500), 3U);  // five pages fit
    EXPECT_EQ(first_outside(pages, 100, 100, 499), 2U);
    EXPECT_EQ(first_outside(pages, 100, 100, 99), 0U);
    EXPECT_EQ(first_outside(pages, 10, 100, 410), 3U);  // the last page needs no whole pitch
    EXPECT_EQ(first_outside(pages, 10, 100, 409), 2U);
}

TEST(Lists, FirstRepeatedIsExactForNarrowAndWideNumbers) {
    std::mt19937_64 random(11);
    for (auto const spread : {std::int64_t{64}, std::int64_t{1} << 40}) {
        for (int round = 0; round < 300; ++round) {
            std::vector<std::int64_t> pages(random() % 40);
            for (auto& page : pages) {
                page = static_cast<std::int64_t>(random() % 32) * (spread / 32);
            }
            std::optional<std::size_t> expected;
            for (std::size_t i = 0; i < pages.size() && !expected; ++i) {
                if (std::count(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(i), pages[i]) != 0) {
                    expected = i;
                }
            }
            ASSERT_EQ(first_repeated(pages), expected) << "round " << round;
        }
    }
}

TEST(Lists, FirstOverlapIsTheFirstInTheOrderGiven) {
    std::mt19937_64 random(12);
    for (int round = 0; round < 2000; ++round) {
        std::vector<Segment> segments(random() % 12);
        for (auto& segment : segments) {
            segment = {at(random() % 200), at(0), random() % 12};
        }
        std::optional<std::size_t> expected;
        for (std::size_t i = 0; i < segments.size() && !expected; ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                auto const& a = segments[i];
                auto const& b = segments[j];
                if (a.bytes != 0 && b.bytes != 0 && a.to < b.to + b.bytes && b.to < a.to + a.bytes) {
                    expected = i;
                }
            }
        }
        ASSERT_EQ(first_overlap(segments), expected) << "round " << round;
    }
}

TEST(Lists, MergedKeepsOrderAndBytes) {
    std::vector<Segment> const segments{{at(0), at(100), 10}, {at(10), at(110), 5}, {at(15), at(115), 0},
                                        {at(15), at(200), 5}, {at(20), at(205), 5}, {at(40), at(210), 5}};
    EXPECT_EQ(merged(segments),
              (std::vector<Segment>{{at(0), at(100), 15}, {at(15), at(200), 10}, {at(40), at(210), 5}}));
    EXPECT_EQ(in_pieces(merged(segments), 10),
              (std::vector<Segment>{
                  {at(0), at(100), 10}, {at(10), at(110), 5}, {at(15), at(200), 10}, {at(40), at(210), 5}}));
    EXPECT_EQ(runs_of(std::vector<std::int64_t>{5, 6, 7, 9}, std::vector<std::int64_t>{1, 2, 4, 6}), 3U);
    EXPECT_EQ(runs_of({}, {}), 0U);
}

}  // namespace
}  // namespace peerlane::move
