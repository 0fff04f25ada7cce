// A copy engine does one copy at a time: which copies wait for which.
#include "driver/sim/lanes.hpp"

#include <gtest/gtest.h>

#include <peerlane/units.hpp>

#include "unit/sim/pair.hpp"

namespace peerlane {
namespace {

using namespace testing_sim;
using sim::Lanes;

TEST(SimLanes, OneAtATimeInOrderOfReadiness) {
    Lanes lanes(2, 3);
    EXPECT_TRUE(lanes.join(1, 0, {lanes.to_host(0)}));
    EXPECT_FALSE(lanes.join(2, 0, {lanes.to_host(0)}));
    EXPECT_FALSE(lanes.join(3, 0, {lanes.to_host(0)}));
    EXPECT_TRUE(lanes.join(4, 0, {lanes.from_host(0)})) << "the other direction has an engine of its own";
    std::vector<Lanes::Copy> next;
    lanes.leave(1, next);
    EXPECT_EQ(next, (std::vector<Lanes::Copy>{2}));
    next.clear();
    lanes.leave(2, next);
    EXPECT_EQ(next, (std::vector<Lanes::Copy>{3}));
}

// 1 and 2 are pushed by different devices; 3 needs the engine of 1 and the pair of 2, and goes when both have ended.
TEST(SimLanes, ACopyIsFirstInAllItsLanes) {
    Lanes lanes(3, 3);
    EXPECT_TRUE(lanes.join(1, 0, {lanes.peers(0, 1, true, false), lanes.pair(0, 1)}));
    EXPECT_TRUE(lanes.join(2, 2, {lanes.peers(2, 0, true, false), lanes.pair(2, 0)}));
    EXPECT_FALSE(lanes.join(3, 0, {lanes.peers(0, 2, true, false), lanes.pair(2, 0)}));
    std::vector<Lanes::Copy> next;
    lanes.leave(1, next);
    EXPECT_TRUE(next.empty());
    lanes.leave(2, next);
    EXPECT_EQ(next, (std::vector<Lanes::Copy>{3}));
}

TEST(SimLanes, NoMoreOfADeviceThanItHasEngines) {
    Lanes lanes(5, 2);
    EXPECT_TRUE(lanes.join(1, 0, {lanes.peers(0, 1, false, false), lanes.pair(0, 1)}));
    EXPECT_TRUE(lanes.join(2, 0, {lanes.peers(0, 2, false, false), lanes.pair(0, 2)}));
    EXPECT_FALSE(lanes.join(3, 0, {lanes.peers(0, 3, false, false), lanes.pair(0, 3)}));
    EXPECT_FALSE(lanes.join(4, 0, {lanes.peers(0, 4, false, false), lanes.pair(0, 4)}));
    EXPECT_TRUE(lanes.join(5, 1, {lanes.to_host(1)})) << "another device";
    std::vector<Lanes::Copy> next;
    lanes.leave(2, next);
    EXPECT_EQ(next, (std::vector<Lanes::Copy>{3}));
    lanes.clear();
    EXPECT_TRUE(lanes.join(6, 0, {lanes.peers(0, 1, false, false), lanes.pair(0, 1)})) << "nothing is left behind";
    EXPECT_TRUE(lanes.join(7, 0, {lanes.peers(0, 2, false, false), lanes.pair(0, 2)}));
}

TEST(SimLanes, AnEngineKeepsThePairWhileItHasMore) {
    Lanes lanes(2, 3);
    auto const push = lanes.peers(0, 1, true, false), pull = lanes.peers(1, 0, true, true), pair = lanes.pair(0, 1);
    EXPECT_TRUE(lanes.join(1, 1, {pull, pair}));
    EXPECT_FALSE(lanes.join(2, 0, {push, pair}));
    EXPECT_FALSE(lanes.join(3, 1, {pull, pair}));
    EXPECT_FALSE(lanes.join(4, 0, {push, pair}));
    std::vector<Lanes::Copy> order;
    for (Lanes::Copy const ended : {1U, 3U, 2U}) {
        lanes.leave(ended, order);
    }
    EXPECT_EQ(order, (std::vector<Lanes::Copy>{3, 2, 4}));
}

TEST(SimLanes, ADevicePushesAndPullsAtOnce) {
    Lanes lanes(2, 3);
    EXPECT_TRUE(lanes.join(1, 0, {lanes.peers(0, 1, true, false), lanes.pair(0, 1)}));
    EXPECT_TRUE(lanes.join(2, 0, {lanes.peers(0, 1, true, true), lanes.pair(1, 0)}));
}

/// When each of these copies of 256 MiB ended, in multiples of one alone.
std::vector<double> ends(Driver& driver, const std::vector<std::array<int, 3>>& copies) {
    constexpr auto bytes = 256_MiB;
    std::vector<Allocation> memory;
    std::vector<Stream> streams;
    std::vector<Event> done;
    for (auto const& [from, to, issuer] : copies) {
        driver.enable_access({from, to});
        driver.enable_access({to, from});
        memory.emplace_back(driver, AllocationRequest{gpu(from), bytes});
        memory.emplace_back(driver, AllocationRequest{gpu(to), bytes});
        streams.emplace_back(driver, issuer);
        done.emplace_back(driver, issuer);
    }
    auto const start = driver.now();
    for (std::size_t i = 0; i < copies.size(); ++i) {
        driver.copy(streams[i].view(), {memory[2 * i + 1].location(), memory[2 * i].location(), bytes, CopyApi::peer});
        driver.record(done[i].view(), streams[i].view());
    }
    std::vector<double> seconds(copies.size());
    for (auto left = copies.size(); left > 0;) {
        for (std::size_t i = 0; i < copies.size(); ++i) {
            if (seconds[i] == 0 && driver.query(done[i].view())) {
                seconds[i] = driver.now() - start;
                --left;
            }
        }
    }
    return seconds;
}

// As two H200 do it: the second copy of a direction starts when the first has ended, even where it is pulled.
TEST(SimLanes, CopiesOfOneDirectionOfAPairComeOneAfterTheOther) {
    if (test_progress == SimProgress::host_pauses) {
        GTEST_SKIP() << "a time, and the host pauses";
    }
    auto const alone = ends(*open_switched(2), {{0, 1, 0}})[0];
    auto const seen = ends(*open_switched(2), {{0, 1, 0}, {0, 1, 0}, {0, 1, 1}, {1, 0, 1}});
    EXPECT_NEAR(seen[0] / alone, 1.0, 0.03);
    EXPECT_NEAR(seen[1] / alone, 2.0, 0.03);
    EXPECT_NEAR(seen[2] / alone, 3.0, 0.05);
}

TEST(SimLanes, BehindASwitchAllPeersHaveOneEngine) {
    if (test_progress == SimProgress::host_pauses) {
        GTEST_SKIP() << "a time, and the host pauses";
    }
    auto const alone = ends(*open_switched(3), {{0, 1, 0}})[0];
    auto const seen = ends(*open_switched(3), {{0, 1, 0}, {0, 2, 0}, {1, 2, 1}});
    EXPECT_NEAR(seen[0] / alone, 1.0, 0.03);
    EXPECT_NEAR(seen[1] / alone, 2.0, 0.6) << "its last part shares the port of device 2";
    EXPECT_GT(seen[1] / alone, 1.9);
    EXPECT_NEAR(seen[2] / alone, 1.0, 0.03);
}

}  // namespace
}  // namespace peerlane
