#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include <peerlane/error.hpp>

#include "unit/mover/rig.hpp"

namespace peerlane {
namespace {

using namespace testing_mover;

constexpr std::array every_kind{std::pair{gpu(0), MemoryKind::plain},          std::pair{gpu(0), MemoryKind::pool},
                                std::pair{gpu(0), MemoryKind::virtual_memory}, std::pair{gpu(0), MemoryKind::managed},
                                std::pair{gpu(1), MemoryKind::plain},          std::pair{gpu(1), MemoryKind::pool},
                                std::pair{gpu(1), MemoryKind::virtual_memory}, std::pair{gpu(1), MemoryKind::managed},
                                std::pair{host(0), MemoryKind::pinned},        std::pair{host(), MemoryKind::pinned},
                                std::pair{host(), MemoryKind::registered},     std::pair{host(), MemoryKind::pageable}};

TEST(Copy, BetweenMemoryOfEveryKindAtEverySizeFromStreamsOfBoth) {
    Rig rig("h200-pair");
    std::mt19937_64 random(3);
    std::uint64_t key = 1;
    for (auto const& [from, from_kind] : every_kind) {
        for (auto const& [to, to_kind] : every_kind) {
            if (from.is_host() && to.is_host()) {
                continue;
            }
            for (auto const bytes : {std::uint64_t{1}, std::uint64_t{4097}, 3 * 1_MiB + 5, 40_MiB + 12}) {
                SCOPED_TRACE(fmt::format("{} {} > {} {}, {} bytes", to_string(from), to_string(from_kind),
                                         to_string(to), to_string(to_kind), bytes));
                Bytes source(*rig.driver, from, bytes + 16, from_kind), target(*rig.driver, to, bytes + 16, to_kind);
                source.fill({++key, 0});
                target.fill({1000, 0});
                Stream stream(*rig.driver, static_cast<int>(random() % 2));
                auto const skip = random() % 16, put = random() % 16;
                rig.mover->copy(target.pointer(put), source.pointer(skip), bytes, stream.view());
                rig.driver->synchronize(stream.view());
                ASSERT_EQ(target.look({key, skip}, put, bytes), CheckOutcome{});
                ASSERT_EQ(target.look({1000, 0}, 0, put), CheckOutcome{}) << "bytes before it";
                ASSERT_EQ(target.look({1000, put + bytes}, put + bytes, 16 - put), CheckOutcome{}) << "bytes behind it";
            }
        }
    }
    rig.mover->synchronize();
    EXPECT_TRUE(rig.mover->findings().empty());
}

TEST(Copy, RegisteredBuffersAreFoundWithoutTheDriver) {
    Rig rig("h200-pair");
    Bytes source(*rig.driver, gpu(0), 1_MiB), target(*rig.driver, gpu(1), 1_MiB);
    source.fill({4, 0});
    Stream stream(*rig.driver, 0);
    auto const call = [&] {
        auto const start = rig.driver->now();
        rig.mover->copy(target.pointer(4), source.pointer(4), 4096, stream.view());
        auto const seconds = rig.driver->now() - start;
        rig.driver->synchronize(stream.view());
        return seconds;
    };
    call();  // maps
    auto const foreign = call();
    rig.mover->register_buffer(source.pointer(), source.bytes());
    rig.mover->register_buffer(target.pointer(), target.bytes());
    auto const registered = call();
    EXPECT_NEAR(foreign - registered, 2 * 0.23e-6, 1e-9);  // two look-ups less (facts of the pair)
    EXPECT_EQ(target.look({4, 4}, 4, 4096), CheckOutcome{});
    EXPECT_THROW(rig.mover->register_buffer(source.pointer(4096), 1), std::invalid_argument);
    EXPECT_THROW(rig.mover->copy(target.pointer(), source.pointer(1), 1_MiB, stream.view()), std::invalid_argument);
    rig.mover->unregister_buffer(source.pointer());
    EXPECT_THROW(rig.mover->unregister_buffer(source.pointer()), std::invalid_argument);
    rig.mover->register_buffer(source.pointer(), source.bytes());
}

// Raw push 2.7 us and pull 2.7 us a call: behind other work by copy engine, on an idle stream by kernel.
TEST(Copy, SmallCopiesGoTheWayThatStartsSoonest) {
    Rig rig("h200-pair");
    Bytes source(*rig.driver, gpu(0), 64_KiB), target(*rig.driver, gpu(1), 64_KiB);
    Stream stream(*rig.driver, 0);
    rig.mover->register_buffer(source.pointer(), source.bytes());
    rig.mover->register_buffer(target.pointer(), target.bytes());
    auto const waited = [&](auto&& work) {
        auto const start = rig.driver->now();
        work();
        rig.driver->synchronize(stream.view());
        return rig.driver->now() - start;
    };
    auto const ours = [&] { rig.mover->copy(target.pointer(), source.pointer(), 4096, stream.view()); };
    auto const raw = [&] { rig.driver->copy(stream.view(), {target.at(), source.at(), 4096, CopyApi::peer}); };
    auto const kernel = [&] {
        CopyArguments const arguments{target.at().address, source.at().address, 4096, 16};
        rig.driver->launch(stream.view(), copy_kernel, &arguments, {1, 512});
    };
    ours();
    rig.driver->synchronize(stream.view());
    EXPECT_LE(waited(ours), std::min(waited(raw), waited(kernel)) / 0.97);
    constexpr int many = 200;
    auto const in_a_row = [&](auto&& work) {
        return waited([&] {
            for (int i = 0; i < many; ++i) {
                work();
            }
        });
    };
    EXPECT_LE(in_a_row(ours), in_a_row(raw) / 0.90);
}

// Two H200: 38 of 392 GB/s from pool to pool while neither device was granted the other's memory, enabled or not.
TEST(Copy, MemoryThatEnablingDoesNotReachIsGrantedForEngines) {
    constexpr auto bytes = 64_MiB;
    auto const seconds_of = [](Rig& rig, Bytes& target, Bytes& source, auto&& copy) {
        Stream stream(*rig.driver, 0);
        source.fill({6, 0});
        copy(stream.view());  // maps and grants
        rig.driver->synchronize(stream.view());
        auto const start = rig.driver->now();
        copy(stream.view());
        rig.driver->synchronize(stream.view());
        EXPECT_EQ(target.look({6, 0}), CheckOutcome{});
        return rig.driver->now() - start;
    };
    for (auto const target_kind : {MemoryKind::plain, MemoryKind::pool, MemoryKind::virtual_memory}) {
        for (auto const source_kind : {MemoryKind::pool, MemoryKind::virtual_memory}) {
            Rig rig("h200-pair");
            Bytes source(*rig.driver, gpu(0), bytes, source_kind), target(*rig.driver, gpu(1), bytes, target_kind);
            auto const raw = [&](StreamView stream) {
                rig.driver->copy(stream, {target.at(), source.at(), bytes, CopyApi::peer});
            };
            auto const staged_s = seconds_of(rig, target, source, raw);
            auto const ours_s = seconds_of(rig, target, source, [&](StreamView stream) {
                rig.mover->copy(target.pointer(), source.pointer(), bytes, stream);
            });
            EXPECT_LT(ours_s, staged_s / 5);
            auto const transfer_s = seconds_of(rig, target, source, [&](StreamView) {
                rig.mover->transfer(target.pointer(), source.pointer(), bytes).wait();
            });
            EXPECT_LT(transfer_s, staged_s / 4);
        }
    }
}

// A split from a stream of the destination: what one leg carries is issued there, without the way to another stream.
TEST(Copy, ASplitAskedForByTheDestinationIsPulled) {
    double seconds[2] = {};
    for (auto const device : {0, 1}) {
        MoverOptions options;
        options.adapt = false;
        Rig rig("h200-pair", {}, options);
        constexpr auto bytes = 512_MiB;
        ASSERT_GT(rig.mover->choose(gpu(0), gpu(1), bytes).routes.size(), 1u);
        Bytes source(*rig.driver, gpu(0), bytes), target(*rig.driver, gpu(1), bytes);
        Stream stream(*rig.driver, device);
        source.fill({6, 0});
        for (int i = 0; i < 2; ++i) {
            auto const start = rig.driver->now();
            rig.mover->copy(target.pointer(), source.pointer(), bytes, stream.view());
            rig.driver->synchronize(stream.view());
            seconds[device] = rig.driver->now() - start;
        }
        EXPECT_EQ(target.look({6, 0}), CheckOutcome{});
    }
    EXPECT_NEAR(seconds[1], seconds[0], 0.02 * seconds[0]);
}

TEST(Copy, AStreamsOrderHoldsAroundPageableMemory) {
    Rig rig("h200-pair");
    constexpr auto bytes = 20_MiB + 3;
    Bytes before(*rig.driver, host(), bytes, MemoryKind::pageable),
        after(*rig.driver, host(), bytes, MemoryKind::pageable);
    Bytes there(*rig.driver, gpu(0), bytes), other(*rig.driver, gpu(1), bytes);
    Stream stream(*rig.driver, 1);
    before.fill({1, 0});
    rig.mover->copy(there.pointer(), before.pointer(), bytes, stream.view());
    rig.mover->copy(other.pointer(), there.pointer(), bytes, stream.view());
    rig.mover->copy(after.pointer(), other.pointer(), bytes, stream.view());
    rig.mover->copy(other.pointer(), before.pointer(), 4096, stream.view());
    rig.driver->synchronize(stream.view());
    EXPECT_EQ(after.look({1, 0}), CheckOutcome{});
    EXPECT_EQ(other.look({1, 0}, 0, 4096), CheckOutcome{});
}

TEST(Copy, ManyThreadsAndStreamsAtOnce) {
    Rig rig("v100-partial-mesh");
    constexpr int threads = 4;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
        workers.emplace_back([&, t] {
            std::mt19937_64 random(static_cast<std::uint64_t>(t) + 1);
            for (int round = 0; round < 6; ++round) {
                auto const a = gpu(static_cast<int>(random() % 4));
                auto b = gpu(static_cast<int>(random() % 4));
                b = b == a ? host() : b;
                auto const bytes = random() % (8_MiB) + 1;
                auto const key = random() | 1;
                auto const kind = b.is_device()       ? MemoryKind::plain
                                  : random() % 2 == 0 ? MemoryKind::pageable
                                                      : MemoryKind::pinned;
                Bytes first(*rig.driver, a, bytes), middle(*rig.driver, b, bytes, kind), last(*rig.driver, a, bytes);
                first.fill({key, 0});
                Stream stream(*rig.driver, static_cast<int>(random() % 4));
                rig.mover->copy(middle.pointer(), first.pointer(), bytes, stream.view());
                rig.mover->copy(last.pointer(), middle.pointer(), bytes, stream.view());
                rig.driver->synchronize(stream.view());
                wrong += last.look({key, 0}) == CheckOutcome{} ? 0 : 1;
            }
        });
    }
    for (auto& worker : workers) {
        worker.join();
    }
    EXPECT_EQ(wrong, 0);
}

TEST(Copy, WhatFailsLaterIsToldWithPairAndLeg) {
    Rig rig("dgx-1v", {"link:0:1=down@100us"});
    Bytes source(*rig.driver, gpu(0), 256_MiB), target(*rig.driver, gpu(3), 256_MiB);
    auto const choice = choice_of(256_MiB, {{1.0, {push(gpu(0), gpu(1)), push(gpu(1), gpu(3))}, 4_MiB, 4}});
    Stream stream(*rig.driver, 0);
    rig.mover->carry_out(choice, target.at(), source.at(), stream.view());
    try {
        rig.mover->synchronize();
        FAIL() << "the link went down";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code::link_failed);
        EXPECT_FALSE(error.info().sticky);
        EXPECT_NE(error.info().call.find("gpu0 > gpu1"), std::string::npos) << error.what();
    }
    EXPECT_NO_THROW(rig.mover->check());
}

TEST(Copy, ADeviceErrorIsToldAsThatWithTheLatestCopies) {
    Rig rig("h200-pair", {"push:0:1=error700"});
    Bytes source(*rig.driver, gpu(0), 1_MiB), target(*rig.driver, gpu(1), 1_MiB);
    Stream stream(*rig.driver, 0);
    rig.mover->carry_out(choice_of(1_MiB, {{1.0, {push(gpu(0), gpu(1))}, 0, 0}}), target.at(), source.at(),
                         stream.view());
    EXPECT_THROW(rig.driver->synchronize(stream.view()), Error);
    for (auto const& call : {std::function<void()>([&] { rig.mover->check(); }), std::function<void()>([&] {
                                 rig.mover->copy(target.pointer(), source.pointer(), 1_MiB, stream.view());
                             }),
                             std::function<void()>([&] { rig.mover->synchronize(); })}) {
        try {
            call();
            FAIL() << "the devices are gone";
        } catch (const Error& error) {
            EXPECT_TRUE(error.info().sticky);
            EXPECT_EQ(error.code(), code::illegal_address);
            EXPECT_NE(std::string(error.what()).find("gpu0 > gpu1"), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find("Likely cause"), std::string::npos) << error.what();
        }
    }
}

struct Limit {
    const char* machine;
    int from, to;
    double gbs;
};

// v100-partial-mesh 0 to 3: relays over 1 (48.4 GB/s) and 2 (24.2); dgx-1v 0 to 4: nothing joins them, relays over two
// devices with one link on a side each; mi300x-8: seven ways out of device 0, more than it has copy engines.
TEST(Copy, ReachesTheLimitOfTheLinksByItsOwnPlan) {
    for (auto const& [machine, from, to, gbs] :
         {Limit{"v100-partial-mesh", 0, 3, 0.9 * 72.5}, {"dgx-1v", 0, 4, 0.9 * 48.4}, {"mi300x-8", 0, 1, 250}}) {
        Rig rig(machine);
        Bytes source(*rig.driver, gpu(from), 1_GiB), target(*rig.driver, gpu(to), 1_GiB);
        Stream stream(*rig.driver, from);
        auto seconds = 1.0;
        for (std::uint64_t round = 0; round < 24; ++round) {
            source.fill({round + 1, 0});
            auto const start = rig.driver->now();
            rig.mover->copy(target.pointer(), source.pointer(), 1_GiB, stream.view());
            rig.driver->synchronize(stream.view());
            seconds = rig.driver->now() - start;
            ASSERT_EQ(target.look({round + 1, 0}), CheckOutcome{}) << machine << " round " << round;
        }
        EXPECT_GE(static_cast<double>(1_GiB) / seconds / 1e9, gbs) << machine;
        RecordProperty(machine, std::to_string(static_cast<double>(1_GiB) / seconds / 1e9));
    }
}

TEST(Copy, TwoDevicesThatLoadAtOnceShareBothLinks) {
    Rig rig("h200-pair");
    Bytes host_a(*rig.driver, host(), 512_MiB), host_b(*rig.driver, host(), 512_MiB);
    Bytes a(*rig.driver, gpu(0), 512_MiB), b(*rig.driver, gpu(1), 512_MiB);
    host_a.fill({1, 0});
    host_b.fill({2, 0});
    Stream first(*rig.driver, 0), second(*rig.driver, 1);
    auto const raw = [&](Bytes& to, Bytes& from, Stream& stream) {
        auto const start = rig.driver->now();
        rig.driver->copy(stream.view(), {to.at(), from.at(), 512_MiB, CopyApi::automatic});
        rig.driver->synchronize(stream.view());
        return rig.driver->now() - start;
    };
    auto const alone = raw(a, host_a, first);
    for (int round = -1; round < 8; ++round) {  // the first makes mappings and buffers
        auto const start = rig.driver->now();
        rig.mover->copy(a.pointer(), host_a.pointer(), 512_MiB, first.view());
        rig.mover->copy(b.pointer(), host_b.pointer(), 512_MiB, second.view());
        rig.driver->synchronize(first.view());
        rig.driver->synchronize(second.view());
        auto const together = rig.driver->now() - start;
        EXPECT_TRUE(round < 0 || together <= alone / 0.98) << round << ": " << together << " s, alone " << alone;
    }
    EXPECT_EQ(a.look({1, 0}), CheckOutcome{});
    EXPECT_EQ(b.look({2, 0}), CheckOutcome{});
}

}  // namespace
}  // namespace peerlane
