#include <gtest/gtest.h>

#include <random>

#include <peerlane/error.hpp>

#include "move/schedule.hpp"
#include "unit/mover/rig.hpp"

namespace peerlane {
namespace {

using namespace testing_mover;

// Link 0 serves one, link 1 two at a time.
TEST(Schedule, GivesEachLinkWhatItServes) {
    auto const placed =
        move::schedule({{1, 10, {0}}, {2, 10, {0}}, {1, 10, {1}}, {1, 10, {1}}, {1, 10, {1}}}, {10, 20});
    EXPECT_EQ(std::min(placed[0].start_s, placed[1].start_s), 0);
    EXPECT_EQ(std::max(placed[0].end_s, placed[1].end_s), 3);
    EXPECT_EQ(placed[2].start_s, 0);
    EXPECT_EQ(placed[3].start_s, 0);
    EXPECT_EQ(placed[4].start_s, 1);
    EXPECT_EQ(placed[4].after.size(), 1u);
}

TEST(Schedule, NeverOverbooksALinkAndOrdersWhatSharesOne) {
    std::mt19937_64 random(5);
    for (int round = 0; round < 100; ++round) {
        std::vector<double> capacity(random() % 6 + 1);
        for (auto& c : capacity) {
            c = static_cast<double>(random() % 4 + 1) * 10;
        }
        std::vector<move::Task> tasks(random() % 30 + 1);
        for (auto& task : tasks) {
            task.seconds = static_cast<double>(random() % 9 + 1);
            task.rate = 10;
            for (std::size_t link = 0; link < capacity.size(); ++link) {
                if (random() % 3 == 0) {
                    task.links.push_back(static_cast<int>(link));
                }
            }
        }
        auto const placed = move::schedule(tasks, capacity);
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            ASSERT_NEAR(placed[i].end_s - placed[i].start_s, tasks[i].seconds, 1e-9);
            for (auto const before : placed[i].after) {
                ASSERT_LE(placed[before].end_s, placed[i].start_s + 1e-9);
            }
            for (auto const link : tasks[i].links) {
                auto used = 0.0;
                for (std::size_t j = 0; j < tasks.size(); ++j) {
                    auto const here = std::count(tasks[j].links.begin(), tasks[j].links.end(), link) != 0;
                    used += here && placed[j].start_s <= placed[i].start_s && placed[i].start_s < placed[j].end_s
                                ? tasks[j].rate
                                : 0;
                }
                ASSERT_LE(used, capacity[static_cast<std::size_t>(link)] * 1.05);
            }
        }
    }
}

struct AllToAll {
    AllToAll(Rig& r, std::uint64_t b) : rig(r), bytes(b), n(r.driver->device_count()) {
        for (int i = 0; i < n; ++i) {
            from.push_back(std::make_unique<Bytes>(*rig.driver, gpu(i), bytes * static_cast<unsigned>(n)));
            to.push_back(std::make_unique<Bytes>(*rig.driver, gpu(i), bytes * static_cast<unsigned>(n)));
            from.back()->fill({static_cast<std::uint64_t>(i) + 1, 0});
        }
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                if (i != j) {
                    copies.push_back({at(to, j, i), at(from, i, j), bytes});
                }
            }
        }
    }
    void* at(std::vector<std::unique_ptr<Bytes>>& side, int device, int part) {
        return side[static_cast<std::size_t>(device)]->pointer(bytes * static_cast<unsigned>(part));
    }
    void expect_right() {
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                if (i != j) {
                    EXPECT_EQ(to[static_cast<std::size_t>(j)]->look(
                                  {static_cast<std::uint64_t>(i) + 1, bytes * static_cast<unsigned>(j)},
                                  bytes * static_cast<unsigned>(i), bytes),
                              CheckOutcome{})
                        << i << " > " << j;
                }
            }
        }
    }
    /// All at once, each copy in a stream of its own.
    double naive() {
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                static_cast<void>(rig.driver->enable_access({i, j}));
            }
        }
        std::vector<Stream> streams;
        for (auto const& copy : copies) {
            streams.emplace_back(*rig.driver, rig.driver->provenance(address_of(copy.from)).place.index);
        }
        auto const start = rig.driver->now();
        for (std::size_t i = 0; i < copies.size(); ++i) {
            rig.driver->copy(streams[i].view(),
                             {{rig.driver->provenance(address_of(copies[i].to)).place, address_of(copies[i].to)},
                              {gpu(streams[i].device()), address_of(copies[i].from)},
                              bytes,
                              CopyApi::peer});
        }
        for (auto const& stream : streams) {
            rig.driver->synchronize(stream.view());
        }
        return rig.driver->now() - start;
    }
    Rig& rig;
    std::uint64_t bytes;
    int n;
    std::vector<std::unique_ptr<Bytes>> from, to;
    std::vector<ExchangeCopy> copies;
};

TEST(Exchange, AllToAllAgainstNaive) {
    struct Case {
        const char* machine;
        double gain;  ///< naive to ours, at least
    };
    for (auto const& [machine, gain] :
         {Case{"rtx4090-8-dual-epyc", 1.2}, {"dgx-1v", 1.2}, {"mi300x-8", 1.2}, {"h100-8", 0.97}, {"h200-8", 0.97}}) {
        Rig rig(machine);
        AllToAll all(rig, 64_MiB);
        Stream stream(*rig.driver, 0);
        rig.mover->exchange(all.copies, stream.view()).wait();  // makes mappings and buffers
        auto const exchange = rig.mover->exchange(all.copies, stream.view());
        EXPECT_FALSE(exchange.done());
        auto const achieved = exchange.wait();
        EXPECT_TRUE(exchange.done());
        all.expect_right();
        auto const naive = all.naive();
        EXPECT_GE(naive / achieved, gain) << machine;
        EXPECT_NEAR(exchange.predicted_s() / achieved, 1.0, 0.5) << machine;
        EXPECT_EQ(exchange.plan().size(), all.copies.size());
    }
}

/// Every leg takes up to so much longer or shorter than nominally: no two links are measured alike.
Profile measured(const Machine& machine, double noise) {
    auto profile = nominal_profile(machine);
    std::mt19937_64 random(3);
    for (auto& curve : profile.legs) {
        auto const factor = 1 + noise * (static_cast<double>(random() % 2001) / 1000 - 1);
        for (auto* const side : {&curve.curve, &curve.queued}) {
            for (auto& point : side->points) {
                point.seconds *= factor;
            }
        }
    }
    return profile;
}

/// What the runtime tells of a machine: neither links nor nodes.
Machine undescribed(Machine machine) {
    Machine seen;
    seen.devices = machine.devices;
    for (auto& device : seen.devices) {
        device.numa.reset();
    }
    for (auto const& pair : machine.pairs) {
        auto& one = seen.pairs.emplace_back();
        one.accessor = pair.accessor;
        one.owner = pair.owner;
        one.claim = pair.claim;
    }
    return seen;
}

/// What the system shows of a guest: PCIe, and that there is a fabric, but not its links.
Machine without_fabric_links(Machine machine) {
    std::erase_if(machine.graph.links, [](const Link& link) { return link.kind == LinkKind::nvlink; });
    return machine;
}

// A device sends to one and receives from one at a time: all to all of n takes n - 1 rounds, and no order in which the
// copies are named, no noise in what was measured and no want of a description may cost a further one.
TEST(Exchange, AllToAllTakesARoundForEachPeer) {
    Machine (*const descriptions[])(Machine) = {[](Machine machine) { return machine; }, without_fabric_links,
                                                undescribed};
    for (auto described = 0; described < 3; ++described) {
        Rig rig("h200-8");
        auto const machine = rig.driver->machine();
        rig.mover = std::make_unique<Mover>(*rig.driver,
                                            Ready{descriptions[described](machine), {}, true, measured(machine, 0.02)});
        AllToAll all(rig, 64_MiB);
        double one = 0;  // round, as two devices need it
        Stream stream(*rig.driver, 0);
        std::mt19937_64 random(4);
        for (int n = 2; n <= 8; ++n) {
            std::vector<ExchangeCopy> copies;
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j < n; ++j) {
                    if (i != j) {
                        copies.push_back({all.at(all.to, j, i), all.at(all.from, i, j), 64_MiB});
                    }
                }
            }
            for (auto const shuffled : {false, true}) {
                if (shuffled) {
                    std::shuffle(copies.begin(), copies.end(), random);
                }
                auto const exchange = rig.mover->exchange(copies, stream.view());
                one = n == 2 ? exchange.predicted_s() : one;
                EXPECT_LE(exchange.predicted_s(), one * (n - 1) * 1.06) << n << shuffled << described;
                auto const again = rig.mover->exchange(copies, stream.view());
                EXPECT_EQ(again.predicted_s(), exchange.predicted_s());
                EXPECT_NEAR(exchange.predicted_s() / again.wait(), 1, 0.12) << n << shuffled << described;
            }
        }
        all.expect_right();
    }
}

// Every pair has a link of its own, each a little slower than the way through the host, which all pairs have in common.
TEST(Exchange, WhatIsBestAloneMayTakeLinksThatOthersNeed) {
    Rig rig("mi300x-8");
    auto profile = nominal_profile(rig.driver->machine());
    for (auto& curve : profile.legs) {
        if (curve.leg.from.is_device() && curve.leg.to.is_device()) {
            for (auto* const side : {&curve.curve, &curve.queued}) {
                for (auto& point : side->points) {
                    point.seconds *= 1.4;
                }
            }
        }
    }
    rig.mover = std::make_unique<Mover>(*rig.driver, Ready{rig.driver->machine(), {}, true, profile});
    AllToAll all(rig, 64_MiB);
    Stream stream(*rig.driver, 0);
    auto const one = rig.mover->exchange(std::span(all.copies).first(1), stream.view());
    EXPECT_EQ(one.plan().front().route.legs.size(), 2u) << "staged, or over another device";
    (void)one.wait();
    auto const exchange = rig.mover->exchange(all.copies, stream.view());
    for (auto const& copy : exchange.plan()) {
        EXPECT_EQ(copy.route.legs.size(), 1u) << describe(copy.route);
    }
    auto const achieved = exchange.wait();
    all.expect_right();
    EXPECT_GE(all.naive() / achieved, 1.2);
}

TEST(Schedule, WhatIsAlikeKeepsTheOrderInWhichItIsNamed) {
    // Two senders (links 0, 1), two receivers (links 2, 3). By the soonest start alone the third task would be the one
    // of the sender that is ready a little sooner, whose receiver is not.
    std::vector<move::Task> const tasks{{1.00, 1, {0, 2}}, {0.98, 1, {1, 3}}, {1.01, 1, {0, 3}}, {0.99, 1, {1, 2}}};
    auto const placed = move::schedule(tasks, {0, 0, 0, 0});
    EXPECT_NEAR(std::max(placed[2].end_s, placed[3].end_s), 2.01, 0.011);
    EXPECT_DOUBLE_EQ(move::least_makespan(tasks, {0, 0, 0, 0}), 2.01);
    EXPECT_DOUBLE_EQ(move::least_makespan({{3, 1, {0}}, {1, 1, {0}}}, {-2}), 3);
}

TEST(Exchange, IsOrderedWithItsStreamAndRefusesWhatItCannot) {
    Rig rig("h200-pair");
    Bytes source(*rig.driver, gpu(0), 8_MiB), target(*rig.driver, gpu(1), 8_MiB), back(*rig.driver, host(), 8_MiB);
    Bytes pageable(*rig.driver, host(), 8_MiB, MemoryKind::pageable);
    Stream stream(*rig.driver, 1);
    FillArguments const arguments{target.at().address, target.bytes(), {4, 0}, 16};
    rig.driver->launch(stream.view(), fill_kernel, &arguments);
    std::vector<ExchangeCopy> const there{{source.pointer(), target.pointer(), 8_MiB}};
    std::vector<ExchangeCopy> const home{{back.pointer(), source.pointer(), 8_MiB}};
    static_cast<void>(rig.mover->exchange(there, stream.view()));
    static_cast<void>(rig.mover->exchange(home, stream.view()));
    rig.driver->synchronize(stream.view());
    EXPECT_EQ(back.look({4, 0}), CheckOutcome{});
    std::vector<ExchangeCopy> const wrong{{target.pointer(), pageable.pointer(), 8_MiB}};
    EXPECT_THROW(static_cast<void>(rig.mover->exchange(wrong, stream.view())), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(rig.mover->exchange(
                     std::vector<ExchangeCopy>{{target.pointer(), source.pointer(), 0}}, stream.view())),
                 std::invalid_argument);
    auto const nothing = rig.mover->exchange({}, stream.view());
    EXPECT_GE(nothing.wait(), 0.0);
    rig.driver->begin_capture(stream.view());
    EXPECT_THROW(static_cast<void>(rig.mover->exchange(there, stream.view())), Error);
    rig.driver->destroy_graph(rig.driver->end_capture(stream.view()));
}

}  // namespace
}  // namespace peerlane
