#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "discover/read_host.hpp"
#include "fixture.hpp"

namespace peerlane {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_discover::Fixture;

TEST(DiscoverProcess, ReadsThisProcessWithoutHarm) {
    std::vector<Unread> unread;
    auto const process = read_process({}, {}, unread);
    EXPECT_FALSE(process.namespaces.empty());
    EXPECT_EQ(process.kernel_log.has_value(), unread.empty()) << "a log that cannot be read is said to be so";
}

TEST(DiscoverProcess, MissingRootsAreEmptyFacts) {
    std::vector<Unread> unread;
    EXPECT_EQ(read_process({"/nowhere/sys", "/nowhere/proc", "/nowhere/dev", "/nowhere/packages"}, {}, unread),
              ProcessFacts{});
    ASSERT_EQ(unread.size(), 1U);
    EXPECT_TRUE(unread[0].root_helps);
}

TEST(DiscoverProcess, ReadsAContainer) {
    Fixture const fixture("container");
    // Variables end with a zero byte, which a fixture's text cannot say.
    std::string const environment = std::string("CUDA_VISIBLE_DEVICES=0") + '\0' + "NVIDIA_API_KEY=secret" + '\0' +
                                    "PATH=/bin" + '\0' + "NCCL_P2P_DISABLE=0" + '\0' + "MY_P2P=1" + '\0' +
                                    "NVIDIA_VISIBLE_DEVICES=all" + '\0';
    std::ofstream(fixture.folder() + "/proc/self/environ", std::ios::binary) << environment;
    NvmlFacts nvml;
    nvml.devices.resize(1);
    nvml.devices[0].bus = "0000:01:00.0";
    nvml.devices[0].users = {{{own_process(), "compute"}, {77, "graphics"}}};
    std::vector<Unread> unread;
    auto const process = read_process(fixture.roots(), nvml, unread);
    std::vector<std::string> names;
    for (auto const& one : process.settings) {
        names.push_back(one.name + "=" + one.value);
    }
    EXPECT_THAT(names,
                ElementsAre("CUDA_VISIBLE_DEVICES=0", "MY_P2P=1", "NCCL_P2P_DISABLE=0", "NVIDIA_VISIBLE_DEVICES=all"));
    EXPECT_EQ(process.driver_gpus.size(), 4U);
    EXPECT_THAT(*process.device_files, ElementsAre("nvidia0", "nvidia1", "nvidiactl"));
    EXPECT_GT(process.shm_bytes.value_or(0), 0U);
    EXPECT_FALSE(process.shm_device.empty());
    EXPECT_EQ(process.cgroup, "/docker/abc");
    EXPECT_EQ(process.memory_limit_bytes, 8589934592U);
    EXPECT_EQ(process.sees_all_processes, false);
    EXPECT_FALSE(process.fabric_manager.has_value()) << "it may run where this process cannot see it";
    EXPECT_FALSE(process.kernel_log.has_value());
    ASSERT_EQ(process.device_users.size(), 1U);
    EXPECT_EQ(process.device_users[0], (DeviceUser{"0000:01:00.0", 77, "graphics"}));
}

TEST(DiscoverProcess, KeepsOnlyLinesOfTheLogThatConcernDevices) {
    Fixture const fixture("kernel-log");
    std::vector<Unread> unread;
    auto const process = read_process(fixture.roots(), {}, unread);
    ASSERT_TRUE(process.kernel_log);
    ASSERT_EQ(process.kernel_log->size(), 3U);
    EXPECT_THAT(process.kernel_log->front(), HasSubstr("[6.000000] NVRM: Xid (PCI:0000:41:00): 79"));
    EXPECT_EQ(process.fabric_manager, false);
    EXPECT_TRUE(unread.empty());
}

TEST(DiscoverProcess, FindsTheFabricManagerAndItsInstalledVersion) {
    Fixture const fixture("hgx-other-manager");
    std::vector<Unread> unread;
    auto const process = read_process(fixture.roots(), {}, unread);
    EXPECT_EQ(process.fabric_manager, true);
    EXPECT_EQ(process.fabric_manager_version, "570.86.15");
}

TEST(DiscoverHost, ReadsWhatTellsAnAlteredModule) {
    Fixture const fixture("patched-module");
    auto const host = read_host(fixture.roots());
    EXPECT_EQ(host.module_version, "570.86.16-p2p");
    EXPECT_EQ(host.module_taint, "OE");
    ASSERT_EQ(host.module_parameters.size(), 2U) << "parameters without a value are left out";
    EXPECT_EQ(host.module_parameters[1].second, "ForceP2P=0x11;RMForceP2PType=1");
}

TEST(DiscoverLinks, ErrorCountersAndRatesAreReadWhenAsked) {
    Fixture const fixture("workstation");
    EXPECT_TRUE(read_pci_errors(fixture.roots()).empty());
    auto const at = fixture.folder() + "/sys/bus/pci/devices/0000:41:00.0/";
    std::ofstream(at + "aer_dev_correctable") << "RxErr 2\nBadTLP 1\nTOTAL_ERR_COR 3\n";
    std::ofstream(at + "aer_dev_fatal") << "Undefined 0\nTOTAL_ERR_FATAL 0\n";
    auto const errors = read_pci_errors(fixture.roots());
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0], (PciErrors{"0000:41:00.0", 3, std::nullopt, 0}));
    auto const links = read_links(fixture.roots());
    ASSERT_EQ(links.size(), 2U);
    EXPECT_EQ(links[1], (LoadedLink{"0000:41:00.0", {4, 16}}));
}

}  // namespace
}  // namespace peerlane
