// Regret and error of prediction on a moderate subset; bench/regret does all of it.

#include "regret/regret.hpp"

#include <gtest/gtest.h>
#include <peerlane/named.hpp>

namespace peerlane::regret {
namespace {

void expect_good(const std::vector<Row>& rows) {
    auto const all = summarize(rows);
    ASSERT_GT(all.rows, 20U);
    EXPECT_LE(all.regret_median, 1.01);
    EXPECT_LE(all.regret_p99, 1.06);
    EXPECT_LE(all.regret_worst, 1.20);
    EXPECT_LE(all.error_median, 0.03);
    EXPECT_LE(all.error_p95, 0.10);
    for (auto const& row : rows) {
        if (row.regret() > 1.20) {
            ADD_FAILURE() << row.machine << " " << to_string(row.from) << " > " << to_string(row.to) << " " << row.bytes
                          << " bytes: regret " << row.regret() << ", chosen " << row.chosen << ", best " << row.best;
        }
    }
}

TEST(Regret, OnShippedMachines) {
    Questions questions;
    questions.sizes = sizes(4);
    questions.runs = 1;
    questions.quick = true;
    questions.pairs = 2;
    std::vector<Row> rows;
    for (auto const* name : {"h200-pair", "v100-partial-mesh", "a100-pcie-pairs-4", "gb200-4"}) {
        auto const some = judge({name, load_machine(name), {}}, questions);
        rows.insert(rows.end(), some.begin(), some.end());
    }
    expect_good(rows);
}

TEST(Regret, OnRandomMachinesThatDoWhatNoModelKnows) {
    Questions questions;
    questions.sizes = sizes(6);
    questions.runs = 1;
    questions.quick = true;
    questions.pairs = 1;
    std::vector<Row> rows;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        auto const some = judge(random_trial(seed), questions);
        rows.insert(rows.end(), some.begin(), some.end());
    }
    expect_good(rows);
}

TEST(Regret, EqualSeedsGiveEqualMachines) {
    EXPECT_EQ(random_trial(7).name, random_trial(7).name);
    EXPECT_NE(random_trial(7).name, random_trial(8).name);
}

}  // namespace
}  // namespace peerlane::regret
