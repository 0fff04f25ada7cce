/// The questions to the management library: refusals, hangs, missing functions.

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "discover/read_nvml.hpp"
#include "fake_nvml.hpp"
#include "fixture.hpp"

namespace peerlane {
namespace {

using testing_discover::FakeNvml;
using testing_discover::links_to;
using State = NvmlFacts::State;

constexpr NvmlBounds short_bounds{.start_s = 0.2, .call_s = 0.2, .total_s = 5};

FakeNvml pair_of_devices() {
    FakeNvml nvml;
    nvml.devices = {{.bus = "0000:01:00.0", .name = "NVIDIA H100", .links = links_to("FFFFFFFF:FF:FF.0", 18)},
                    {.bus = "0000:02:00.0", .name = "NVIDIA H100", .links = links_to("FFFFFFFF:FF:FF.0", 18)}};
    return nvml;
}

TEST(DiscoverNvml, NothingToAsk) {
    EXPECT_EQ(read_nvml(nullptr, {}).state, State::absent);
    EXPECT_EQ(read_nvml(std::make_shared<NvmlApi>(), {}).state, State::absent);
}

TEST(DiscoverNvml, NoLibraryIsAnAnswer) {
    FakeNvml nvml;
    nvml.start_code = nvml_code::library_not_found;
    auto const facts = read_nvml(nvml.api(), {});
    EXPECT_EQ(facts.state, State::absent);
    EXPECT_NE(facts.reason.find("not installed"), std::string::npos);
}

TEST(DiscoverNvml, ARefusalKeepsCodeAndWords) {
    FakeNvml nvml;
    nvml.start_code = nvml_code::driver_not_loaded;
    auto const facts = read_nvml(nvml.api(), {});
    EXPECT_EQ(facts.state, State::failed);
    EXPECT_EQ(facts.code, nvml_code::driver_not_loaded);
    EXPECT_NE(facts.reason.find("Driver Not Loaded"), std::string::npos);
}

TEST(DiscoverNvml, AsksEveryDirectedPair) {
    auto const facts = read_nvml(pair_of_devices().api(), {});
    ASSERT_EQ(facts.state, State::ok);
    ASSERT_EQ(facts.devices.size(), 2U);
    ASSERT_EQ(facts.pairs.size(), 2U);
    ASSERT_NE(facts.pair("0000:02:00.0", "0000:01:00.0"), nullptr);
    EXPECT_EQ(facts.pair("0000:02:00.0", "0000:01:00.0")->claims.atomics, "OK");
    EXPECT_EQ(facts.devices[0].links.size(), 18U);
    EXPECT_TRUE(facts.devices[0].links[0].remote_bus.empty());
    EXPECT_EQ(facts.devices[0].links[0].remote, NvmlLink::Remote::nvswitch);
    EXPECT_FALSE(facts.devices[0].links_code);
    EXPECT_EQ(facts.devices[0].current.generation, 1);
    EXPECT_EQ(facts.devices[0].most.generation, 5);
}

TEST(DiscoverNvml, MissingFunctionsAreMissingFacts) {
    auto bare = std::make_shared<NvmlApi>();
    bare->start = [] { return nvml_code::success; };
    bare->device_count = [](int& count) {
        count = 2;
        return nvml_code::success;
    };
    bare->bus = [](int device, std::string& bus) {
        bus = device == 0 ? "00000000:01:00.0" : "garbage";
        return nvml_code::success;
    };
    auto const facts = read_nvml(bare, {});
    EXPECT_EQ(facts.state, State::ok);
    ASSERT_EQ(facts.devices.size(), 1U) << "a device without an address could not be joined with anything";
    EXPECT_EQ(facts.devices[0].bus, "0000:01:00.0");
    EXPECT_FALSE(facts.devices[0].memory_bytes);
    EXPECT_FALSE(facts.devices[0].mig);
    EXPECT_EQ(facts.devices[0].links_code, nvml_code::function_not_found);
}

TEST(DiscoverNvml, AThrowingTableIsAFailure) {
    auto thrower = std::make_shared<NvmlApi>();
    thrower->start = []() -> int { throw std::runtime_error("broken"); };
    auto const facts = read_nvml(thrower, {});
    EXPECT_EQ(facts.state, State::failed);
    EXPECT_EQ(facts.reason, "broken");
}

/// A call that never comes back must not take the process with it: public reports tell of queries that hang for good
/// after a device fell off the bus.
class DiscoverNvmlHang : public testing::TestWithParam<const char*> {};

TEST_P(DiscoverNvmlHang, IsGivenUpAndNamed) {
    auto nvml = pair_of_devices();
    nvml.hangs_in = GetParam();
    auto const begin = std::chrono::steady_clock::now();
    testing_discover::Fixture const fixture("nvlink-bridge-pairs");
    auto const found = discover(fixture.roots(), nvml.api(), short_bounds);
    auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_LT(seconds, 3);
    ASSERT_EQ(found.nvml.state, State::hung);
    ASSERT_TRUE(found.nvml.hung);
    EXPECT_GE(found.nvml.hung->seconds, 0.19);
    EXPECT_NE(found.nvml.reason.find(found.nvml.hung->name), std::string::npos);
    bool told = false;
    for (auto const& notice : found.machine.notices) {
        told = told || notice.code == "management-hang";
    }
    EXPECT_TRUE(told);
    EXPECT_EQ(found.machine.devices.size(), 4U) << "the PCI tree still tells the devices";
    nvml.release->set_value();
}
INSTANTIATE_TEST_SUITE_P(Calls, DiscoverNvmlHang, testing::Values("start", "name", "p2p"));

TEST(DiscoverNvml, WhatWasAnsweredBeforeAHangIsKept) {
    auto nvml = pair_of_devices();
    nvml.hangs_in = "p2p";
    auto const facts = read_nvml(nvml.api(), short_bounds);
    EXPECT_EQ(facts.state, State::hung);
    EXPECT_EQ(facts.devices.size(), 2U);
    EXPECT_EQ(facts.driver_version, "580.159.04");
    ASSERT_TRUE(facts.hung);
    EXPECT_EQ(facts.hung->name, "nvmlDeviceGetP2PStatus");
    EXPECT_EQ(facts.hung->device, 0);
    nvml.release->set_value();
}

TEST(DiscoverNvml, AllCallsTogetherAreBoundedToo) {
    FakeNvml nvml;
    auto slow = std::make_shared<NvmlApi>(*pair_of_devices().api());
    slow->link_state = [](int, int, int&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return nvml_code::not_supported + 1000;  // neither an answer nor an end of the list
    };
    auto const facts = read_nvml(slow, {.start_s = 1, .call_s = 1, .total_s = 0.3});
    EXPECT_EQ(facts.state, State::hung);
}

TEST(DiscoverNvml, CountersAreAskedByThemselvesAndSummedOverLinks) {
    auto const plain = pair_of_devices().api();
    EXPECT_TRUE(read_nvml(plain, {}).counters.empty()) << "not part of the usual questions";
    auto api = std::make_shared<NvmlApi>(*plain);
    api->celsius = [](int device, int& value) {
        value = 40 + device;
        return nvml_code::success;
    };
    api->ecc_corrected = [](int, std::uint64_t& count) {
        count = 3;
        return nvml_code::success;
    };
    api->ecc_uncorrected = [](int, std::uint64_t&) { return nvml_code::not_supported; };
    api->link_errors = [](int, int, int kind, std::uint64_t& count) {
        count = kind == nvml_link_error::replay ? 2 : 0;
        return nvml_code::success;
    };
    auto const links = read_nvml(plain, {}).devices.at(0).links.size();
    auto const counters = read_counters(api);
    ASSERT_EQ(counters.size(), 2U);
    EXPECT_EQ(counters[1].celsius, 41);
    EXPECT_EQ(counters[0].ecc_corrected, 3U);
    EXPECT_FALSE(counters[0].ecc_uncorrected);
    EXPECT_FALSE(counters[0].sm_mhz) << "an entry that the library does not have";
    EXPECT_EQ(counters[0].nvlink_replays, 2 * links);
    EXPECT_EQ(counters[0].nvlink_recoveries, 0U);
}

TEST(DiscoverNvml, TheRealTableNeverThrows) {
    auto const facts = read_nvml(system_nvml(), {});
    if (facts.state == State::ok) {
        for (auto const& device : facts.devices) {
            EXPECT_FALSE(device.name.empty());
            EXPECT_FALSE(device.uuid.empty());
            EXPECT_TRUE(device.memory_bytes);
        }
        EXPECT_EQ(facts.pairs.size(), facts.devices.size() * (facts.devices.empty() ? 0 : facts.devices.size() - 1));
    } else {
        EXPECT_FALSE(facts.reason.empty());
    }
}

}  // namespace
}  // namespace peerlane
