/// The device code of the kernels, compiled for the host (host_device/) and run thread by thread: every alignment of
/// both sides, every width, sizes around all boundaries. Ranges end where the heap block ends, so that a sanitizer sees
/// a read or write beyond them; guard bytes see the writes without one.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/add.cu"
#include "kernels/check.cu"
#include "kernels/copy.cu"
#include "kernels/fill.cu"
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
