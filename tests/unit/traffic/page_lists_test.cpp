// Lists of pages against what the driver and its pages kernel take under simulation.

#include <algorithm>

#include <gtest/gtest.h>
#include <peerlane/driver.hpp>
#include <peerlane/named.hpp>
#include <peerlane/simulation.hpp>
#include <peerlane/units.hpp>

#include "kernels/pages.hpp"

namespace peerlane {
namespace {

Simulation run(const SimulatedMachine& machine, const std::vector<Flow>& flows, Strategy strategy) {
    return simulate(machine, flows, {.strategy = strategy, .relief = false});
}

Flow list(std::uint64_t bytes, std::uint64_t page) {
    return {gpu(0), gpu(1), bytes, 0, 0, page};
}

/// The list by one kernel of gpu0, through the seam; numbers of pages sent before it.
double through_the_driver(const SimulatedMachine& machine, const Flow& flow) {
    auto const driver = open_simulated(machine);
    driver->enable_access({0, 1});
    driver->enable_access({1, 0});
    auto const pages = flow.bytes / flow.page;
    auto const from = driver->allocate({.place = gpu(0), .bytes = flow.bytes});
    auto const to = driver->allocate({.place = gpu(1), .bytes = flow.bytes});
    auto const numbers = driver->allocate({.place = gpu(0), .bytes = pages * 4});
    auto const pinned = driver->allocate({.place = host(0), .bytes = pages * 4, .kind = MemoryKind::pinned});
    std::vector<std::int32_t> values(pages);
    for (std::size_t i = 0; i < pages; ++i) {
        values[i] = static_cast<std::int32_t>((i * 7 + 3) % pages);
    }
    driver->write_host(pinned, values.data(), pages * 4);
    auto const stream = driver->create_stream(0, StreamKind::nonblocking, {});
    PagesArguments const arguments{to, from, numbers, numbers, pages, 1, flow.page, flow.page, flow.page, 4, 16, false};
    auto const begin = driver->now();
    for (int i = 0; i < 2; ++i) {
        driver->copy(stream, {{gpu(0), numbers}, {host(0), pinned}, pages * 4, CopyApi::automatic});
    }
    auto const ctas = static_cast<unsigned>(std::clamp<std::uint64_t>(flow.bytes / (64 * KiB), 1, 32));
    driver->launch(stream, pages_kernel, &arguments, {ctas, 512});
    driver->synchronize(stream);
    return driver->now() - begin;
}

TEST(PageLists, OneKernelCostsWhatItCostsThroughTheDriver) {
    auto const machine = load_machine("h200-pair");
    for (auto const& flow : {list(64 * MiB, 4 * KiB), list(64 * MiB, 64 * KiB), list(4 * MiB, 512)}) {
        auto const simulated = run(machine, {flow}, Strategy::peerlane).makespan_s;
        EXPECT_NEAR(simulated, through_the_driver(machine, flow), 5e-6 + 0.01 * simulated) << flow.page;
    }
}

TEST(PageLists, TheDriverPaysForEachCall) {
    auto const machine = load_machine("h200-pair");
    auto const pages = 4096.0;
    auto const small = run(machine, {list(16 * MiB, 4 * KiB)}, Strategy::driver);
    EXPECT_GE(small.makespan_s, pages * 2e-6) << "a call and a start each";
    EXPECT_EQ(small.events, 4096U);
    EXPECT_EQ(small.flows[0].flow.page, 4096U);
    auto const ours = run(machine, {list(16 * MiB, 4 * KiB)}, Strategy::peerlane);
    EXPECT_LT(ours.makespan_s * 20, small.makespan_s);
    EXPECT_EQ(ours.plans[static_cast<std::size_t>(ours.flows[0].plan)].front().legs.front().engine, Engine::kernel);
    auto const whole = run(machine, {list(16 * MiB, 16 * MiB)}, Strategy::driver).makespan_s;
    EXPECT_NEAR(whole, run(machine, {{gpu(0), gpu(1), 16 * MiB}}, Strategy::driver).makespan_s, 1e-9);
}

TEST(PageLists, LinksCarryThePagesAndAFewBytesForEach) {
    auto const machine = load_machine("h200-pair");
    auto const simulation = run(machine, {list(64 * MiB, 4 * KiB)}, Strategy::peerlane);
    auto const out = std::find_if(simulation.links.begin(), simulation.links.end(),
                                  [](const LinkLoad& link) { return link.name == "gpu0>nvswitch:0"; });
    ASSERT_NE(out, simulation.links.end());
    EXPECT_EQ(out->bytes, 64.0 * MiB + 246.0 * 16384);
}

TEST(PageLists, WithoutPeerAccessTheyGoThroughTheHost) {
    auto const machine = load_machine("rtx3090-no-p2p-8");
    auto const ours = run(machine, {list(64 * MiB, 4 * KiB)}, Strategy::peerlane);
    ASSERT_TRUE(ours.complete()) << ours.failure;
    EXPECT_EQ(ours.plans[static_cast<std::size_t>(ours.flows[0].plan)].front().legs.size(), 2U);
    EXPECT_LE(ours.makespan_s, run(machine, {list(64 * MiB, 4 * KiB)}, Strategy::driver).makespan_s);
}

TEST(PageLists, StandBesideFlowsInOnePiece) {
    auto const machine = load_machine("dgx-1v");
    std::vector<Flow> const flows{list(8 * MiB, 64 * KiB),
                                  {gpu(2), gpu(3), 64 * MiB},
                                  {host(), gpu(1), 1 * MiB, 0, 0, 4096},
                                  {gpu(0), gpu(5), 8 * MiB, 0, 1, 4096}};
    auto const driver = run(machine, flows, Strategy::driver), ours = run(machine, flows, Strategy::peerlane);
    ASSERT_TRUE(driver.complete() && ours.complete()) << driver.failure << ours.failure;
    EXPECT_LE(ours.makespan_s, driver.makespan_s * 1.001);
    EXPECT_GE(driver.flows[3].start_s, *driver.flows[2].end_s);
}

TEST(PageLists, Refuses) {
    auto const machine = load_machine("h200-pair");
    EXPECT_THROW((void)run(machine, {list(1000, 300)}, Strategy::driver), std::invalid_argument);
    EXPECT_THROW((void)run(machine, {list(1 * GiB, 16)}, Strategy::driver), std::invalid_argument);
    EXPECT_THROW((void)run(machine, {list(4096, 512)}, Strategy::library), std::invalid_argument);
}

}  // namespace
}  // namespace peerlane
