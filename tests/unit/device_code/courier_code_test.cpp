/// The courier's device code as one thread on the host: what is in its rings is carried, whatever its alignment, and it
/// leaves. (device_code_test.cpp has the other kernels.)

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include <peerlane/device.cuh>

#include "kernels/courier.cu"

namespace peerlane::cuda {
namespace {

constexpr std::uint32_t slots = 8;

struct Rig {
    CourierShared shared{};
    MessageSlot ring[slots]{};
    CourierLocal local{};
    std::vector<unsigned char> from, to, expected;

    Rig() : from(4096), to(4096), expected(4096) {
        for (std::size_t i = 0; i < from.size(); ++i) {
            from[i] = static_cast<unsigned char>(pattern_byte({5, 0}, i));
        }
    }
    static MessageSlot slot(std::uint32_t number, const MessageOrder& order) {
        std::uint32_t const words[8] = {static_cast<std::uint32_t>(order.to),
                                        static_cast<std::uint32_t>(order.to >> 32),
                                        static_cast<std::uint32_t>(order.from),
                                        static_cast<std::uint32_t>(order.from >> 32),
                                        static_cast<std::uint32_t>(order.flag),
                                        static_cast<std::uint32_t>(order.flag >> 32),
                                        order.bytes,
                                        order.value};
        MessageSlot made;
        for (std::size_t i = 0; i < 8; ++i) {
            made.pairs[i] = {words[i], number};
        }
        return made;
    }
    MessageOrder order(std::size_t at_to, std::size_t at_from, std::uint32_t bytes, std::uint32_t* flag = nullptr) {
        std::memcpy(expected.data() + at_to, from.data() + at_from, bytes);
        return {reinterpret_cast<std::uint64_t>(to.data() + at_to),
                reinterpret_cast<std::uint64_t>(from.data() + at_from), reinterpret_cast<std::uint64_t>(flag), bytes,
                7};
    }
    void put(std::uint32_t number, const MessageOrder& made) { ring[(number - 1) % slots] = slot(number, made); }
    cudaError_t run(std::uint32_t residence, std::uint32_t entry = 0, std::uint32_t use = 0, double idle_s = 50e-6) {
        CourierArguments const a{
            address_of(&shared), address_of(ring), address_of(&local), slots, residence, entry, use, idle_s, 1e-3, 1};
        return device_code_courier.launch({nullptr, 1, {1, 1}}, &a);
    }
};

TEST(DeviceCodeCourier, CarriesEveryAlignmentAndSize) {
    std::mt19937 random(4);
    Rig rig;
    std::uint32_t number = 0, residence = 0;
    for (int round = 0; round < 400; ++round) {
        auto const count = 1 + random() % slots;
        for (unsigned i = 0; i < count; ++i) {
            auto const bytes = static_cast<std::uint32_t>(random() % 400);
            rig.put(++number, rig.order(random() % 3600, random() % 3600, bytes));
        }
        ASSERT_EQ(rig.run(++residence), cudaSuccess);
        ASSERT_EQ(rig.shared.done, number);
        ASSERT_EQ(rig.shared.left, residence);
        ASSERT_EQ(rig.to, rig.expected) << "round " << round;
    }
}

TEST(DeviceCodeCourier, ANumberIsTakenOnlyWhereAllEightAreThere) {
    Rig rig;
    rig.put(1, rig.order(0, 0, 64));
    for (std::size_t i = 0; i < 8; ++i) {
        auto const whole = rig.ring[0];
        rig.ring[0].pairs[i].number = 0;
        ASSERT_EQ(rig.run(1), cudaSuccess);
        EXPECT_EQ(rig.shared.done, 0U) << "pair " << i << " had not arrived";
        rig.ring[0] = whole;
    }
    ASSERT_EQ(rig.run(2), cudaSuccess);
    EXPECT_EQ(rig.shared.done, 1U);
}

TEST(DeviceCodeCourier, AnAskedOneLeavesAndStillCarriesWhatIsPosted) {
    Rig rig;
    std::uint32_t flag = 0;
    rig.shared.leave = 3;
    rig.put(1, rig.order(0, 0, 64));
    rig.put(2, rig.order(100, 50, 64, &flag));
    ASSERT_EQ(rig.run(3, 0, 0, 1000), cudaSuccess);
    EXPECT_EQ(rig.shared.done, 2U);
    EXPECT_EQ(flag, 7U);
    EXPECT_EQ(rig.to, rig.expected);
}

TEST(DeviceCodeCourier, TheRingIsUsedOverAndOverAcrossTheWrapOfNumbers) {
    Rig rig;
    rig.local.taken = rig.shared.done = 0xfffffff0U;  // every slot was used when the numbers begin anew
    std::uint32_t number = rig.local.taken;
    for (std::uint32_t i = 0; i < 24; ++i) {
        ++number;
        rig.put(number, rig.order(i * 16, i * 32, 16));
        ASSERT_EQ(rig.run(i + 1), cudaSuccess);
        ASSERT_EQ(rig.shared.done, number);
    }
    EXPECT_EQ(rig.to, rig.expected);
}

TEST(DeviceCodeCourier, AKernelsMessagesAndTheirWaits) {
    Rig rig;
    std::uint32_t flag = 0;
    auto* const ring = &rig.local.ring;
    std::vector<device::Posted> posted;
    for (std::uint32_t i = 0; i < DeviceRing::slots; ++i) {
        auto const order = rig.order(i * 16, i * 8, 16);
        posted.push_back(device::post(ring, reinterpret_cast<void*>(order.to), reinterpret_cast<void*>(order.from), 16,
                                      &flag, i + 1, 1000));
        ASSERT_TRUE(posted.back().accepted);
    }
    EXPECT_FALSE(device::post(ring, rig.to.data(), rig.from.data(), 1, nullptr, 0, 100000).accepted) << "it is full";
    EXPECT_FALSE(device::wait(ring, posted.front(), 100000)) << "nobody is there";
    ASSERT_EQ(rig.run(1), cudaSuccess);
    EXPECT_TRUE(device::wait(ring, posted.back(), 0));
    EXPECT_FALSE(device::wait(ring, {}, 1000));
    EXPECT_EQ(flag, DeviceRing::slots);
    EXPECT_EQ(rig.to, rig.expected);
    EXPECT_TRUE(device::post(ring, rig.to.data(), rig.from.data(), 0, nullptr, 0, 0).accepted);
}

TEST(DeviceCodeCourier, AStreamsMessageIsCarriedOnceByWhoeverComesFirst) {
    for (auto const resident_first : {true, false}) {
        Rig rig;
        rig.shared.stream_slot[5] = Rig::slot(1, rig.order(10, 20, 30));
        rig.local.doorbell[5] = 1;
        ASSERT_EQ(resident_first ? rig.run(1) : rig.run(0, 6, 1), cudaSuccess);
        EXPECT_EQ(rig.shared.stream_done[5], 1U);
        EXPECT_EQ(rig.to, rig.expected);
        std::fill(rig.to.begin(), rig.to.end(), 0);
        ASSERT_EQ(resident_first ? rig.run(0, 6, 1) : rig.run(1), cudaSuccess);
        EXPECT_EQ(rig.to, std::vector<unsigned char>(4096)) << "it was carried again";
        rig.local.doorbell[5] = 2;
        rig.shared.stream_slot[5] = Rig::slot(2, rig.order(10, 20, 30));
        ASSERT_EQ(rig.run(2), cudaSuccess);
        EXPECT_EQ(rig.shared.stream_done[5], 2U);
    }
}

TEST(DeviceCodeCourier, ABusyHostHoldsNobodyElse) {
    Rig rig;
    std::uint32_t carried = 0;
    for (std::uint32_t i = 1; i <= slots; ++i) {
        rig.put(i, rig.order(i * 64, 0, 8));
    }
    // The kernel's flag lies in the source of the host's sixth message: what that one carries tells when it was set.
    std::memset(rig.from.data() + 2048, 0, 4);
    rig.put(6, rig.order(3000, 2048, 4));
    auto* const flag = reinterpret_cast<std::uint32_t*>(rig.from.data() + 2048);
    ASSERT_TRUE(device::post(&rig.local.ring, rig.to.data(), rig.from.data(), 4, flag, 9, 0).accepted);
    ASSERT_EQ(rig.run(1), cudaSuccess);
    std::memcpy(&carried, rig.to.data() + 3000, 4);
    EXPECT_EQ(carried, 9U) << "the kernel's message came after six of the host";
    EXPECT_EQ(rig.shared.done, slots);
    EXPECT_EQ(rig.local.ring.done, 1U);
}

TEST(DeviceCodeCourier, ArgumentsThatCannotBeAreRefused) {
    Rig rig;
    EXPECT_EQ(rig.run(1, stream_entries + 1), cudaErrorInvalidValue);
    EXPECT_EQ(rig.run(1, 0, 0, -1), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace peerlane::cuda
