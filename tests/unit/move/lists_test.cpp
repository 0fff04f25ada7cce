/// Lists of blocks before anything is submitted: checks, runs, merging, pieces.

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "move/lists.hpp"

namespace peerlane::move {
namespace {

Address at(std::uint64_t value) {
    return Address{value};
}

PageNumbers wide(const std::vector<std::int64_t>& numbers) {
    return {PageIndices(numbers.data()), numbers.size()};
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
    std::vector<std::int64_t> const numbers{0, 3, 4, -1};
    auto const pages = wide(numbers);
    EXPECT_EQ(first_outside(pages, 100, 100, 500), 3U);  // five pages fit
    EXPECT_EQ(first_outside(pages, 100, 100, 499), 2U);
    EXPECT_EQ(first_outside(pages, 100, 100, 99), 0U);
    EXPECT_EQ(first_outside(pages, 10, 100, 410), 3U);  // the last page needs no whole pitch
    EXPECT_EQ(first_outside(pages, 10, 100, 409), 2U);
    std::vector<std::int32_t> const narrow{0, 3, 4, -1};
    EXPECT_EQ(first_outside({PageIndices(narrow.data()), 4}, 100, 100, 500), 3U);
    EXPECT_EQ(first_outside({PageIndices(narrow.data()), 3}, 100, 100, 500), std::nullopt);
    EXPECT_EQ(first_outside({PageIndices{}, 6}, 100, 100, 500), 5U);
}

TEST(Lists, NumbersAreTheGivenOnesInAnyWidth) {
    std::vector<std::int32_t> const narrow{7, 0, 2147483647};
    PageNumbers const view(PageIndices(narrow.data()), narrow.size());
    EXPECT_EQ(view[2], 2147483647);
    EXPECT_EQ(view.most(), 2147483647);
    EXPECT_FALSE(view.counting());
    std::vector<unsigned char> raw(16, 0);
    raw[8] = 5;
    PageNumbers const own(std::move(raw), 8);
    PageNumbers const copy = own;
    EXPECT_EQ(copy.size(), 2U);
    EXPECT_EQ(copy[1], 5);
    EXPECT_NE(copy.at(), own.at());
    PageNumbers const counting(PageIndices{}, 4);
    EXPECT_TRUE(counting.counting());
    EXPECT_EQ(counting[3], 3);
    EXPECT_EQ(counting.most(), 3);
    auto const wider = view.in_width(8);
    std::int64_t last = 0;
    std::memcpy(&last, wider.data() + 16, 8);
    EXPECT_EQ(last, 2147483647);
    EXPECT_EQ(own.in_width(4), (std::vector<unsigned char>{0, 0, 0, 0, 5, 0, 0, 0}));
    PageIndices odd(narrow.data());
    odd.bytes = 2;
    EXPECT_THROW((void)PageNumbers(odd, 3), std::invalid_argument);
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
            ASSERT_EQ(first_repeated(wide(pages)), expected) << "round " << round;
            if (spread == 64) {
                std::vector<std::int32_t> const narrow(pages.begin(), pages.end());
                ASSERT_EQ(first_repeated({PageIndices(narrow.data()), narrow.size()}), expected);
            }
        }
    }
}

// Long lists are looked at in blocks, and with a bit a page where all pages are known to be inside.
TEST(Lists, LongListsNameTheFirstBadNumberToo) {
    std::mt19937_64 random(13);
    for (auto const count : {511U, 512U, 513U, 1024U, 5000U}) {
        for (int round = 0; round < 20; ++round) {
            std::vector<std::int64_t> pages(count);
            std::iota(pages.begin(), pages.end(), 0);
            std::shuffle(pages.begin(), pages.end(), random);
            auto const room = pages_inside(100, 100, std::uint64_t{count} * 100);
            EXPECT_EQ(room, count);
            EXPECT_EQ(first_outside(wide(pages), 100, 100, std::uint64_t{count} * 100), std::nullopt);
            EXPECT_EQ(first_repeated(wide(pages), room), std::nullopt);
            EXPECT_EQ(runs_of(wide(pages), wide(pages), 10) > 10, runs_of(wide(pages), wide(pages)) > 10);
            auto bad = pages;
            auto const first = random() % count, second = random() % count;
            bad[first] = round % 2 == 0 ? -1 : std::int64_t{count};
            bad[second] = std::int64_t{1} << 40;
            EXPECT_EQ(first_outside(wide(bad), 100, 100, std::uint64_t{count} * 100), std::min(first, second));
            auto twice = pages;
            twice[std::max(first, second)] = twice[std::min(first, second)];
            if (first != second) {
                EXPECT_EQ(first_repeated(wide(twice), room), std::max(first, second));
                EXPECT_EQ(first_repeated(wide(twice)), std::max(first, second));
                std::vector<std::int32_t> const narrow(twice.begin(), twice.end());
                EXPECT_EQ(first_repeated({PageIndices(narrow.data()), narrow.size()}, room), std::max(first, second));
            }
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
    std::vector<std::int64_t> const to{5, 6, 7, 9}, from{1, 2, 4, 6};
    EXPECT_EQ(runs_of(wide(to), wide(from)), 3U);
    std::vector<std::int32_t> const narrow{1, 2, 3, 4};
    EXPECT_EQ(runs_of(wide(to), {PageIndices(narrow.data()), 4}), 2U);
    EXPECT_EQ(runs_of({PageIndices{}, 4}, {PageIndices(narrow.data()), 4}), 1U);
    EXPECT_EQ(runs_of({}, {}), 0U);
}

}  // namespace
}  // namespace peerlane::move
