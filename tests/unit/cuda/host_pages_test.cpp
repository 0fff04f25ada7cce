#include "driver/cuda/host_pages.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

namespace peerlane::cuda {
namespace {

TEST(HostPages, OfTheFirstNodeAreWholePagesThatCanBeWritten) {
    auto const pages = map_pages(5000, 0);
    ASSERT_NE(pages.base, nullptr);
    EXPECT_GE(pages.bytes, 5000U);
    EXPECT_EQ(pages.bytes % 4096, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages.base) % 4096, 0U);
    std::memset(pages.base, 0x5a, pages.bytes);
    EXPECT_EQ(static_cast<unsigned char*>(pages.base)[4999], 0x5a);
    unmap_pages(pages.base, pages.bytes);
}

TEST(HostPages, OfANodeThatNoMachineHasAreRefused) {
    EXPECT_THROW((void)map_pages(4096, -1), std::invalid_argument);
    EXPECT_THROW((void)map_pages(4096, 1 << 20), std::invalid_argument);
}

TEST(HostPages, MoreThanAnAddressSpaceHoldsAreNone) {
    EXPECT_EQ(map_pages(~std::uint64_t{0}, 0).base, nullptr);
    EXPECT_EQ(map_pages(std::uint64_t{1} << 62, 0).base, nullptr);
}

}  // namespace
}  // namespace peerlane::cuda
