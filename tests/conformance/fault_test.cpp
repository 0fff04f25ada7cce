#include "kernels/fill.hpp"
#include "kernels/kernel.hpp"

#include "conformance/pool.hpp"

namespace peerlane::conformance {
namespace {

/// Leaves the process with its sticky error, provoked by device 0 storing to nothing.
void provoke(Driver& driver, StreamView stream) {
    FillArguments const fill{Address{4096}, 64, Pattern{}, 16};
    driver.launch(stream, fill_kernel, &fill);
}

}  // namespace

TEST_P(AccessFaults, WithNothingEnabledAStoreFaults) {
    in_child([&] {
        Buffer const memory(driver(), gpu(1), MemoryKind::plain, 64 * KiB);
        expect_fault(0, memory.at(), Touch::store);
    });
}

TEST_P(AccessFaults, WithNothingEnabledALoadFaults) {
    in_child([&] {
        Buffer const memory(driver(), gpu(1), MemoryKind::plain, 64 * KiB);
        expect_fault(0, memory.at(), Touch::load);
    });
}

TEST_P(AccessFaults, TheDirectionThatWasNotEnabledFaults) {
    for (int accessor = 0; accessor < 2; ++accessor) {
        for (auto const touch : {Touch::store, Touch::load}) {
            in_child([&] {
                Buffer const memory(driver(), gpu(1 - accessor), MemoryKind::plain, 64 * KiB);
                enable(1 - accessor, accessor);
                expect_fault(accessor, memory.at(), touch);
            });
        }
    }
}

TEST_P(AccessFaults, AfterDisablingTheAccessorFaultsAlthoughTheOtherDirectionIsLeft) {
    in_child([&] {
        Buffer const memory(driver(), gpu(0), MemoryKind::plain, 64 * KiB);
        enable_both();
        EXPECT_TRUE(witness().reached(memory, 1));
        EXPECT_EQ(driver().disable_access({1, 0}).kind, MappingOutcome::Kind::done);
        expect_fault(1, memory.at(), Touch::store);
    });
}

TEST_P(AccessFaults, PoolMemoryWithoutAGrantFaultsAlthoughEnabled) {
    PEERLANE_NEEDS(pools, 0);
    in_child([&] {
        Closed const closed(driver(), 0, MemoryKind::pool, 64 * KiB);
        enable_both();
        expect_fault(1, closed.memory().at(), Touch::store);
    });
}

TEST_P(AccessFaults, VirtualMemoryWithoutAccessFaultsAlthoughEnabled) {
    PEERLANE_NEEDS(virtual_memory, 0);
    in_child([&] {
        Closed const closed(driver(), 0, MemoryKind::virtual_memory, 64 * KiB);
        enable_both();
        expect_fault(1, closed.memory().at(), Touch::load);
    });
}

TEST_P(AccessFaults, RevokedMemoryFaults) {
    for (auto const kind : {MemoryKind::pool, MemoryKind::virtual_memory}) {
        if (kind == MemoryKind::pool ? !can(0).pools : !can(0).virtual_memory) {
            continue;
        }
        in_child([&] {
            Closed closed(driver(), 0, kind, 64 * KiB);
            enable_both();
            EXPECT_TRUE(closed.grant(1).usable());
            EXPECT_TRUE(witness().reached(closed.memory(), 1));
            EXPECT_TRUE(closed.grant(1, Access::none).usable());
            expect_fault(1, closed.memory().at(), Touch::store);
        });
    }
}

TEST_P(AccessFaults, AnotherAllocationsGrantDoesNotHelp) {
    PEERLANE_NEEDS(virtual_memory, 0);
    in_child([&] {
        Closed open(driver(), 0, MemoryKind::virtual_memory, 64 * KiB),
            closed(driver(), 0, MemoryKind::virtual_memory, 64 * KiB);
        enable_both();
        EXPECT_TRUE(open.grant(1).usable());
        EXPECT_TRUE(witness().reached(open.memory(), 1));
        expect_fault(1, closed.memory().at(), Touch::store);
    });
}

TEST_P(AccessFaults, PageableMemoryIsReachedOrFaultsAsProvenanceSays) {
    // Whether kernels reach it is a fact of the machine; that provenance tells the truth of it is the driver's duty.
    in_child([&] {
        Buffer const memory(driver(), host(), MemoryKind::pageable, 64 * KiB);
        driver().fill_host(memory.address(), memory.bytes(), Pattern{});
        if (listed(memory.address(), 0)) {
            EXPECT_TRUE(witness().reached(memory, 0));
        } else {
            expect_fault(0, memory.at(), Touch::load);
        }
    });
}

TEST_P(AccessFaults, AFaultPoisonsEveryDeviceOfTheProcess) {
    in_child([&] {
        Buffer const innocent(driver(), gpu(1), MemoryKind::plain, 4096);
        auto const other = witness().stream(1);
        auto const guilty = witness().stream(0);
        provoke(driver(), guilty);
        EXPECT_EQ(code_of([&] { driver().synchronize(guilty); }), code::illegal_address);
        EXPECT_EQ(code_of([&] { driver().synchronize(other); }), code::illegal_address);
        EXPECT_EQ(code_of([&] { driver().synchronize_device(1); }), code::illegal_address);
        EXPECT_EQ(code_of([&] { (void)driver().query(other); }), code::illegal_address);
        EXPECT_EQ(code_of([&] { driver().fill(other, innocent.at(), 0, 4096); }), code::illegal_address);
        EXPECT_EQ(code_of([&] { (void)driver().allocate({gpu(1), 4096, MemoryKind::plain}); }), code::illegal_address);
    });
}

TEST_P(AccessFaults, AFaultIsStickyAndStaysAsTheLastError) {
    in_child([&] {
        auto const stream = witness().stream(0);
        EXPECT_EQ(driver().last_error(), 0);
        provoke(driver(), stream);
        for (int round = 0; round < 3; ++round) {
            auto const error = error_of([&] { driver().synchronize(stream); });
            ASSERT_TRUE(error);
            EXPECT_EQ(error->code, code::illegal_address);
            EXPECT_TRUE(error->sticky);
        }
        EXPECT_EQ(driver().last_error(), code::illegal_address);
    });
}

TEST_P(AccessFaults, EveryWayOfWaitingTellsOfTheFault) {
    std::function<void(EventView, StreamView)> const ways[] = {
        [&](EventView event, StreamView) { driver().synchronize(event); },
        [&](EventView, StreamView stream) { driver().synchronize(stream); },
        [&](EventView, StreamView) { driver().synchronize_device(0); },
        [&](EventView event, StreamView) { (void)driver().wait_for(event, patience_s); },
        [&](EventView event, StreamView) {
            while (!driver().query(event)) {
            }
        },
        [&](EventView, StreamView stream) {
            while (!driver().query(stream)) {
            }
        },
    };
    for (auto const& wait : ways) {
        in_child([&] {
            Event const event(driver(), 0);
            auto const stream = witness().stream(0);
            provoke(driver(), stream);
            driver().record(event.view(), stream);
            EXPECT_EQ(code_of([&] { wait(event.view(), stream); }), code::illegal_address);
        });
    }
}

TEST_P(AccessFaults, OwningHandlesGoQuietlyAfterAFault) {
    in_child([&] {
        auto const stream = witness().stream(0);
        {
            Buffer const plain(driver(), gpu(0), MemoryKind::plain, 4096),
                registered(driver(), host(), MemoryKind::registered, 4096);
            Stream const owned(driver(), 1);
            Event const event(driver(), 1);
            provoke(driver(), stream);
            EXPECT_EQ(code_of([&] { driver().synchronize(stream); }), code::illegal_address);
        }
        SUCCEED() << "nothing was thrown by a destructor";
    });
}

TEST_P(AccessFaults, ARefusedCopyIsNotAFault) {
    PEERLANE_NEEDS(pools, 0);
    Closed const closed(driver(), 0, MemoryKind::pool, 64 * KiB);
    Buffer const to(driver(), gpu(1), MemoryKind::plain, 64 * KiB);
    enable_both();
    auto const stream = witness().stream(1);
    auto const error = error_of([&] { driver().copy(stream, {to.at(), closed.memory().at(), 4096}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, code::invalid_value);
    EXPECT_FALSE(error->sticky);
    EXPECT_EQ(driver().last_error(), 0);
    EXPECT_TRUE(witness().copies(stream, to, closed.memory(), CopyApi::peer)) << "the devices work on";
}

}  // namespace peerlane::conformance
