/// The mover on real devices: every kind of memory, splits and relays by hand, captures, transfers, exchanges.

#include <gtest/gtest.h>

#include <random>

#include <peerlane/error.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/open.hpp>
#include <peerlane/units.hpp>

#include "conformance/buffer.hpp"
#include "conformance/witness.hpp"

namespace peerlane {
namespace {

using conformance::Buffer;
using conformance::Witness;

class MoverOnDevices : public testing::Test {
  protected:
    void SetUp() override {
        try {
            driver_ = open_cuda();
        } catch (const Error& error) {
            GTEST_SKIP() << error.what();
        }
        if (driver_->device_count() < 2) {
            GTEST_SKIP() << "needs two CUDA devices";
        }
        witness_.emplace(*driver_);
        mover_.emplace(*driver_, Ready{driver_->machine(), {}, true});
    }
    void TearDown() override {
        mover_.reset();
        witness_.reset();
    }
    /// Fills, runs, waits for the stream, and has the owner look.
    template <class Move>
    void expect_moved(const Buffer& to, const Buffer& from, std::uint64_t bytes, StreamView stream, Move&& move) {
        Pattern const data{++key_, 0}, poison{1'000'000 + key_, 0};
        witness_->fill(from.at(), bytes, data);
        witness_->fill(to.at(), bytes, poison);
        move();
        driver_->synchronize(stream);
        EXPECT_TRUE(witness_->holds(to.at(), bytes, data, poison))
            << from.text() << " > " << to.text() << ", " << bytes;
    }
    static Leg leg(Place from, Place to) { return {from, to, Engine::copy, from.is_device() ? from : to}; }

    std::unique_ptr<Driver> driver_;
    std::optional<Witness> witness_;
    std::optional<Mover> mover_;
    std::uint64_t key_ = 0;
};

TEST_F(MoverOnDevices, CopiesBetweenEveryKindOfMemory) {
    std::vector<std::pair<Place, MemoryKind>> kinds;
    for (auto const device : {0, 1}) {
        for (auto const kind : conformance::device_kinds(*driver_, device)) {
            kinds.emplace_back(gpu(device), kind);
        }
    }
    for (auto const kind : conformance::host_kinds) {
        kinds.emplace_back(host(), kind);
    }
    for (auto const& [from_place, from_kind] : kinds) {
        for (auto const& [to_place, to_kind] : kinds) {
            if (from_place.is_host() && to_place.is_host()) {
                continue;
            }
            for (auto const bytes : {std::uint64_t{1}, std::uint64_t{5000}, 1 * MiB + 3, 48 * MiB + 20}) {
                Buffer const from(*driver_, from_place, from_kind, bytes), to(*driver_, to_place, to_kind, bytes);
                Stream const stream(*driver_, static_cast<int>(bytes % 2));
                expect_moved(to, from, bytes, stream.view(), [&] {
                    mover_->copy(pointer_to(to.address()), pointer_to(from.address()), bytes, stream.view());
                });
            }
        }
    }
    mover_->synchronize();
}

TEST_F(MoverOnDevices, MemoryThatIsFreedIsRefusedAndTheHeapIsNot) {
    Buffer const device(*driver_, gpu(0), MemoryKind::plain, 1 * MiB);
    Stream const stream(*driver_, 0);
    Address freed = Address::null;
    {
        Buffer const gone(*driver_, gpu(1), MemoryKind::plain, 64 * MiB);
        freed = gone.address();
    }
    EXPECT_THROW(mover_->copy(pointer_to(device.address()), pointer_to(freed), 4096, stream.view()),
                 std::invalid_argument);
    EXPECT_THROW(mover_->copy(pointer_to(device.address()), nullptr, 4096, stream.view()), std::invalid_argument);
    std::vector<unsigned char> const out(1 * MiB, 7);
    std::vector<unsigned char> back(1 * MiB);
    mover_->copy(pointer_to(device.address()), out.data(), out.size(), stream.view());
    mover_->copy(back.data(), pointer_to(device.address()), back.size(), stream.view());
    driver_->synchronize(stream.view());
    EXPECT_EQ(back, out);
}

TEST_F(MoverOnDevices, CarriesOutSplitsRelaysAndStaging) {
    auto const bytes = 96 * MiB + 4100;
    Leg const push{gpu(0), gpu(1), Engine::copy, gpu(0)}, kernel{gpu(0), gpu(1), Engine::kernel, gpu(0)};
    auto const staged = std::vector{leg(gpu(0), host()), leg(host(), gpu(1))};
    struct Case {
        Place from, to;
        std::vector<Route> routes;
    };
    std::vector<Case> const cases{
        {gpu(0), gpu(1), {{0.9, {push}, 0, 0}, {0.1, staged, 2 * MiB, 4}}},
        {gpu(0), gpu(1), {{1.0, staged, 4 * MiB, 4}}},
        {gpu(0), gpu(1), {{0.5, {kernel}, 0, 0}, {0.5, {push}, 0, 0}}},
        {host(),
         gpu(0),
         {{0.5, {leg(host(), gpu(0))}, 0, 0},
          {0.5, {leg(host(), gpu(1)), {gpu(1), gpu(0), Engine::copy, gpu(1)}}, 8 * MiB, 4}}},
        {gpu(0), host(), {{0.5, {leg(gpu(0), host())}, 0, 0}, {0.5, {push, leg(gpu(1), host())}, 8 * MiB, 4}}}};
    for (auto const& [from_place, to_place, routes] : cases) {
        Choice choice;
        choice.bytes = bytes;
        choice.routes = routes;
        auto const kind = [](Place place) { return place.is_host() ? MemoryKind::pinned : MemoryKind::plain; };
        Buffer const from(*driver_, from_place, kind(from_place), bytes), to(*driver_, to_place, kind(to_place), bytes);
        for (int device = 0; device < 2; ++device) {
            Stream const stream(*driver_, device);
            for (int round = 0; round < 6; ++round) {
                expect_moved(to, from, bytes, stream.view(),
                             [&] { mover_->carry_out(choice, to.at(), from.at(), stream.view()); });
            }
        }
    }
    mover_->synchronize();
}

TEST_F(MoverOnDevices, CapturesAreReplayedAndGiveBackTheirBuffers) {
    auto const bytes = 24 * MiB + 12;
    auto const staged = std::vector{leg(gpu(0), host()), leg(host(), gpu(1))};
    Choice through_host;
    through_host.bytes = bytes;
    through_host.routes = {{1.0, staged, 2 * MiB, 4}};
    Buffer const from(*driver_, gpu(0), MemoryKind::plain, bytes), to(*driver_, gpu(1), MemoryKind::plain, bytes);
    for (int device = 0; device < 2; ++device) {
        Stream const stream(*driver_, device), other(*driver_, device);
        for (auto const by_hand : {false, true}) {
            driver_->begin_capture(stream.view());
            if (by_hand) {
                mover_->carry_out(through_host, to.at(), from.at(), stream.view());
            } else {
                mover_->copy(pointer_to(to.address()), pointer_to(from.address()), bytes, stream.view());
            }
            auto const graph = driver_->end_capture(stream.view());
            for (int round = 0; round < 3; ++round) {
                expect_moved(to, from, bytes, stream.view(), [&] {
                    driver_->launch_graph(graph, stream.view());
                    driver_->launch_graph(graph, other.view());
                    driver_->synchronize(other.view());
                });
            }
            driver_->destroy_graph(graph);
        }
    }
    Buffer const pageable(*driver_, host(), MemoryKind::pageable, bytes);
    Stream const stream(*driver_, 0);
    driver_->begin_capture(stream.view());
    EXPECT_THROW(mover_->copy(pointer_to(from.address()), pointer_to(pageable.address()), bytes, stream.view()), Error);
    mover_->copy(pointer_to(to.address()), pointer_to(from.address()), bytes, stream.view());
    driver_->destroy_graph(driver_->end_capture(stream.view()));
    mover_->synchronize();
}

TEST_F(MoverOnDevices, TransfersAndExchangesArrive) {
    auto const bytes = 512 * MiB + 4;
    Buffer const a(*driver_, gpu(0), MemoryKind::plain, bytes), b(*driver_, gpu(1), MemoryKind::plain, bytes);
    Stream const stream(*driver_, 0);
    expect_moved(b, a, bytes, stream.view(), [&] {
        auto transfer = mover_->transfer(pointer_to(b.address()), pointer_to(a.address()), bytes);
        EXPECT_EQ(transfer.wait(), TransferProgress::State::done);
    });
    Buffer const c(*driver_, gpu(1), MemoryKind::plain, bytes), d(*driver_, gpu(0), MemoryKind::plain, bytes);
    Pattern const of_b{77, 0};
    witness_->fill(b.at(), bytes, of_b);
    expect_moved(c, a, bytes, stream.view(), [&] {
        std::vector<ExchangeCopy> const copies{{pointer_to(c.address()), pointer_to(a.address()), bytes},
                                               {pointer_to(d.address()), pointer_to(b.address()), bytes}};
        auto const exchange = mover_->exchange(copies, stream.view());
        EXPECT_GT(exchange.wait(), 0.0);
    });
    EXPECT_TRUE(witness_->holds(d.at(), bytes, of_b, {}));
    mover_->synchronize();
}

}  // namespace
}  // namespace peerlane
