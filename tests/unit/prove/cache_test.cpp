// Verdicts that are kept: used while what they depend on is as it was, never an error when the file is not sound.

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include <peerlane/verdict_cache.hpp>

#include "unit/prove/make.hpp"
#include "unit/prove/simulated.hpp"

namespace peerlane {
namespace {

class CacheFile : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = (std::filesystem::temp_directory_path() / "peerlane-cache-XXXXXX").string();
        ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string path() const { return folder_ + "/a/verdicts.json"; }
    std::string folder_;
};

StoredVerdicts stored() {
    return {{{{"driver", "580.1"}, {"link of 0", "x16"}}}, test::healthy_pair()};
}

TEST_F(CacheFile, IsReadBackAsItWasWritten) {
    EXPECT_FALSE(read_verdict_cache(path()).stored);
    EXPECT_EQ(read_verdict_cache(path()).notice, "");
    ASSERT_EQ(write_verdict_cache(path(), stored()), "");
    EXPECT_EQ(read_verdict_cache(path()).stored, stored());
    auto other = stored();
    other.key.parts[0].second = "590.2";
    ASSERT_EQ(write_verdict_cache(path(), other), "");
    EXPECT_EQ(read_verdict_cache(path()).stored, other);
    std::size_t files = 0;
    for (auto const& entry : std::filesystem::directory_iterator(folder_ + "/a")) {
        static_cast<void>(entry);
        ++files;
    }
    EXPECT_EQ(files, 2U) << "verdicts and lock, nothing left over";
}

TEST_F(CacheFile, ADamagedFileIsANoticeAndIsReplaced) {
    ASSERT_EQ(write_verdict_cache(path(), stored()), "");
    for (auto const* const text : {"", "{", "[]", "{\"schema\":\"peerlane.cache/1\"}",
                                   R"({"schema":"peerlane.cache/1","key":{"a":1},"verdicts":{}})",
                                   R"({"schema":"peerlane.cache/1","key":{},"verdicts":{"schema":"x"}})"}) {
        std::ofstream(path()) << text;
        auto const answer = read_verdict_cache(path());
        EXPECT_FALSE(answer.stored) << text;
        EXPECT_NE(answer.notice, "") << text;
    }
    ASSERT_EQ(write_verdict_cache(path(), stored()), "");
    EXPECT_TRUE(read_verdict_cache(path()).stored);
}

TEST_F(CacheFile, WhatCannotBeWrittenIsSaid) {
    EXPECT_NE(write_verdict_cache("/proc/none/verdicts.json", stored()), "");
}

Machine two_devices() {
    auto machine = test::machine_of(2).machine();
    for (auto& device : machine.devices) {
        device.bus = "0000:0" + std::to_string(device.id) + ":00.0";
        device.uuid = "GPU-" + std::to_string(device.id);
    }
    return machine;
}

struct Facts {
    HostFacts host{};
    NvmlFacts nvml{};
    std::string visible{};
    [[nodiscard]] CacheKey key() const { return cache_key(two_devices(), host, nvml, visible); }
};

Facts facts() {
    Facts facts;
    facts.host.boot_id = "b1";
    facts.host.kernel_release = "6.1";
    facts.nvml.driver_version = "580.1";
    NvmlDevice device;
    device.bus = "0000:00:00.0";
    device.links = {{0, true}, {1, true}};
    facts.nvml.devices = {device};
    PciFunction function;
    function.bus = "0000:00:00.0";
    function.current = {1, 16};
    function.most = {5, 16};
    facts.host.pci = {function};
    return facts;
}

/// Names of the parts that are not as they were.
std::vector<std::string> changed(const Facts& now) {
    std::vector<std::string> names;
    auto const before = facts().key().parts;
    auto const after = now.key().parts;
    EXPECT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
        EXPECT_EQ(before[i].first, after[i].first);
        if (before[i] != after[i]) {
            names.push_back(before[i].first);
        }
    }
    return names;
}

TEST(CacheKeys, NameWhatChanged) {
    using Names = std::vector<std::string>;
    EXPECT_EQ(changed(facts()), Names{});
    auto now = facts();
    now.host.pci[0].current.generation = 5;  // awake
    EXPECT_EQ(changed(now), Names{});
    now.host.pci[0].current.width = 4;
    EXPECT_EQ(changed(now), Names{"link:0000:00:00.0"});
    now = facts();
    now.nvml.devices[0].links[1].active = false;
    EXPECT_EQ(changed(now), Names{"nvlink:0000:00:00.0"});
    now = facts();
    now.nvml.driver_version = "590";
    now.host.boot_id = "b2";
    EXPECT_EQ(changed(now), (Names{"driver", "boot"}));
    now = facts();
    now.visible = "0";
    EXPECT_EQ(changed(now), Names{"visible devices"});
}

TEST(CacheKeys, OfASimulatedMachineHoldItsFaults) {
    auto const machine = two_devices();
    EXPECT_EQ(cache_key(machine, "a"), cache_key(machine, "a"));
    EXPECT_NE(cache_key(machine, "a"), cache_key(machine, "b"));
}

}  // namespace
}  // namespace peerlane
