#include <gtest/gtest.h>

#include <functional>
#include <random>

#include <peerlane/auditing.hpp>

#include "unit/mover/rig.hpp"

namespace peerlane {
namespace {

using namespace testing_mover;

/// What the audit has to say of the moves, races above all.
std::string audited(const std::string& machine, const std::function<void(Driver&, Mover&)>& moves) {
    auto const inner = open_simulated(load_machine(machine));
    auto const watched = make_auditing(*inner);
    {
        Mover mover(*watched, Ready{watched->machine(), {}, true});
        moves(*watched, mover);
        mover.synchronize();
    }
    std::string text;
    for (auto const& finding : watched->findings()) {
        text += finding.text + "\n";
    }
    return text;
}

TEST(Audited, SplitsRelaysAndStagingInManyStreamsHaveNoRaces) {
    for (auto const* const machine : {"v100-partial-mesh", "h200-pair"}) {
        auto const text = audited(machine, [](Driver& driver, Mover& mover) {
            std::mt19937_64 random(11);
            auto const n = static_cast<std::uint64_t>(driver.device_count());
            std::vector<std::unique_ptr<Bytes>> memory;
            std::vector<Stream> streams;
            for (int i = 0; i < 6; ++i) {
                streams.emplace_back(driver, static_cast<int>(random() % n));
            }
            for (int i = 0; i < 24; ++i) {
                auto const a = gpu(static_cast<int>(random() % n));
                auto b = gpu(static_cast<int>(random() % n));
                b = b == a ? host() : b;
                auto const bytes = random() % (96_MiB) + 1;
                memory.push_back(std::make_unique<Bytes>(driver, a, bytes));
                memory.push_back(std::make_unique<Bytes>(driver, b, bytes));
                auto const& from = *memory[memory.size() - 2];
                auto const& to = *memory.back();
                auto const& stream = streams[random() % streams.size()];
                mover.copy(to.pointer(), from.pointer(), bytes, stream.view());
                mover.copy(from.pointer(), to.pointer(), bytes, stream.view());
            }
            for (auto const& stream : streams) {
                driver.synchronize(stream.view());
            }
        });
        EXPECT_EQ(text, "") << machine;
    }
}

TEST(Audited, TransfersAndExchangesHaveNoRaces) {
    auto const text = audited("v100-partial-mesh", [](Driver& driver, Mover& mover) {
        Bytes a(driver, gpu(0), 64_MiB), b(driver, gpu(3), 64_MiB), c(driver, gpu(1), 64_MiB),
            d(driver, gpu(2), 64_MiB);
        EXPECT_EQ(mover.transfer(b.pointer(), a.pointer(), 64_MiB).wait(), TransferProgress::State::done);
        Stream stream(driver, 0);
        std::vector<ExchangeCopy> const copies{{c.pointer(), a.pointer(), 32_MiB},
                                               {d.pointer(), a.pointer(32_MiB), 32_MiB},
                                               {c.pointer(32_MiB), b.pointer(), 32_MiB},
                                               {d.pointer(32_MiB), b.pointer(32_MiB), 32_MiB}};
        mover.exchange(copies, stream.view()).wait();
        mover.exchange(copies, stream.view()).wait();
    });
    EXPECT_EQ(text, "");
}

TEST(Audited, PageableMemoryIsNeverRaced) {
    auto const text = audited("h200-pair", [](Driver& driver, Mover& mover) {
        Bytes before(driver, host(), 9_MiB, MemoryKind::pageable), after(driver, host(), 9_MiB, MemoryKind::pageable);
        Bytes there(driver, gpu(0), 9_MiB);
        Stream stream(driver, 0);
        before.fill({3, 0});
        mover.copy(there.pointer(), before.pointer(), 9_MiB, stream.view());
        mover.copy(after.pointer(), there.pointer(), 9_MiB, stream.view());
        driver.synchronize(stream.view());
        EXPECT_EQ(after.look({3, 0}), CheckOutcome{});
    });
    EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace peerlane
