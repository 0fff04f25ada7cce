#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "table.hpp"

namespace peerlane::validation {
namespace {

const std::string published = std::string(PEERLANE_SHARED_DIR) + "/facts/published";

void expect_bounds(std::vector<Table> tables) {
    for (auto& table : tables) {
        fill(table);
        auto const result = errors(table);
        EXPECT_TRUE(keeps(table)) << table.machine << ", " << table.title
                                  << fmt::format(": median {:.1f} %, worst {:.1f} %", 100 * result.median,
                                                 100 * result.worst)
                                  << (result.worst_cell == nullptr ? "" : ", " + result.worst_cell->name);
    }
}

class Published : public testing::TestWithParam<const char*> {};

/// Each published machine within the bounds that docs/validation.md states.
TEST_P(Published, KeepsItsBounds) {
    auto const file = fmt::format("{}/{}.json", published, GetParam());
    if (!std::filesystem::exists(file)) {
        GTEST_SKIP() << "the published tables are not beside the project";
    }
    auto const tables = read_published(file);
    ASSERT_FALSE(tables.empty());
    expect_bounds(tables);
}

INSTANTIATE_TEST_SUITE_P(Machines, Published,
                         testing::Values("a100-pcie-pairs-vm", "a6000-x6-dual-socket", "dgx-1v", "dgx-2-staged",
                                         "gb200-nvl4", "h800", "hgx-h100", "lumi-g-mi250x", "mi300x-x8", "pex890xx",
                                         "rtx3090-x8-no-p2p", "rtx4090-dual-epyc", "six-gpu-p2p-hurts",
                                         "switchtec-flat", "switchtec-root-leaf", "v100-partial-mesh"));

TEST(Pair, KeepsItsBounds) {
    expect_bounds(pair_tables());
}

}  // namespace
}  // namespace peerlane::validation
