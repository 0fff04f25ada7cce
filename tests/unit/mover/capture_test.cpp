#include <gtest/gtest.h>

#include <random>

#include <peerlane/error.hpp>

#include "unit/mover/rig.hpp"

namespace peerlane {
namespace {

using namespace testing_mover;

struct Case {
    const char* machine;
    Place from, to;
    std::uint64_t bytes;
};

class CapturedCopy : public testing::TestWithParam<Case> {};

TEST_P(CapturedCopy, IsRecordedReplayedAndMayRunTwiceAtOnce) {
    auto const& [machine, from, to, bytes] = GetParam();
    for (auto const device : {0, 1}) {
        SCOPED_TRACE(device);
        Rig rig(machine);
        Bytes source(*rig.driver, from, bytes), target(*rig.driver, to, bytes);
        Stream stream(*rig.driver, device), other(*rig.driver, 1 - device);
        rig.driver->begin_capture(stream.view());
        rig.mover->copy(target.pointer(), source.pointer(), bytes, stream.view());
        rig.mover->copy(target.pointer(), source.pointer(), bytes, stream.view());
        auto const graph = rig.driver->end_capture(stream.view());
        for (std::uint64_t round = 1; round <= 2; ++round) {
            source.fill({round, 0});
            target.fill({50, 0});
            // Copies outside of the graph take the mover's own buffers meanwhile.
            Bytes noise_from(*rig.driver, from, bytes), noise_to(*rig.driver, to, bytes);
            noise_from.fill({60 + round, 0});
            rig.driver->launch_graph(graph, stream.view());
            rig.mover->copy(noise_to.pointer(), noise_from.pointer(), bytes, other.view());
            rig.driver->launch_graph(graph, other.view());
            rig.driver->synchronize(stream.view());
            rig.driver->synchronize(other.view());
            EXPECT_EQ(target.look({round, 0}), CheckOutcome{}) << "round " << round;
            EXPECT_EQ(noise_to.look({60 + round, 0}), CheckOutcome{}) << "round " << round;
        }
        rig.driver->destroy_graph(graph);
        EXPECT_NO_THROW(rig.mover->synchronize());
    }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, CapturedCopy,
    testing::Values(Case{"h200-pair", gpu(0), gpu(1), 4096}, Case{"h200-pair", gpu(0), gpu(1), 64_MiB},
                    Case{"h200-pair", host(0), gpu(1), 64_MiB}, Case{"h200-pair", gpu(1), host(0), 5},
                    Case{"dgx-1v", gpu(0), gpu(4), 32_MiB + 4}, Case{"rtx3090-no-p2p-8", gpu(0), gpu(1), 16_MiB}));

TEST(Capture, OfMemoryOfAPoolIsRecorded) {
    Rig rig("h200-pair");
    Bytes source(*rig.driver, gpu(0), 1_MiB, MemoryKind::pool),
        target(*rig.driver, gpu(1), 1_MiB, MemoryKind::virtual_memory);
    Stream stream(*rig.driver, 0);
    rig.driver->begin_capture(stream.view());
    rig.mover->copy(target.pointer(), source.pointer(), 1_MiB, stream.view());
    auto const graph = rig.driver->end_capture(stream.view());
    source.fill({8, 0});
    rig.driver->launch_graph(graph, stream.view());
    rig.driver->synchronize(stream.view());
    EXPECT_EQ(target.look({8, 0}), CheckOutcome{});
}

TEST(Capture, WhatCannotBeRecordedIsRefusedAndTheCaptureGoesOn) {
    MoverOptions options;
    options.staging_bytes = 1_MiB;
    Rig rig("rtx3090-no-p2p-8", {}, options);
    Bytes source(*rig.driver, gpu(0), 64_MiB), target(*rig.driver, gpu(1), 64_MiB);
    Bytes pageable(*rig.driver, host(), 64_MiB, MemoryKind::pageable);
    Stream stream(*rig.driver, 0);
    source.fill({2, 0});
    rig.driver->begin_capture(stream.view());
    auto const refused = [&](void* to, void* from) {
        try {
            rig.mover->copy(to, from, 64_MiB, stream.view());
            FAIL() << "recorded";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), code::capture_unsupported);
            EXPECT_NE(std::string(error.what()).find("the capture goes on"), std::string::npos);
        }
    };
    refused(target.pointer(), source.pointer());
    refused(target.pointer(), pageable.pointer());
    refused(pageable.pointer(), target.pointer());
    rig.mover->copy(target.pointer(), source.pointer(), 256_KiB, stream.view());
    auto const graph = rig.driver->end_capture(stream.view());
    rig.driver->launch_graph(graph, stream.view());
    rig.driver->synchronize(stream.view());
    EXPECT_EQ(target.look({2, 0}, 0, 256_KiB), CheckOutcome{});
}

}  // namespace
}  // namespace peerlane
