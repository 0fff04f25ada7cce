#include <gtest/gtest.h>

#include <chrono>

#include <peerlane/error.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/prove.hpp>
#include <peerlane/units.hpp>

#include "unit/sim/pair.hpp"

namespace peerlane {
namespace {

using namespace testing_sim;

SimOptions with(const std::vector<std::string>& faults) {
    SimOptions options;
    options.progress = test_progress;
    for (auto const& fault : faults) {
        options.faults.push_back(parse_fault(fault));
    }
    return options;
}

/// Opened, proven and ready to move.
struct Rig {
    explicit Rig(int devices, const std::vector<std::string>& faults = {})
        : options(with(faults)), driver(open_simulated(SimulatedMachine(switched(devices)), options)) {
        auto const host =
            prove::in_process_host({[this] { return open_simulated(SimulatedMachine(switched(2)), options); }, {}});
        prove::ProveOptions proving;
        proving.simulated = true;
        ready.machine = driver->machine();
        ready.verdicts = prove::prove(*host, switched(2), proving);
    }
    TransferReport run(std::uint64_t bytes, RoutePolicy policy, Place from = gpu(0), Place to = gpu(1),
                       int repetitions = 1) {
        auto const choice = choose(ready.machine, from, to, bytes, {policy, &ready.verdicts});
        return verified_copy(*driver, ready, choice, from, to, 1, repetitions);
    }
    SimOptions options;
    std::unique_ptr<Driver> driver;
    Ready ready;
};

TEST(Move, DirectAndStagedAreVerifiedAtEverySize) {
    Rig rig(2);
    for (auto const bytes : {1_KiB - 1023, 3 * 1_KiB + 1, 1_MiB, 16_MiB + 36, 256_MiB, 1_GiB, 3_GiB + 5}) {
        for (auto const policy : {RoutePolicy::direct, RoutePolicy::staged}) {
            SCOPED_TRACE(fmt::format("{} {}", bytes, static_cast<int>(policy)));
            auto const report = rig.run(bytes, policy);
            EXPECT_EQ(report.result, TransferReport::Outcome::ok) << report.message;
            EXPECT_TRUE(report.verified);
            EXPECT_EQ(report.plan.routes[0].legs.size(), policy == RoutePolicy::direct ? 1u : 2u);
            EXPECT_LE(report.plan.routes[0].chunk * static_cast<unsigned>(report.plan.routes[0].buffers), 256_MiB);
        }
    }
}

TEST(Move, ToAndFromTheHost) {
    Rig rig(2);
    for (auto const& [from, to] : {std::pair{host(), gpu(1)}, {gpu(0), host(0)}, {gpu(1), gpu(1)}}) {
        auto const report = rig.run(64_MiB + 3, RoutePolicy::automatic, from, to);
        EXPECT_TRUE(report.verified) << to_string(from) << " > " << to_string(to) << ": " << report.message;
    }
}

TEST(Move, StagingOverlapsItsLegs) {
    if (test_progress == SimProgress::host_pauses) {
        GTEST_SKIP() << "a time, and the host pauses";
    }
    Rig rig(2);
    auto const report = rig.run(256_MiB, RoutePolicy::staged);
    EXPECT_GT(*report.gbs, 0.8 * 63 * 0.87);  // one leg after the other would reach half
}

TEST(Move, FaultsAreNamedWithKindAndFirstOffset) {
    struct Case {
        const char* fault;
        WrongKind kind;
    };
    for (auto const& [fault, kind] : {Case{"push:0:1=zero", WrongKind::zero},
                                      {"push:0:1=stale", WrongKind::stale},
                                      {"push:0:1=flip", WrongKind::flip},
                                      {"push:0:1=offset", WrongKind::offset}}) {
        Rig rig(2, {fault, "pull:1:0=zero", "store:0:1=zero", "load:1:0=zero"});
        auto const report = rig.run(1_MiB, RoutePolicy::direct);
        EXPECT_EQ(report.result, TransferReport::Outcome::wrong) << fault;
        ASSERT_TRUE(report.wrong) << fault;
        EXPECT_EQ(report.wrong->kind, kind) << fault;
        EXPECT_LT(report.wrong->first_bad_offset, 8u) << fault;
        EXPECT_FALSE(report.verified);
    }
}

TEST(Move, AutomaticAvoidsWhatFailed) {
    Rig rig(2, {"push:0:1=flip", "store:0:1=flip", "pull:1:0=zero", "load:1:0=zero"});
    auto const report = rig.run(1_MiB, RoutePolicy::automatic);
    EXPECT_TRUE(report.verified);
    EXPECT_EQ(report.plan.routes[0].legs.size(), 2u);
    Rig pulled(2, {"push:0:1=flip", "store:0:1=flip"});
    auto const other = pulled.run(1_MiB, RoutePolicy::automatic);
    EXPECT_TRUE(other.verified);
    EXPECT_EQ(describe(other.plan.routes[0]), "direct, pulled by gpu1");
}

TEST(Move, AHangEndsInItsBoundAndIsSaid) {
    Rig rig(2, {"push:0:1=hang", "pull:1:0=hang", "store:0:1=hang", "load:1:0=hang"});
    auto const report = rig.run(1_MiB, RoutePolicy::direct);
    EXPECT_EQ(report.result, TransferReport::Outcome::hang);
    EXPECT_FALSE(report.verified);
    EXPECT_FALSE(report.message.empty());
}

TEST(Move, StreamOrderHoldsOnBothSidesOfACopy) {
    Rig rig(2);
    Mover mover(*rig.driver, rig.ready);
    Allocation from(*rig.driver, {gpu(0), 4_MiB});
    Allocation to(*rig.driver, {gpu(1), 4_MiB});
    for (auto const policy : {RoutePolicy::direct, RoutePolicy::staged}) {
        for (auto const device : {0, 1}) {
            Stream stream(*rig.driver, device);
            FillArguments const before{from.address(), from.bytes(), {7, 0}, 16};
            FillArguments const after{from.address(), from.bytes(), {8, 0}, 16};
            rig.driver->enable_access({1, 0});
            rig.driver->launch(stream.view(), fill_kernel, &before);
            mover.carry_out(choose(rig.ready.machine, gpu(0), gpu(1), 4_MiB, {policy, &rig.ready.verdicts}),
                            to.location(), from.location(), stream.view());
            rig.driver->launch(stream.view(), fill_kernel, &after);  // must not reach the copy
            rig.driver->synchronize(stream.view());
            EXPECT_EQ(look(*rig.driver, to, {7, 0}), CheckOutcome{});
        }
    }
}

TEST(Move, ManyCopiesReuseTheirLanesInOrder) {
    Rig rig(2);
    Mover mover(*rig.driver, rig.ready);
    auto const choice = choose(rig.ready.machine, gpu(0), gpu(1), 8_MiB, {RoutePolicy::staged, &rig.ready.verdicts});
    std::vector<Allocation> from, to;
    std::vector<Stream> streams;
    for (std::uint64_t i = 0; i < 6; ++i) {
        from.emplace_back(*rig.driver, AllocationRequest{gpu(0), 8_MiB});
        to.emplace_back(*rig.driver, AllocationRequest{gpu(1), 8_MiB});
        streams.emplace_back(*rig.driver, static_cast<int>(i % 2));
        put(*rig.driver, from.back(), {100 + i, 0});
    }
    for (std::size_t i = 0; i < 6; ++i) {
        mover.carry_out(choice, to[i].location(), from[i].location(), streams[i].view());
    }
    for (std::size_t i = 0; i < 6; ++i) {
        rig.driver->synchronize(streams[i].view());
        EXPECT_EQ(look(*rig.driver, to[i], {100 + i, 0}), CheckOutcome{}) << i;
    }
}

TEST(Move, CopyByPointersFindsThePlaces) {
    Rig rig(2);
    Mover mover(*rig.driver, rig.ready);
    Allocation from(*rig.driver, {gpu(0), 1_MiB});
    Allocation to(*rig.driver, {gpu(1), 1_MiB});
    put(*rig.driver, from, {3, 0});
    put(*rig.driver, to, {4, 0});
    Stream stream(*rig.driver, 0);
    mover.copy(pointer_to(to.address()), pointer_to(from.address()), 1_MiB, stream.view());
    rig.driver->synchronize(stream.view());
    EXPECT_EQ(look(*rig.driver, to, {3, 0}), CheckOutcome{});
    EXPECT_THROW(mover.copy(pointer_to(to.address()), pointer_to(from.address() + 1), 1_MiB, stream.view()),
                 std::invalid_argument);
}

// ggml-org/llama.cpp#10152: access toggled while copies were in flight.
TEST(Move, AMoverThatGoesWaitsForWhatIsQueued) {
    Rig rig(2);
    Allocation from(*rig.driver, {gpu(0), 256_MiB});
    Allocation to(*rig.driver, {gpu(1), 256_MiB});
    put(*rig.driver, from, {5, 0});
    Stream stream(*rig.driver, 1);
    {
        Mover mover(*rig.driver, rig.ready);
        mover.carry_out(mover.choose(gpu(0), gpu(1), 256_MiB), to.location(), from.location(), stream.view());
    }
    Mover again(*rig.driver, rig.ready);
    again.carry_out(again.choose(gpu(0), gpu(1), 256_MiB), to.location(), from.location(), stream.view());
    rig.driver->synchronize(stream.view());
    EXPECT_EQ(look(*rig.driver, to, {5, 0}), CheckOutcome{});
}

TEST(Move, ChoicesThatDoNotFitAreRefused) {
    Rig rig(2);
    Mover mover(*rig.driver, rig.ready);
    auto const good = choose(rig.ready.machine, gpu(0), gpu(1), 1_MiB, {RoutePolicy::staged, &rig.ready.verdicts});
    Allocation memory(*rig.driver, {gpu(0), 1_MiB});
    Stream stream(*rig.driver, 0);
    auto const refused = [&](const Choice& choice) {
        EXPECT_THROW(mover.carry_out(choice, {gpu(1), memory.address()}, memory.location(), stream.view()),
                     std::invalid_argument);
    };
    refused({});
    auto choice = good;
    choice.routes[0].share = 0.5;
    refused(choice);
    choice = good;
    choice.routes[0].buffers = 0;
    refused(choice);
    choice = good;
    choice.routes[0].legs.pop_back();
    refused(choice);
}

}  // namespace
}  // namespace peerlane
