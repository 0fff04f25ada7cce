#include "kernels/fill.hpp"
#include "kernels/kernel.hpp"

#include "conformance/pool.hpp"

namespace peerlane::conformance {

TEST_P(Pools, MemoryOfAPoolNamesItsPool) {
    PEERLANE_NEEDS(pools, 0);
    Pool const pool(driver(), 0);
    Buffer const memory = pool.take(1 * MiB);
    auto const known = driver().provenance(memory.address() + 4097);
    EXPECT_EQ(known.kind, MemoryKind::pool);
    EXPECT_EQ(known.pool, pool.id());
    EXPECT_EQ(known.place, gpu(0));
}

TEST_P(Pools, MemoryWithoutAPoolComesFromTheDefaultPoolOfItsDevice) {
    for (int device = 0; device < devices(); ++device) {
        PEERLANE_NEEDS(pools, device);
        Buffer const memory(driver(), gpu(device), MemoryKind::pool, 64 * KiB);
        EXPECT_EQ(driver().provenance(memory.address()).pool, driver().default_pool(device));
    }
}

TEST_P(Pools, PoolsAreToldApart) {
    PEERLANE_NEEDS(pools, 0);
    Pool const first(driver(), 0), second(driver(), 0);
    EXPECT_NE(first.id(), second.id());
    EXPECT_NE(first.id(), driver().default_pool(0));
    Buffer const a = first.take(4096), b = second.take(4096);
    EXPECT_EQ(driver().provenance(a.address()).pool, first.id());
    EXPECT_EQ(driver().provenance(b.address()).pool, second.id());
}

TEST_P(Pools, TakingAndGivingBackAreOrderedOnTheStream) {
    PEERLANE_NEEDS(pools, 0);
    constexpr std::uint64_t bytes = 1 * MiB;
    Pool const pool(driver(), 0);
    Buffer const out(driver(), gpu(0), MemoryKind::plain, bytes);
    Content const content(1);
    witness().fill(out.at(), bytes, content.poison);
    auto const stream = witness().stream(0);

    auto const memory = driver().allocate({gpu(0), bytes, MemoryKind::pool, pool.id(), stream});
    FillArguments const fill{memory, bytes, content.data, 16};
    driver().launch(stream, fill_kernel, &fill);
    driver().copy(stream, {out.at(), {gpu(0), memory}, bytes});
    driver().free(memory, stream);  // nobody waited: the copy still reads it
    driver().synchronize(stream);
    EXPECT_TRUE(witness().holds(out.at(), bytes, content.data, content.poison));
}

TEST_P(Pools, APoolOfADeviceThatIsNotThereIsRefused) {
    EXPECT_TRUE(refuses([&] { (void)driver().create_pool(devices()); }));
    EXPECT_TRUE(refuses([&] { (void)driver().default_pool(devices()); }));
    EXPECT_EQ(driver().last_error(), 0);
}

// The outcome of rmm#1753: setting the owner's own access is refused by the runtime, and a list that held it failed as
// a whole.
TEST_P(Pools, RevokingFromTheOwnerItselfIsNoErrorAndLeavesTheOwnerIn) {
    PEERLANE_NEEDS(pools, 0);
    Pool const pool(driver(), 0);
    Buffer const memory = pool.take(64 * KiB);
    for (int device = 0; device < devices(); ++device) {
        if (device == 0 || driver().can_access(device, 0)) {
            EXPECT_TRUE(driver().grant(pool.id(), device, Access::none).usable()) << "device " << device;
        }
    }
    EXPECT_EQ(driver().last_error(), 0);
    EXPECT_TRUE(listed(memory.address(), 0));
    EXPECT_TRUE(witness().reached(memory, 0));
}

// An access set before the mapping existed succeeded and opened nothing (cuda-api-wrappers#512, pytorch#156074).
TEST_P(Pools, FreshVirtualMemoryIsOpenToItsOwnerAndNobodyElse) {
    PEERLANE_NEEDS(virtual_memory, 0);
    Buffer const memory(driver(), gpu(0), MemoryKind::virtual_memory, 64 * KiB);
    EXPECT_EQ(driver().provenance(memory.address()).kernel_access, std::vector<int>{0});
    EXPECT_TRUE(witness().reached(memory, 0));
}

TEST_P(Grants, EnablingDoesNotOpenAPoolOrVirtualMemory) {
    enable_both();
    for (auto const& closed : closed_memory(driver(), 0)) {
        EXPECT_EQ(driver().provenance(closed->memory().address()).kernel_access, std::vector<int>{0})
            << closed->memory().text();
    }
}

TEST_P(Grants, AGrantOpensAWholePoolNowAndLater) {
    PEERLANE_NEEDS(pools, 0);
    enable(1, 0);
    Pool const pool(driver(), 0);
    Buffer const before = pool.take(64 * KiB);
    ASSERT_TRUE(driver().grant(pool.id(), 1, Access::read_write).usable());
    Buffer const after = pool.take(4 * MiB);
    for (auto const* memory : {&before, &after}) {
        EXPECT_TRUE(listed(memory->address(), 1));
        EXPECT_TRUE(witness().reached(*memory, 1));
    }
}

TEST_P(Grants, AGrantToAnyAddressOpensThatVirtualAllocationAlone) {
    PEERLANE_NEEDS(virtual_memory, 0);
    enable(1, 0);
    Buffer const open(driver(), gpu(0), MemoryKind::virtual_memory, 64 * KiB + 4);
    Buffer const closed(driver(), gpu(0), MemoryKind::virtual_memory, 64 * KiB);
    ASSERT_TRUE(driver().grant(open.address() + 4097, 1, Access::read_write).usable());
    EXPECT_TRUE(listed(open.address(), 1));
    EXPECT_FALSE(listed(closed.address(), 1));
    EXPECT_TRUE(witness().reached(open, 1));
}

TEST_P(Grants, AGrantTwiceIsAsGoodAsOnce) {
    enable(1, 0);
    for (auto const& closed : closed_memory(driver(), 0)) {
        EXPECT_TRUE(closed->grant(1).usable()) << closed->memory().text();
        EXPECT_TRUE(closed->grant(1).usable()) << closed->memory().text();
        EXPECT_EQ(driver().last_error(), 0);
        EXPECT_TRUE(witness().reached(closed->memory(), 1));
    }
}

// tensorflow#47480: two pools, one grant.
TEST_P(Grants, AGrantIsADirectedEdge) {
    PEERLANE_NEEDS(pools, 0);
    PEERLANE_NEEDS(pools, 1);
    enable_both();
    Pool const of_0(driver(), 0), of_1(driver(), 1);
    Buffer const a = of_0.take(64 * KiB), b = of_1.take(64 * KiB);
    ASSERT_TRUE(driver().grant(of_0.id(), 1, Access::read_write).usable());
    EXPECT_TRUE(listed(a.address(), 1));
    EXPECT_FALSE(listed(b.address(), 0));
    EXPECT_TRUE(witness().reached(a, 1));
}

TEST_P(Grants, RevokingClosesAndGrantingAgainOpens) {
    enable(1, 0);
    for (auto const& closed : closed_memory(driver(), 0)) {
        auto const at = closed->memory().address();
        ASSERT_TRUE(closed->grant(1).usable()) << closed->memory().text();
        ASSERT_TRUE(closed->grant(1, Access::none).usable()) << closed->memory().text();
        EXPECT_FALSE(listed(at, 1)) << closed->memory().text();
        EXPECT_TRUE(listed(at, 0)) << closed->memory().text();
        ASSERT_TRUE(closed->grant(1).usable()) << closed->memory().text();
        EXPECT_TRUE(listed(at, 1)) << closed->memory().text();
        EXPECT_TRUE(witness().reached(closed->memory(), 1));
    }
}

// cuda-python#2807: a new pool may get the handle of a destroyed one, and with it the old one's peers.
TEST_P(Grants, ANewPoolTellsTruthfullyWhoMayTouchItAfterAnOpenOneWasDestroyed) {
    PEERLANE_NEEDS(pools, 0);
    enable(1, 0);
    for (int round = 0; round < 4; ++round) {
        Pool const pool(driver(), 0, Pool::State::as_it_comes);
        Buffer const memory = pool.take(64 * KiB);
        if (listed(memory.address(), 1)) {
            EXPECT_TRUE(witness().reached(memory, 1)) << "round " << round;
        }
        ASSERT_TRUE(driver().grant(pool.id(), 1, Access::none).usable());
        EXPECT_FALSE(listed(memory.address(), 1)) << "round " << round;
        ASSERT_TRUE(driver().grant(pool.id(), 1, Access::read_write).usable());
        EXPECT_TRUE(listed(memory.address(), 1)) << "round " << round;
        EXPECT_TRUE(witness().reached(memory, 1)) << "round " << round;
    }
}

TEST_P(Grants, AGrantToADeviceThatIsNotThereIsAValue) {
    for (auto const& closed : closed_memory(driver(), 0)) {
        auto const outcome = closed->grant(devices());
        EXPECT_EQ(outcome.kind, MappingOutcome::Kind::refused) << closed->memory().text();
        EXPECT_NE(outcome.code, 0) << closed->memory().text();
    }
    EXPECT_EQ(driver().last_error(), 0);
}

}  // namespace peerlane::conformance
