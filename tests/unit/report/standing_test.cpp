// What a data direction has, and which one to look at first.

#include <gtest/gtest.h>

#include <peerlane/named.hpp>

#include "report/standing.hpp"
#include "verdicts.hpp"

namespace peerlane::report {
namespace {

using report_tests::all_right;

Verdicts four() {
    return all_right(load_machine("a100-pcie-pairs-4").machine());
}

TEST(Standing, OfADirectionIsThatOfTheChecksThatServeIt) {
    auto verdicts = four();
    EXPECT_EQ(standing(verdicts, 0, 1), Standing::ok);
    EXPECT_STREQ(word_of(verdicts, 0, 1), "ok");
    (*verdicts.pair(0, 1))[Check::push].result = Result::wrong;
    judge(verdicts);
    EXPECT_EQ(standing(verdicts, 0, 1), Standing::bad);
    EXPECT_STREQ(word_of(verdicts, 0, 1), "part");
    EXPECT_EQ(standing(verdicts, 1, 0), Standing::ok) << "a push of 0:1 carries data from 0 to 1 alone";
    verdicts = four();
    (*verdicts.pair(0, 1))[Check::load].result = Result::hang;
    judge(verdicts);
    EXPECT_EQ(standing(verdicts, 1, 0), Standing::bad) << "0 loads what comes from 1";
    EXPECT_EQ(standing(verdicts, 0, 1), Standing::ok);
    verdicts = four();
    (*verdicts.pair(2, 3))[Check::flag].result = Result::hang;
    judge(verdicts);
    EXPECT_EQ(standing(verdicts, 2, 3), Standing::bad);
    EXPECT_EQ(standing(verdicts, 3, 2), Standing::bad) << "a flag is both directions'";
}

TEST(Standing, WithoutPeerAccessTheHostIsTheWay) {
    auto verdicts = four();
    for (auto const& [a, b] : {std::pair(0, 1), std::pair(1, 0)}) {
        for (auto const check : all_checks) {
            (*verdicts.pair(a, b))[check] = CheckResult{check == Check::claim ? Result::no : Result::skipped};
        }
    }
    judge(verdicts);
    EXPECT_EQ(standing(verdicts, 0, 1), Standing::by_design);
    EXPECT_EQ(rate(verdicts, 0, 1), 40);
    EXPECT_EQ(use_in_words(verdicts, 0, 1), "staged through the host");
    for (auto& arm : verdicts.control) {
        arm.staged.result = Result::wrong;
    }
    judge(verdicts);
    EXPECT_EQ(standing(verdicts, 0, 1), Standing::none);
    EXPECT_EQ(rate(verdicts, 0, 1), std::nullopt);
    EXPECT_EQ(standing(Verdicts{}, 0, 1), Standing::unknown);
    EXPECT_EQ(use_in_words(Verdicts{}, 0, 1), "not proven");
}

TEST(Standing, TheWorstDirectionComesFirst) {
    EXPECT_EQ(worst_direction(Verdicts{}), std::nullopt);
    auto verdicts = four();
    EXPECT_EQ(worst_direction(verdicts), std::pair(0, 1)) << "of equals the lowest numbers";
    for (auto const check : {Check::push, Check::store}) {
        (*verdicts.pair(3, 1))[check].gbs = 200;
    }
    for (auto const check : {Check::pull, Check::load}) {
        (*verdicts.pair(1, 3))[check].gbs = 200;
    }
    judge(verdicts);
    EXPECT_EQ(worst_direction(verdicts), std::pair(3, 1)) << "the slowest of those that are right";
    (*verdicts.pair(2, 0))[Check::store].result = Result::no;
    judge(verdicts);
    EXPECT_EQ(worst_direction(verdicts), std::pair(2, 0)) << "less than all before slow";
    (*verdicts.pair(0, 3))[Check::pull].result = Result::wrong;
    judge(verdicts);
    EXPECT_EQ(worst_direction(verdicts), std::pair(3, 0)) << "wrong before less; 0 pulls what comes from 3";
}

TEST(Standing, OfADeviceIsWhatItsDirectionsHaveTogether) {
    auto verdicts = four();
    auto const of = [&](int device) {
        auto const both = standing_of_device(verdicts, device);
        return std::pair(both.all, both.most);
    };
    EXPECT_EQ(of(0), std::pair(Standing::ok, Standing::ok));
    EXPECT_EQ(standing_of_device(Verdicts{}, 0).all, Standing::unknown);
    (*verdicts.pair(0, 1))[Check::push].result = Result::wrong;
    judge(verdicts);
    EXPECT_EQ(of(0), std::pair(Standing::part, Standing::ok)) << "one bad neighbour is not a bad device";
    EXPECT_EQ(of(2), std::pair(Standing::ok, Standing::ok));
    for (auto& pair : verdicts.pairs) {
        if (pair.accessor == 3 || pair.owner == 3) {
            pair[Check::atomic].result = Result::error;
        }
    }
    EXPECT_EQ(of(3), std::pair(Standing::bad, Standing::bad));
    EXPECT_EQ(of(0), std::pair(Standing::part, Standing::ok)) << "three of its six directions";
}

}  // namespace
}  // namespace peerlane::report
