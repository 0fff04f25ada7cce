#include "kernels/check.hpp"
#include "kernels/copy.hpp"
#include "kernels/fill.hpp"
#include "kernels/kernel.hpp"

#include "conformance/pool.hpp"

namespace peerlane::conformance {

TEST_P(Kernels, ReachEveryKindOfMemoryOfTheirOwnDevice) {
    for (int device = 0; device < devices(); ++device) {
        for (auto const kind : device_kinds(driver(), device)) {
            Buffer const memory(driver(), gpu(device), kind, 256 * KiB + 12);
            EXPECT_TRUE(witness().reached(memory, device));
        }
    }
}

TEST_P(Kernels, TheCheckCountsWrongZeroAndOldBytesAsTheHostDoes) {
    Buffer const memory(driver(), gpu(0), MemoryKind::plain, 64 * KiB),
        mirror(driver(), host(), MemoryKind::pinned, 64 * KiB);
    auto const stream = witness().stream(0);
    Content const content(4);
    witness().fill(memory.at(), memory.bytes(), content.data);
    EXPECT_EQ(witness().find(memory.at(), memory.bytes(), content.data, content.poison), CheckOutcome{});
    // Old bytes in one place, zeros in another, a third wrong, each at an odd offset.
    witness().fill(memory.at(4097), 1023, {content.poison.key, 4097});
    driver().fill(stream, memory.at(20001), 0, 333);
    driver().fill(stream, memory.at(65535), 0xa5, 1);
    driver().copy(stream, {mirror.at(), memory.at(), memory.bytes()});
    driver().synchronize(stream);
    auto const found = witness().find(memory.at(), memory.bytes(), content.data, content.poison);
    EXPECT_EQ(found, driver().check_host(mirror.address(), memory.bytes(), content.data, content.poison));
    EXPECT_EQ(found.first_bad, 4097U);
    EXPECT_GT(found.old, 900U);
    EXPECT_GT(found.zero, 300U);
}

TEST_P(Kernels, CopyRangesOfAnySizeAndAlignmentWithEveryWidth) {
    constexpr std::uint64_t room = 1 * MiB + 64;
    Buffer const from(driver(), gpu(0), MemoryKind::plain, room), to(driver(), gpu(0), MemoryKind::plain, room);
    auto const stream = witness().stream(0);
    std::uint64_t number = 0;
    for (auto const width : {4U, 8U, 16U}) {
        for (auto const bytes : {std::uint64_t{1}, std::uint64_t{15}, std::uint64_t{4099}, 1 * MiB + 36}) {
            for (auto const offset : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{16}}) {
                Content const content(++number);
                witness().fill(from.at(), room, content.data);
                witness().fill(to.at(), room, content.poison);
                CopyArguments const arguments{to.address() + offset, from.address() + offset, bytes, width};
                driver().launch(stream, copy_kernel, &arguments);
                driver().synchronize(stream);
                auto const text =
                    std::to_string(bytes) + " bytes at " + std::to_string(offset) + ", width " + std::to_string(width);
                EXPECT_TRUE(
                    witness().holds(to.at(offset), bytes, {content.data.key, offset}, {content.poison.key, offset}))
                    << text;
                if (offset != 0) {
                    EXPECT_TRUE(witness().holds(to.at(), offset, content.poison, content.data)) << text << ", before";
                }
                auto const end = offset + bytes;
                EXPECT_TRUE(witness().holds(to.at(end), room - end, {content.poison.key, end}, content.data))
                    << text << ", after";
            }
        }
    }
}

TEST_P(Kernels, TheShapeOfALaunchChangesNothingButTime) {
    Buffer const memory(driver(), gpu(0), MemoryKind::plain, 1 * MiB + 7);
    auto const stream = witness().stream(0);
    std::uint64_t number = 0;
    for (auto const shape :
         {LaunchShape{1, 32}, LaunchShape{3, 96}, LaunchShape{132, 512}, LaunchShape{0, 512}, LaunchShape{2000, 64}}) {
        Content const content(++number);
        witness().fill(memory.at(), memory.bytes(), content.poison);
        FillArguments const fill{memory.address(), memory.bytes(), content.data, 16};
        driver().launch(stream, fill_kernel, &fill, shape);
        driver().synchronize(stream);
        EXPECT_TRUE(witness().holds(memory.at(), memory.bytes(), content.data, content.poison))
            << shape.ctas << " x " << shape.threads;
    }
}

TEST_P(Kernels, ArgumentsAreReadBeforeTheLaunchReturns) {
    Buffer const memory(driver(), gpu(0), MemoryKind::plain, 64 * KiB);
    Content const content(1);
    auto const stream = witness().stream(0);
    witness().fill(memory.at(), memory.bytes(), content.poison);
    FillArguments fill{memory.address(), memory.bytes(), content.data, 16};
    driver().launch(stream, fill_kernel, &fill);
    fill = {Address::null, 0, content.poison, 4};
    driver().synchronize(stream);
    EXPECT_TRUE(witness().holds(memory.at(), memory.bytes(), content.data, content.poison));
}

TEST_P(KernelReach, PlainMemoryAllocatedBeforeEnablingIsReachedAfterwards) {
    Buffer const memory(driver(), gpu(0), MemoryKind::plain, 1 * MiB + 36);
    enable(1, 0);
    EXPECT_TRUE(witness().reached(memory, 1));
}

TEST_P(KernelReach, PlainMemoryAllocatedAfterEnablingIsReached) {
    enable(1, 0);
    Buffer const memory(driver(), gpu(0), MemoryKind::plain, 1 * MiB + 36);
    EXPECT_TRUE(witness().reached(memory, 1));
}

TEST_P(KernelReach, OneDirectionIsEnoughForTheAccessorThatWasEnabled) {
    for (int accessor = 0; accessor < 2; ++accessor) {
        auto const owner = 1 - accessor;
        Buffer const memory(driver(), gpu(owner), MemoryKind::plain, 64 * KiB + 4);
        enable(accessor, owner);
        EXPECT_TRUE(witness().reached(memory, accessor));
        EXPECT_TRUE(witness().reached(memory, owner)) << "the owner still reaches its own";
        driver().disable_access({accessor, owner});
    }
}

TEST_P(KernelReach, BothDirectionsServeBothAccessors) {
    enable_both();
    Buffer const of_0(driver(), gpu(0), MemoryKind::plain, 16 * MiB + 36),
        of_1(driver(), gpu(1), MemoryKind::plain, 16 * MiB + 36);
    EXPECT_TRUE(witness().reached(of_0, 1));
    EXPECT_TRUE(witness().reached(of_1, 0));
}

TEST_P(KernelReach, AfterDisablingAndEnablingAgainTheSameMemoryIsReachedAgain) {
    Buffer const memory(driver(), gpu(0), MemoryKind::plain, 64 * KiB);
    for (int round = 0; round < 3; ++round) {
        enable(1, 0);
        EXPECT_TRUE(witness().reached(memory, 1)) << "round " << round;
        driver().disable_access({1, 0});
    }
}

TEST_P(KernelReach, GrantedPoolAndVirtualMemoryIsReached) {
    enable_both();
    for (int accessor = 0; accessor < 2; ++accessor) {
        for (auto const& closed : closed_memory(driver(), 1 - accessor, 1 * MiB + 4)) {
            ASSERT_TRUE(closed->grant(accessor).usable());
            EXPECT_TRUE(witness().reached(closed->memory(), accessor));
        }
    }
}

TEST_P(KernelReach, ManagedMemoryIsReachedByBothWithNothingEnabled) {
    PEERLANE_NEEDS(managed, 0);
    PEERLANE_NEEDS(managed, 1);
    for (int owner = 0; owner < 2; ++owner) {
        Buffer const memory(driver(), gpu(owner), MemoryKind::managed, 1 * MiB + 4);
        EXPECT_TRUE(witness().reached(memory, 0));
        EXPECT_TRUE(witness().reached(memory, 1));
    }
}

TEST_P(KernelReach, TheOwnerFindsWhatAPeerChecked) {
    enable(1, 0);
    Buffer const memory(driver(), gpu(0), MemoryKind::plain, 1 * MiB + 3),
        report(driver(), host(), MemoryKind::pinned, sizeof(CheckOutcome));
    Content const content(1);
    witness().fill(memory.at(), memory.bytes(), content.data);
    witness().fill(memory.at(777), 10, {content.poison.key, 777});
    CheckOutcome by_peer{0, 1, 2, 3};
    driver().write_host(report.address(), &by_peer, sizeof by_peer);
    CheckArguments const check{memory.address(), memory.bytes(), content.data, content.poison, report.address()};
    driver().launch(witness().stream(1), check_kernel, &check);
    driver().synchronize(witness().stream(1));
    driver().read_host(report.address(), &by_peer, sizeof by_peer);
    EXPECT_EQ(by_peer, witness().find(memory.at(), memory.bytes(), content.data, content.poison));
    EXPECT_EQ(by_peer.first_bad, 777U);
}

}  // namespace peerlane::conformance
