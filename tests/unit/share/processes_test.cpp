// Real processes that share memory in files without a name; each is killed at every step of the other.

#include <cstring>
#include <stdexcept>
#include <vector>

#include <peerlane/error.hpp>
#include <peerlane/peering.hpp>
#include <peerlane/units.hpp>

#include "support.hpp"

namespace peerlane::share_tests {
namespace {

constexpr std::uint64_t bytes = 256_KiB;
constexpr double close_s = 30;

void write(void* at, std::uint64_t key) {
    write_pattern({key, 0}, at, bytes);
}
bool holds(const void* at, std::uint64_t key) {
    return check_pattern(at, bytes, {key, 0}, {}).bad == 0;
}

/// One side of an exchange both ways, step by step; `before` is called with the number of each step.
constexpr int steps = 9;
bool exchange(Share& share, PeerChannel channel, std::uint64_t mine, std::uint64_t theirs,
              const std::function<void(int)>& before) {
    before(0);
    auto* const data = static_cast<char*>(share.allocate_host(bytes + 4096)) + 4096;
    write(data, mine);
    Peering peering(share, std::move(channel));
    before(1);
    auto const id = peering.offer(data, bytes);
    before(2);
    auto imported = peering.take(0, limit_s);
    before(3);
    peering.settle(id, limit_s);
    before(4);
    peering.send("ready");
    auto good = peering.receive(limit_s) == "ready" && holds(imported.data(), theirs);
    before(5);
    peering.send("seen");
    good = peering.receive(limit_s) == "seen" && good;
    before(6);
    write(imported.data(), mine + 100);  // into the other's memory
    peering.send("written");
    good = peering.receive(limit_s) == "written" && holds(data, theirs + 100) && good;
    before(7);
    peering.close(std::move(imported));
    before(8);
    peering.withdraw(id, close_s);
    share.free_host(data - 4096);
    return good && share.findings().empty();
}

/// The other process: dies before step `dies_at`.
int peer(const std::string& path, int dies_at) {
    auto const driver = open_pair();
    Share share(*driver);
    return exchange(share, PeerChannel::connect(path, limit_s), 2, 1,
                    [&](int step) {
                        if (step == dies_at) {
                            ::kill(::getpid(), SIGKILL);
                        }
                    })
               ? 0
               : 1;
}

class Processes : public testing::TestWithParam<int> {};

TEST(Processes, ExchangeBothWays) {
    Folder const folder;
    Child child([&] { return peer(folder / "meet", -1); });
    Listener listener(folder / "meet");
    auto channel = listener.accept(limit_s);
    ASSERT_TRUE(channel);
    auto const driver = open_pair();
    Share share(*driver);
    EXPECT_TRUE(exchange(share, *std::move(channel), 1, 2, [](int) {}));
    EXPECT_EQ(child.join(), 0);
    EXPECT_EQ(mapped_segments(), 0);
}

TEST_P(Processes, APeerKilledAtAnyStepIsToldAndNothingIsLeft) {
    Folder const folder;
    auto const path = folder / "meet";
    auto const driver = open_pair();
    Listener listener(path);
    {
        Child child([&] { return peer(path, GetParam()); });
        auto channel = listener.accept(limit_s);
        ASSERT_TRUE(channel);
        Share share(*driver);
        // Whatever was under way: an error that names the process, or all was done before it died.
        auto told = false;
        try {
            exchange(share, *std::move(channel), 1, 2, [](int) {});
        } catch (const PeerGone& gone) {
            told = true;
            EXPECT_EQ(gone.process(), child.process());
        }
        EXPECT_TRUE(told || GetParam() == steps - 1);
        for (auto const& finding : share.findings()) {
            ADD_FAILURE() << finding.code << ": " << finding.evidence[0];
        }
        EXPECT_EQ(child.join(), 128 + SIGKILL);
    }
    EXPECT_EQ(mapped_segments(), 0);
    Child next([&] { return peer(path, -1); });  // the next pair
    auto channel = listener.accept(limit_s);
    ASSERT_TRUE(channel);
    Share share(*driver);
    EXPECT_TRUE(exchange(share, *std::move(channel), 1, 2, [](int) {}));
    EXPECT_EQ(next.join(), 0);
}

INSTANTIATE_TEST_SUITE_P(Steps, Processes, testing::Range(0, steps));

TEST(Peerings, WhatAnOfferHidIsBackWhenThePeerDies) {
    Folder const folder;
    auto const path = folder / "meet";
    Listener listener(path);
    Child child([&] {
        auto const driver = open_pair();
        Share share(*driver);
        Peering peering(share, PeerChannel::connect(path, limit_s));
        (void)peering.receive(limit_s);
        ::kill(::getpid(), SIGKILL);
        return 0;
    });
    auto const driver = open_pair();
    Share share(*driver);
    auto* const data = share.allocate_host(bytes);
    write(data, 5);
    Peering peering(share, *listener.accept(limit_s));
    auto const id = peering.offer(data, bytes);
    EXPECT_FALSE(holds(data, 5)) << "the marker is there";
    peering.send("die");
    EXPECT_THROW(peering.settle(id, limit_s), PeerGone);
    EXPECT_TRUE(holds(data, 5));
    share.free_host(data);
}

TEST(Peerings, ARefusedImportIsToldToItsOwner) {
    auto const driver = open_pair();
    Share share(*driver), other(*driver);
    auto ends = PeerChannel::pair();
    Peering one(share, std::move(ends.first)), two(other, std::move(ends.second));
    auto* const data = share.allocate_host(bytes);
    auto const id = one.offer(data, bytes);
    std::memset(data, 1, marker_bytes);  // which must be left alone
    EXPECT_THROW((void)two.take(0, limit_s), Error);
    try {
        one.settle(id, limit_s);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code::invalid_value);
        EXPECT_NE(std::string(error.what()).find("marker"), std::string::npos);
    }
    share.free_host(data);  // withdrawn
}

TEST(Peerings, MemoryStaysWhileThePeerHasItOpen) {
    auto const driver = open_pair();
    Share share(*driver), other(*driver);
    auto ends = PeerChannel::pair();
    Peering one(share, std::move(ends.first)), two(other, std::move(ends.second));
    auto* const data = share.allocate_host(bytes);
    auto const id = one.offer(data, bytes);
    auto imported = two.take(1, limit_s);
    one.settle(id, limit_s);
    EXPECT_THROW(one.withdraw(id, 0.01), Error);
    ASSERT_TRUE(share.check_free(data));
    EXPECT_EQ(share.check_free(data)->code, "stale-mapping");
    two.close(std::move(imported));
    one.withdraw(id, limit_s);
    EXPECT_FALSE(share.check_free(data));
}

TEST(Peerings, NonsenseOfThePeerIsRefused) {
    auto const driver = open_pair();
    Share share(*driver);
    for (auto const* const text : {"x", "?12345678", "i12345678", "r12345678", "c12345678", "o12345678damaged"}) {
        auto ends = PeerChannel::pair();
        Peering peering(share, std::move(ends.first));
        ends.second.send(text);
        EXPECT_ANY_THROW((void)peering.take(0, 1)) << text;
    }
}

TEST(Peerings, OffersThatNobodyTakesAreNoHang) {
    auto const driver = open_pair();
    Share share(*driver);
    auto ends = PeerChannel::pair();
    Peering peering(share, std::move(ends.first));
    auto* const data = share.allocate_host(bytes);
    write(data, 3);
    auto const id = peering.offer(data, bytes);
    EXPECT_THROW(peering.settle(id, 0.01), Error);
    EXPECT_TRUE(holds(data, 3)) << "the marker is gone";
    EXPECT_THROW((void)peering.take(0, 0.01), Error);
    EXPECT_THROW((void)peering.receive(0.01), Error);
    EXPECT_THROW(peering.settle(id + 1, 0.01), std::invalid_argument);
}

}  // namespace
}  // namespace peerlane::share_tests
