#include "driver/cuda/ledger.hpp"

#include <gtest/gtest.h>

namespace peerlane::cuda {
namespace {

constexpr Address at(std::uint64_t address) {
    return Address{address};
}

MemoryRecord record(std::uint64_t base, std::uint64_t bytes, MemoryKind kind = MemoryKind::plain) {
    MemoryRecord made;
    made.base = at(base);
    made.bytes = bytes;
    made.kind = kind;
    return made;
}

TEST(Ledger, FindsTheAllocationAroundAnAddressAndNoneBesideIt) {
    Ledger ledger;
    ledger.add(record(1000, 100));
    ledger.add(record(1100, 50, MemoryKind::pool));
    EXPECT_FALSE(ledger.find(at(999)));
    EXPECT_EQ(ledger.find(at(1000))->base, at(1000));
    EXPECT_EQ(ledger.find(at(1099))->base, at(1000));
    EXPECT_EQ(ledger.find(at(1100))->kind, MemoryKind::pool);
    EXPECT_EQ(ledger.find(at(1149))->base, at(1100));
    EXPECT_FALSE(ledger.find(at(1150)));
    EXPECT_FALSE(ledger.find(at(0)));
    EXPECT_FALSE(ledger.find(at(~std::uint64_t{0})));
}

TEST(Ledger, TakesAnAllocationByItsBaseOnceOnly) {
    Ledger ledger;
    ledger.add(record(1000, 100));
    EXPECT_FALSE(ledger.take(at(1001)));
    ASSERT_TRUE(ledger.take(at(1000)));
    EXPECT_FALSE(ledger.take(at(1000)));
    EXPECT_FALSE(ledger.find(at(1000)));
}

TEST(Ledger, ARegistrationIsARangeOfItsOwnOverTheAllocation) {
    Ledger ledger;
    ledger.add(record(0x1000, 0x3000, MemoryKind::pageable));
    ledger.add_registration(at(0x2000), 0x1000);
    EXPECT_FALSE(ledger.find_registration(at(0x1fff)));
    auto const found = ledger.find_registration(at(0x2fff));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->kind, MemoryKind::registered);
    EXPECT_EQ(found->base, at(0x2000));
    EXPECT_EQ(found->place, host());
    EXPECT_FALSE(ledger.find_registration(at(0x3000)));
    EXPECT_TRUE(ledger.take_registration(at(0x2000)));
    EXPECT_FALSE(ledger.take_registration(at(0x2000)));
    EXPECT_EQ(ledger.find(at(0x2000))->kind, MemoryKind::pageable);
}

TEST(Ledger, AccessorsAreThoseOfTheDirectionAndOfTheOwnersContext) {
    Ledger ledger;
    ContextId const other{77};
    ledger.add_edge({3, 0});
    ledger.add_edge({1, 0});
    ledger.add_edge({0, 1});
    ledger.add_edge({2, 0, {}, other});
    ledger.add_edge({5, 0, ContextId{9}, {}});  // a further context of device 5, not its primary one
    EXPECT_EQ(ledger.accessors(0, {}), (std::vector<int>{1, 3}));
    EXPECT_EQ(ledger.accessors(0, other), std::vector<int>{2});
    EXPECT_EQ(ledger.accessors(1, {}), std::vector<int>{0});
    ledger.remove_edge({1, 0});
    EXPECT_EQ(ledger.accessors(0, {}), std::vector<int>{3});
}

TEST(Ledger, AContextTakesItsMemoryAndEdgesWithIt) {
    Ledger ledger;
    ContextId const context{77};
    EXPECT_FALSE(ledger.has_contexts());
    ledger.add_context(context, 1);
    EXPECT_TRUE(ledger.has_contexts());
    EXPECT_EQ(ledger.device_of(context), 1);
    auto inside = record(1000, 100);
    inside.context = context;
    ledger.add(inside);
    ledger.add(record(5000, 100));
    ledger.add_edge({0, 1, {}, context});
    ledger.add_edge({0, 1});
    ledger.remove_context(context);
    EXPECT_FALSE(ledger.has_contexts());
    EXPECT_FALSE(ledger.device_of(context));
    EXPECT_FALSE(ledger.find(at(1000)));
    EXPECT_TRUE(ledger.find(at(5000)));
    EXPECT_TRUE(ledger.accessors(1, context).empty());
    EXPECT_EQ(ledger.accessors(1, {}), std::vector<int>{0});
}

TEST(Ledger, TellsOwnPoolsFromDefaultOnes) {
    Ledger ledger;
    ledger.add_pool(PoolId{1}, 0, false);
    ledger.add_pool(PoolId{2}, 1, true);
    EXPECT_FALSE(ledger.pool(PoolId{1})->ours);
    EXPECT_TRUE(ledger.pool(PoolId{2})->ours);
    EXPECT_EQ(ledger.pool(PoolId{2})->device, 1);
    ledger.remove_pool(PoolId{2});
    EXPECT_FALSE(ledger.pool(PoolId{2}));
}

}  // namespace
}  // namespace peerlane::cuda
