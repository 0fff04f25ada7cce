/// The device code of the kernels, compiled for the host (host_device/) and run thread by thread: every alignment of
/// both sides, every width, sizes around all boundaries. Ranges end where the heap block ends, so that a sanitizer sees
/// a read or write beyond them; guard bytes see the writes without one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/add.cu"
#include "kernels/chase.cu"
#include "kernels/check.cu"
#include "kernels/copy.cu"
#include "kernels/fill.cu"
#include "kernels/line.cu"
#include "kernels/pages.cu"
#include "kernels/scribble.cu"
#include "kernels/segments.cu"
#include "kernels/strided.cu"
#include "kernels/token.cu"
#include "kernels/touch.cu"

namespace peerlane::cuda {
namespace {

/// `bytes` bytes of which the first lies at `misalignment` past a multiple of 16, with guards when there is no
/// sanitizer.
class Range {
  public:
    Range(std::size_t misalignment, std::size_t bytes) : block_(misalignment + bytes, guard), skip_(misalignment) {}
    [[nodiscard]] unsigned char* data() { return block_.data() + skip_; }
    [[nodiscard]] Address address() { return address_of(data()); }
    [[nodiscard]] std::size_t size() const { return block_.size() - skip_; }
    [[nodiscard]] bool untouched_before() const {
        return std::all_of(block_.begin(), block_.begin() + static_cast<std::ptrdiff_t>(skip_),
                           [](unsigned char byte) { return byte == guard; });
    }

  private:
    static constexpr unsigned char guard = 0xc3;
    std::vector<unsigned char> block_;  // operator new aligns to 16
    std::size_t skip_;
};

const std::vector<std::size_t> sizes = {1,  2,  3,  4,  5,  7,  8,  9,  12, 15,  16,  17,
                                        19, 20, 23, 31, 32, 33, 63, 64, 65, 100, 255, 1031};
constexpr unsigned widths[] = {4, 8, 16};
const std::vector<LaunchShape> shapes = {{1, 1}, {3, 5}, {2, 32}, {0, 64}};

Pattern const data{0x1234, 3}, poison{0x9876, 11};

TEST(DeviceCodeCopy, EveryAlignmentWidthSizeAndShapeGivesTheSameBytes) {
    for (std::size_t from_at = 0; from_at < 16; ++from_at) {
        for (std::size_t to_at = 0; to_at < 16; ++to_at) {
            for (auto const bytes : sizes) {
                for (auto const width : widths) {
                    auto const& shape = shapes[(from_at + to_at + bytes + width) % shapes.size()];
                    Range from(from_at, bytes), to(to_at, bytes);
                    write_pattern(data, from.data(), bytes);
                    CopyArguments const arguments{to.address(), from.address(), bytes, width};
                    ASSERT_EQ(device_code_copy.launch({nullptr, 2, shape}, &arguments), cudaSuccess);
                    ASSERT_EQ(check_pattern(to.data(), bytes, data, poison), CheckOutcome{})
                        << from_at << " to " << to_at << ", " << bytes << " bytes, width " << width;
                    ASSERT_TRUE(to.untouched_before());
                }
            }
        }
    }
}

/// Bytes of all destinations after a host loop over the same rows.
struct Rows {
    Range from, to;
    std::vector<unsigned char> expected;
    Rows(std::size_t from_at, std::size_t to_at, std::size_t bytes) : from(from_at, bytes), to(to_at, bytes) {
        write_pattern(data, from.data(), bytes);
        write_pattern(poison, to.data(), bytes);
        expected.assign(to.data(), to.data() + bytes);
    }
    void expect(std::size_t to_offset, std::size_t from_offset, std::size_t bytes) {
        std::copy_n(from.data() + from_offset, bytes, expected.begin() + static_cast<std::ptrdiff_t>(to_offset));
    }
    [[nodiscard]] bool right() {
        return std::equal(expected.begin(), expected.end(), to.data()) && to.untouched_before();
    }
};

TEST(DeviceCodeDivisor, QuotientsAreThoseOfDivision) {
    std::mt19937_64 random(8);
    for (int round = 0; round < 20000; ++round) {
        auto const by = std::max<std::uint64_t>(random() >> (2 + random() % 62), 1);
        Divisor const divisor(by);
        auto const number = random() >> (1 + random() % 63);
        for (auto const n : {number, number / by * by, number / by * by + by - 1, std::uint64_t{0}, by}) {
            if (n < std::uint64_t{1} << 63) {
                ASSERT_EQ(divisor.quotient(n), n / by) << n << " / " << by;
            }
        }
    }
}

TEST(DeviceCodePages, EveryUnitPageAndShapeGivesWhatAHostLoopGives) {
    std::mt19937 random(3);
    for (unsigned const unit : {1U, 2U, 4U, 8U, 16U}) {
        for (std::size_t const units : {1U, 3U, 8U, 32U, 33U}) {
            for (auto const& shape : std::vector<LaunchShape>{{1, 1}, {3, 5}, {2, 32}, {0, 64}, {4, 2048}}) {
                auto const page = unit * units;
                auto const gap = random() % 2 * unit;
                auto const total = 30 * (page + gap);
                Rows rows(unit, 3 * unit % 16, total);
                std::vector<std::int64_t> to(30), from(30);
                for (int i = 0; i < 30; ++i) {
                    to[static_cast<std::size_t>(i)] = from[static_cast<std::size_t>(i)] = i;
                }
                std::shuffle(to.begin(), to.end(), random);
                std::vector<std::int32_t> const to_narrow(to.begin(), to.end());
                auto const narrow = random() % 2 == 0;
                PagesArguments const a{rows.to.address(),
                                       rows.from.address(),
                                       narrow ? address_of(to_narrow.data()) : address_of(to.data()),
                                       Address::null,
                                       23,
                                       1,
                                       page,
                                       page + gap,
                                       page + gap,
                                       narrow ? 4U : 8U,
                                       unit,
                                       false};
                for (std::size_t i = 0; i < 23; ++i) {
                    rows.expect(static_cast<std::size_t>(to[i]) * (page + gap), i * (page + gap), page);
                }
                ASSERT_EQ(device_code_pages.launch({nullptr, 2, shape}, &a), cudaSuccess);
                ASSERT_TRUE(rows.right()) << "unit " << unit << ", pages of " << page;
            }
        }
    }
}

TEST(DeviceCodePages, LayersHaveTheirOwnBases) {
    Rows rows(0, 0, 4096);
    std::vector<std::uint64_t> to, from;
    std::vector<std::int32_t> const index{2, 0, 5};
    for (std::size_t layer = 0; layer < 4; ++layer) {
        to.push_back(static_cast<std::uint64_t>(rows.to.address()) + layer * 1024);
        from.push_back(static_cast<std::uint64_t>(rows.from.address()) + (3 - layer) * 1024);
        for (std::size_t i = 0; i < 3; ++i) {
            rows.expect(layer * 1024 + i * 48, (3 - layer) * 1024 + static_cast<std::size_t>(index[i]) * 64, 48);
        }
    }
    PagesArguments const a{address_of(to.data()),
                           address_of(from.data()),
                           Address::null,
                           address_of(index.data()),
                           3,
                           4,
                           48,
                           48,
                           64,
                           4,
                           16,
                           true};
    ASSERT_EQ(device_code_pages.launch({nullptr, 2, {2, 32}}, &a), cudaSuccess);
    EXPECT_TRUE(rows.right());
}

TEST(DeviceCodeSegments, AnyLengthAndAlignmentWithAndWithoutAKnownMost) {
    std::mt19937 random(4);
    for (int round = 0; round < 200; ++round) {
        Rows rows(random() % 16, random() % 16, 90000);
        std::vector<std::uint64_t> to, from, bytes;
        std::size_t at = random() % 20;
        while (at < 90000 && to.size() < 40) {
            auto const length = std::min<std::size_t>(random() % 6 == 0 ? random() % 40000 : random() % 70, 90000 - at);
            auto const source = random() % (90000 - length + 1);
            to.push_back(static_cast<std::uint64_t>(rows.to.address()) + at);
            from.push_back(static_cast<std::uint64_t>(rows.from.address()) + source);
            bytes.push_back(length);
            rows.expect(at, source, length);
            at += length + random() % 30;
        }
        SegmentsArguments const a{address_of(to.data()), address_of(from.data()), address_of(bytes.data()), to.size(),
                                  round % 2 == 0 ? 0U : 40000U};
        ASSERT_EQ(
            device_code_segments.launch({nullptr, 2, round % 3 == 0 ? LaunchShape{0, 64} : LaunchShape{3, 5}}, &a),
            cudaSuccess);
        ASSERT_TRUE(rows.right()) << "round " << round;
    }
}

TEST(DeviceCodeStrided, RowsOfRows) {
    for (unsigned const unit : {1U, 4U, 16U}) {
        Rows rows(0, unit, 8000);
        StridedArguments const a{rows.to.address(),      rows.from.address(),   3 * unit, {5, 4},
                                 {4 * unit, 100 * unit}, {unit * 50, unit * 5}, unit};
        for (std::size_t i = 0; i < 4; ++i) {
            for (std::size_t j = 0; j < 5; ++j) {
                rows.expect(i * 100 * unit + j * 4 * unit, i * 5 * unit + j * 50 * unit, 3 * unit);
            }
        }
        ASSERT_EQ(device_code_strided.launch({nullptr, 2, {2, 7}}, &a), cudaSuccess);
        EXPECT_TRUE(rows.right()) << unit;
    }
}

TEST(DeviceCodeFill, WritesThePatternAtEveryAlignmentAndPatternOffset) {
    for (std::size_t at = 0; at < 16; ++at) {
        for (std::uint64_t offset = 0; offset < 9; ++offset) {
            for (auto const bytes : sizes) {
                for (auto const width : widths) {
                    Range to(at, bytes);
                    Pattern const pattern{77, offset};
                    FillArguments const arguments{to.address(), bytes, pattern, width};
                    auto const& shape = shapes[(at + offset + bytes) % shapes.size()];
                    ASSERT_EQ(device_code_fill.launch({nullptr, 2, shape}, &arguments), cudaSuccess);
                    ASSERT_EQ(check_pattern(to.data(), bytes, pattern, poison), CheckOutcome{})
                        << at << ", pattern at " << offset << ", " << bytes << " bytes, width " << width;
                    ASSERT_TRUE(to.untouched_before());
                }
            }
        }
    }
}

TEST(DeviceCodeCheck, CountsWhatTheHostCounts) {
    for (std::size_t at = 0; at < 16; ++at) {
        for (auto const bytes : sizes) {
            Range range(at, bytes);
            for (int damage = 0; damage < 5; ++damage) {
                write_pattern(data, range.data(), bytes);
                auto* const bytes_of = range.data();
                switch (damage) {
                    case 1:
                        bytes_of[bytes - 1] ^= 0x40;
                        break;
                    case 2:
                        std::memset(bytes_of, 0, bytes);
                        break;
                    case 3:
                        write_pattern(poison, bytes_of, bytes);
                        break;
                    case 4:
                        bytes_of[bytes / 2] = 0;
                        bytes_of[bytes / 3] ^= 1;
                        break;
                    default:
                        break;
                }
                CheckOutcome found{1, 2, 3, 4};  // the kernel resets it
                CheckArguments const arguments{range.address(), bytes, data, poison, address_of(&found)};
                // One thread a CTA: this device has no barrier.
                ASSERT_EQ(device_code_check.launch({nullptr, 3, {static_cast<unsigned>(1 + at % 4), 1}}, &arguments),
                          cudaSuccess);
                ASSERT_EQ(found, check_pattern(range.data(), bytes, data, poison))
                    << "damage " << damage << ", at " << at << ", " << bytes << " bytes";
            }
        }
    }
}

TEST(DeviceCode, OfNoBytesTouchesNothing) {
    Range range(0, 16);
    write_pattern(data, range.data(), 16);
    CopyArguments const copy{range.address(), Address::null, 0, 16};
    FillArguments const fill{range.address(), 0, poison, 16};
    EXPECT_EQ(device_code_copy.launch({}, &copy), cudaSuccess);
    EXPECT_EQ(device_code_fill.launch({}, &fill), cudaSuccess);
    EXPECT_EQ(check_pattern(range.data(), 16, data, poison), CheckOutcome{});
    CheckOutcome found{1, 2, 3, 4};
    CheckArguments const check{Address::null, 0, data, poison, address_of(&found)};
    EXPECT_EQ(device_code_check.launch({}, &check), cudaSuccess);
    EXPECT_EQ(found, CheckOutcome{});
}

TEST(DeviceCode, RefusesWidthsThatNoThreadMoves) {
    Range range(0, 16);
    for (auto const width : {0U, 1U, 2U, 3U, 5U, 12U, 32U}) {
        CopyArguments const copy{range.address(), range.address(), 16, width};
        FillArguments const fill{range.address(), 16, data, width};
        EXPECT_EQ(device_code_copy.launch({}, &copy), cudaErrorInvalidValue) << width;
        EXPECT_EQ(device_code_fill.launch({}, &fill), cudaErrorInvalidValue) << width;
    }
}

TEST(DeviceCode, PicksCtasBySizeUpToTheDevice) {
    constexpr int multiprocessors = 132;
    auto const picked = [&](std::size_t bytes, unsigned ctas) {
        Range to(0, bytes), from(0, bytes);
        CopyArguments const arguments{to.address(), from.address(), bytes, 16};
        EXPECT_EQ(device_code_copy.launch({nullptr, multiprocessors, {ctas, 512}}, &arguments), cudaSuccess);
        return ctas_of_last_launch;
    };
    EXPECT_EQ(picked(1, 0), 1U);
    EXPECT_EQ(picked(512 * 64, 0), 1U);
    EXPECT_EQ(picked(512 * 64 + 1, 0), 2U);
    EXPECT_EQ(picked(std::size_t{16} << 20, 0), 132U);
    EXPECT_EQ(picked(1000, 7), 7U);
}

TEST(DeviceCodeTouch, ReadsOnlyWithinTheRangeAndRefusesWhatIsNotAligned) {
    for (auto const& shape : shapes) {
        for (auto const width : widths) {
            for (auto const bytes : sizes) {
                Range from(0, bytes);  // a sanitizer sees a read beyond its end
                TouchArguments const arguments{from.address(), bytes, 2 * width, 3, width};
                EXPECT_EQ(device_code_touch.launch({nullptr, 2, shape}, &arguments), cudaSuccess);
            }
            Range from(0, 64);
            for (auto const& [at, stride] : {std::pair(1U, 2 * width), std::pair(0U, width + 1), std::pair(0U, 0U)}) {
                TouchArguments const arguments{from.address() + at, 32, stride, 1, width};
                EXPECT_EQ(device_code_touch.launch({nullptr, 2, shape}, &arguments), cudaErrorInvalidValue);
            }
        }
    }
}

TEST(DeviceCodeChase, ReadsOnlyWithinTheRangeGoesRoundAndIsBounded) {
    for (std::uint64_t const bytes : {4U, 7U, 8U, 64U, 100U}) {
        for (std::uint64_t const stride : {4U, 8U, 60U, 400U}) {
            Range from(0, bytes);  // a sanitizer sees a read beyond its end
            ChaseArguments const arguments{from.address(), bytes, stride, 57};
            EXPECT_EQ(device_code_chase.launch({nullptr, 2, {}}, &arguments), cudaSuccess);
            EXPECT_EQ(ctas_of_last_launch, 1u);
        }
    }
    Range from(0, 64);
    for (auto const& bad : {ChaseArguments{from.address() + 2, 32, 4, 1}, ChaseArguments{from.address(), 32, 6, 1},
                            ChaseArguments{from.address(), 32, 0, 1}, ChaseArguments{from.address(), 3, 4, 1},
                            ChaseArguments{from.address(), 32, 4, ChaseArguments::most_loads + 1}}) {
        EXPECT_EQ(device_code_chase.launch({nullptr, 2, {}}, &bad), cudaErrorInvalidValue);
    }
}

TEST(DeviceCodeLineAndScribble, OneReadsAWordTheOtherWritesIt) {
    std::uint32_t words[3] = {5, 7, 9};
    LineArguments line{address_of(&words[1]), 3};
    EXPECT_EQ(device_code_line.launch({nullptr, 2, {4, 64}}, &line), cudaSuccess);
    ScribbleArguments scribble{address_of(&words[1]), 1000};
    EXPECT_EQ(device_code_scribble.launch({nullptr, 2, {4, 64}}, &scribble), cudaSuccess);
    EXPECT_EQ(words[0], 5u);
    EXPECT_EQ(words[1], 999u) << "the last number";
    EXPECT_EQ(words[2], 9u);
    line.batches = LineArguments::most_batches + 1;
    scribble.stores = ScribbleArguments::most_stores + 1;
    EXPECT_EQ(device_code_line.launch({nullptr, 2, {}}, &line), cudaErrorInvalidValue);
    EXPECT_EQ(device_code_scribble.launch({nullptr, 2, {}}, &scribble), cudaErrorInvalidValue);
    line = {address_of(words) + 2, 1};
    EXPECT_EQ(device_code_line.launch({nullptr, 2, {}}, &line), cudaErrorInvalidValue);
}

TEST(DeviceCodeAdd, EveryLaneAddsOnceInEveryRoundWhateverTheShape) {
    for (auto const& shape : shapes) {
        for (std::uint32_t const lanes : {0u, 1u, 7u, 64u, 129u}) {
            std::uint32_t words[3] = {5, 0xfffffff0u, 9};
            AddArguments const arguments{address_of(&words[1]), lanes, 13};
            ASSERT_EQ(device_code_add.launch({nullptr, 2, shape}, &arguments), cudaSuccess);
            EXPECT_EQ(words[1], 0xfffffff0u + lanes * 13);
            EXPECT_EQ(words[0], 5u);
            EXPECT_EQ(words[2], 9u);
        }
    }
    std::uint32_t words[2] = {0, 0};
    AddArguments const astride{address_of(words) + 2, 1, 1};
    EXPECT_NE(device_code_add.launch({nullptr, 1, {}}, &astride), cudaSuccess);
}

TEST(DeviceCodeToken, OneSideTakesTokensThatLieThereAndStopsAtWhatIsNone) {
    std::uint32_t mine = 41, other = 0;
    TokenOutcome outcome{9, 9};
    TokenArguments arguments{address_of(&mine), address_of(&other), address_of(&outcome), 41, 1, 0, 1e-3};
    ASSERT_EQ(device_code_token.launch({nullptr, 1, {}}, &arguments), cudaSuccess);
    EXPECT_EQ(outcome, (TokenOutcome{1, 41}));
    EXPECT_EQ(other, 41u);
    arguments.rounds = 2;  // the second one never comes
    ASSERT_EQ(device_code_token.launch({nullptr, 1, {}}, &arguments), cudaSuccess);
    EXPECT_EQ(outcome, (TokenOutcome{1, 41}));
    mine = 77;
    other = 0;
    ASSERT_EQ(device_code_token.launch({nullptr, 1, {}}, &arguments), cudaSuccess);
    EXPECT_EQ(outcome, (TokenOutcome{0, 77}));
    EXPECT_EQ(other, 0u) << "not handed on";
    arguments.starts = 1;
    arguments.first = 77;
    ASSERT_EQ(device_code_token.launch({nullptr, 1, {}}, &arguments), cudaSuccess);
    EXPECT_EQ(outcome, (TokenOutcome{1, 77}));
    EXPECT_EQ(other, 78u) << "the next one is sent before it waits";
    arguments.budget_s = -1;
    EXPECT_NE(device_code_token.launch({nullptr, 1, {}}, &arguments), cudaSuccess);
}

}  // namespace
}  // namespace peerlane::cuda
