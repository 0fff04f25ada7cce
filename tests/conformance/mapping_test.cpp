#include <algorithm>
#include <atomic>
#include <barrier>
#include <thread>

#include "conformance/fixture.hpp"

namespace peerlane::conformance {
namespace {

using Kind = MappingOutcome::Kind;

}  // namespace

TEST_P(Enabling, NoDeviceClaimsToBeItsOwnPeer) {
    for (int device = 0; device < devices(); ++device) {
        EXPECT_FALSE(driver().can_access(device, device));
    }
}

TEST_P(Enabling, AClaimAboutADeviceThatIsNotThereIsRefused) {
    EXPECT_THROW((void)driver().can_access(0, devices()), std::invalid_argument);
    EXPECT_THROW((void)driver().can_access(devices(), 0), std::invalid_argument);
    EXPECT_THROW((void)driver().can_access(-1, 0), std::invalid_argument);
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(Enabling, IsDoneTheFirstTimeAndAlreadyTheSecondWithoutALastError) {
    auto const first = driver().enable_access({1, 0});
    EXPECT_EQ(first.kind, Kind::done);
    EXPECT_EQ(first.code, 0);
    EXPECT_EQ(driver().last_error(), 0);
    EXPECT_EQ(driver().enable_access({1, 0}).kind, Kind::already);
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(Enabling, OneDirectionSaysNothingOfTheOther) {
    EXPECT_EQ(driver().enable_access({1, 0}).kind, Kind::done);
    EXPECT_EQ(driver().enable_access({0, 1}).kind, Kind::done);
    EXPECT_EQ(driver().disable_access({1, 0}).kind, Kind::done);
    EXPECT_EQ(driver().enable_access({0, 1}).kind, Kind::already);
}

TEST_P(Enabling, AfterDisablingItCanBeEnabledAgain) {
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(driver().enable_access({0, 1}).kind, Kind::done) << "round " << round;
        EXPECT_EQ(driver().disable_access({0, 1}).kind, Kind::done) << "round " << round;
    }
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(Enabling, DisablingWhatWasNotEnabledIsRefusedWith705) {
    auto const outcome = driver().disable_access({1, 0});
    EXPECT_EQ(outcome.kind, Kind::refused);
    EXPECT_EQ(outcome.code, code::peer_access_not_enabled);
    EXPECT_EQ(driver().last_error(), 0);
    enable(1, 0);
    EXPECT_EQ(driver().disable_access({0, 1}).code, code::peer_access_not_enabled)
        << "only the other direction was enabled";
}

TEST_P(Enabling, ADeviceCannotEnableItself) {
    for (int device = 0; device < devices(); ++device) {
        auto const outcome = driver().enable_access({device, device});
        EXPECT_EQ(outcome.kind, Kind::refused);
        EXPECT_EQ(outcome.code, code::peer_access_unsupported);
        EXPECT_EQ(driver().last_error(), 0);
    }
}

TEST_P(Enabling, ADeviceThatIsNotThereIsRefusedWith101) {
    for (auto const edge : {AccessEdge{0, devices()}, AccessEdge{devices(), 0}, AccessEdge{0, -1}, AccessEdge{-1, 0}}) {
        auto const outcome = driver().enable_access(edge);
        EXPECT_EQ(outcome.kind, Kind::refused) << edge.accessor << ":" << edge.owner;
        EXPECT_EQ(outcome.code, code::invalid_device) << edge.accessor << ":" << edge.owner;
        EXPECT_EQ(driver().disable_access(edge).kind, Kind::refused) << edge.accessor << ":" << edge.owner;
        EXPECT_EQ(driver().last_error(), 0);
    }
}

TEST_P(Enabling, ProvenanceListsThePlainMemoryOfTheOwnerToTheAccessorAlone) {
    Buffer const before(driver(), gpu(0), MemoryKind::plain, 4096), other(driver(), gpu(1), MemoryKind::plain, 4096);
    EXPECT_EQ(driver().provenance(before.address()).kernel_access, std::vector<int>{0});
    enable(1, 0);
    Buffer const after(driver(), gpu(0), MemoryKind::plain, 4096);
    EXPECT_EQ(driver().provenance(before.address()).kernel_access, (std::vector<int>{0, 1}));
    EXPECT_EQ(driver().provenance(after.address()).kernel_access, (std::vector<int>{0, 1}));
    EXPECT_EQ(driver().provenance(other.address()).kernel_access, std::vector<int>{1});
    driver().disable_access({1, 0});
    EXPECT_EQ(driver().provenance(before.address()).kernel_access, std::vector<int>{0});
}

TEST_P(Enabling, ChangesNothingThatTheOwnerHolds) {
    Buffer const memory(driver(), gpu(0), MemoryKind::plain, 1 * MiB);
    Content const content(1);
    witness().fill(memory.at(), memory.bytes(), content.data);
    enable_both();
    EXPECT_TRUE(witness().holds(memory.at(), memory.bytes(), content.data, content.poison));
    driver().disable_access({1, 0});
    driver().disable_access({0, 1});
    EXPECT_TRUE(witness().holds(memory.at(), memory.bytes(), content.data, content.poison));
}

// CUDA.jl#2457: two users enable the same pair at once.
TEST_P(PeerThreads, TwoThreadsThatEnableTheSamePairBothGetAValue) {
    constexpr int rounds = 1000;
    std::atomic<int> failures = 0, wrong_pairs_of_outcomes = 0;
    MappingOutcome outcomes[2];
    std::barrier meet(2);
    auto const user = [&](int me) {
        for (int round = 0; round < rounds; ++round) {
            meet.arrive_and_wait();
            try {
                outcomes[me] = driver().enable_access({0, 1});
                failures += driver().last_error() != 0;
            } catch (...) {
                ++failures;
            }
            meet.arrive_and_wait();
            if (me == 0) {
                auto const done = (outcomes[0].kind == Kind::done) + (outcomes[1].kind == Kind::done);
                auto const already = (outcomes[0].kind == Kind::already) + (outcomes[1].kind == Kind::already);
                wrong_pairs_of_outcomes += done != 1 || already != 1;
                try {
                    failures += driver().disable_access({0, 1}).kind != Kind::done;
                } catch (...) {
                    ++failures;
                }
            }
        }
    };
    std::thread second(user, 1);
    user(0);
    second.join();
    EXPECT_EQ(failures, 0) << "exceptions, last errors, or a pair that was not enabled";
    EXPECT_EQ(wrong_pairs_of_outcomes, 0) << "one of the two must be done, the other already";
}

TEST_P(PeerThreads, EnablingOppositeDirectionsAtOnceGivesBoth) {
    constexpr int rounds = 50;
    std::atomic<int> failures = 0;
    std::barrier meet(2);
    auto const user = [&](int me) {
        for (int round = 0; round < rounds; ++round) {
            meet.arrive_and_wait();
            try {
                failures += driver().enable_access({me, 1 - me}).kind != Kind::done;
                failures += driver().disable_access({me, 1 - me}).kind != Kind::done;
            } catch (...) {
                ++failures;
            }
        }
    };
    std::thread second(user, 1);
    user(0);
    second.join();
    EXPECT_EQ(failures, 0);
}

TEST_P(LimitedMappings, TheNinthPeerGetsNoSlotAndTheEightBeforeItStay) {
    open(Rig::eight_slots, 10);
    if (IsSkipped()) {
        return;
    }
    for (int owner = 1; owner <= 8; ++owner) {
        EXPECT_EQ(driver().enable_access({0, owner}).kind, Kind::done) << "owner " << owner;
    }
    auto const ninth = driver().enable_access({0, 9});
    EXPECT_EQ(ninth.kind, Kind::no_slot);
    EXPECT_FALSE(ninth.usable());
    EXPECT_EQ(driver().last_error(), 0);
    for (int owner = 1; owner <= 8; ++owner) {
        EXPECT_EQ(driver().enable_access({0, owner}).kind, Kind::already) << "owner " << owner;
        Buffer const memory(driver(), gpu(owner), MemoryKind::plain, 4096);
        EXPECT_TRUE(witness().reached(memory, 0));
    }
    Buffer const beyond(driver(), gpu(9), MemoryKind::plain, 4096);
    EXPECT_FALSE(listed(beyond.address(), 0));
}

TEST_P(LimitedMappings, DisablingOnePeerMakesRoomForAnother) {
    open(Rig::eight_slots, 10);
    if (IsSkipped()) {
        return;
    }
    for (int owner = 1; owner <= 8; ++owner) {
        enable(0, owner);
    }
    EXPECT_EQ(driver().enable_access({0, 9}).kind, Kind::no_slot);
    EXPECT_EQ(driver().disable_access({0, 3}).kind, Kind::done);
    EXPECT_EQ(driver().enable_access({0, 9}).kind, Kind::done);
    EXPECT_EQ(driver().enable_access({0, 3}).kind, Kind::no_slot);
}

TEST_P(LimitedMappings, ARefusedPairStillCopiesThroughTheDriver) {
    open(Rig::eight_slots, 10);
    if (IsSkipped()) {
        return;
    }
    for (int owner = 1; owner <= 9; ++owner) {
        driver().enable_access({0, owner});
    }
    Buffer const from(driver(), gpu(0), MemoryKind::plain, 1 * MiB), to(driver(), gpu(9), MemoryKind::plain, 1 * MiB);
    EXPECT_TRUE(witness().copies(witness().stream(0), to, from, CopyApi::peer));
}

TEST_P(LimitedMappings, AMappingThatTheDriverRefusesIsAValueWithItsCode) {
    open(Rig::refused_mapping, 2);
    if (IsSkipped()) {
        return;
    }
    EXPECT_TRUE(driver().can_access(0, 1)) << "the claim says nothing of it";
    auto const outcome = driver().enable_access({0, 1});
    EXPECT_EQ(outcome.kind, Kind::refused);
    EXPECT_EQ(outcome.code, code::map_failed);
    EXPECT_EQ(driver().last_error(), 0);
    EXPECT_EQ(driver().enable_access({1, 0}).kind, Kind::done) << "the other direction is a mapping of its own";
}

}  // namespace peerlane::conformance
