#include <gtest/gtest.h>

#include <set>

#include "discover/read_host.hpp"
#include "fixture.hpp"

namespace peerlane {
namespace {

using testing_discover::Fixture;

TEST(DiscoverHost, ReadsThisMachineWithoutHarm) {
    auto const host = read_host({});
    EXPECT_FALSE(host.kernel_release.empty());
    EXPECT_GT(host.cpus.value_or(0), 0);
    std::set<std::string> buses;
    for (auto const& function : host.pci) {
        EXPECT_TRUE(buses.insert(function.bus).second) << function.bus;
        EXPECT_NE(function.numa, std::optional(-1));
        EXPECT_NE(function.current.width, std::optional(0));
    }
}

TEST(DiscoverHost, MissingRootsAreEmptyFacts) {
    auto const host = read_host({"/nowhere/sys", "/nowhere/proc", "/nowhere/dev", "/nowhere/packages"});
    EXPECT_EQ(host, HostFacts{});
}

TEST(DiscoverHost, ReadsAFunctionAndTheBridgesAboveIt) {
    Fixture const fixture("two-socket-switches");
    auto const host = read_host(fixture.roots());
    auto const* const gpu = host.function("0000:17:00.0");
    ASSERT_NE(gpu, nullptr);
    EXPECT_EQ(gpu->root, "pci0000:10");
    EXPECT_EQ(gpu->above, (std::vector<std::string>{"0000:16:00.0", "0000:15:00.0", "0000:12:02.0", "0000:11:00.0",
                                                    "0000:10:01.0"}));
    EXPECT_EQ(gpu->driver, "nvidia");
    auto const* const first = host.function("0000:13:00.0");
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->current, (PciRate{1, 16}));
    EXPECT_EQ(first->most, (PciRate{4, 16}));
    EXPECT_EQ(first->numa, 0);
    EXPECT_EQ(first->local_cpus, "0-1");
    EXPECT_EQ(first->iommu_group, 12);
    EXPECT_EQ(first->iommu_type, "DMA");
    EXPECT_EQ(first->boot_display, false);
    EXPECT_FALSE(first->config_bytes);
    auto const* const sound = host.function("0000:13:00.1");
    ASSERT_NE(sound, nullptr);
    EXPECT_EQ(sound->class_code, 0x040300U);
    EXPECT_EQ(sound->root, "pci0000:10");
}

TEST(DiscoverHost, ReadsTheConfigurationSpaceOfBridges) {
    Fixture const fixture("two-socket-switches");
    auto const host = read_host(fixture.roots());
    auto const* const root_port = host.function("0000:10:01.0");
    ASSERT_NE(root_port, nullptr);
    EXPECT_EQ(root_port->config_bytes, 4096U);
    EXPECT_EQ(root_port->port_type, 4U);
    EXPECT_EQ(root_port->acs_control, 0x1dU);
    EXPECT_EQ(host.function("0000:11:00.0")->port_type, 5U);
    EXPECT_EQ(host.function("0000:11:00.0")->acs_control, 0U);
    EXPECT_EQ(host.function("0000:12:00.0")->port_type, 6U);
    EXPECT_FALSE(host.function("0000:12:01.0")->acs_control);
}

TEST(DiscoverHost, ReadsMemoryNodesFirmwareAndKernel) {
    Fixture const fixture("two-socket-switches");
    auto const host = read_host(fixture.roots());
    ASSERT_EQ(host.numa.size(), 2U);
    EXPECT_EQ(host.numa[0].memory_bytes, 263779024ULL * 1024);
    EXPECT_EQ(host.numa[1].socket, 1);
    EXPECT_EQ(host.numa[1].distances, (std::vector<int>{21, 10}));
    EXPECT_EQ(host.sockets, 2);
    EXPECT_EQ(host.cpus, 2);
    EXPECT_EQ(host.cpu_model, "Intel(R) Xeon(R) Platinum 8480+");
    EXPECT_EQ(host.hypervisor_flag, false);
    EXPECT_EQ(host.sys_vendor, "Supermicro");
    EXPECT_EQ(host.boot_id, "11111111-2222-3333-4444-555555555555");
    EXPECT_EQ(host.kernel_release, "6.8.0-45-generic");
    EXPECT_NE(host.kernel_command_line.find("intel_iommu=on"), std::string::npos);
    EXPECT_EQ(host.module_version, "580.159.04");
    EXPECT_EQ(host.iommus, std::vector<std::string>{"dmar0"});
}

TEST(DiscoverHost, UnknownIsEmptyNeverZero) {
    Fixture const missing("numa-missing");
    for (auto const& function : read_host(missing.roots()).pci) {
        EXPECT_FALSE(function.numa) << function.bus;
    }
    Fixture const guest("flat-guest");
    for (auto const& function : read_host(guest.roots()).pci) {
        EXPECT_FALSE(function.numa) << function.bus;
    }
    Fixture const dead("dead-link");
    for (auto const& function : read_host(dead.roots()).pci) {
        EXPECT_EQ(function.current, PciRate{}) << function.bus;
        EXPECT_EQ(function.most, PciRate{}) << function.bus;
    }
}

TEST(DiscoverHost, TheLastRootOfAPathCounts) {
    Fixture const fixture("nested-roots");
    auto const host = read_host(fixture.roots());
    auto const* const below_controller = host.function("10000:e1:00.0");
    ASSERT_NE(below_controller, nullptr);
    EXPECT_EQ(below_controller->root, "pci10000:e0");
    EXPECT_EQ(below_controller->above, std::vector<std::string>{"10000:e0:06.0"});
    EXPECT_EQ(host.function("0001:00:00.0")->root, "pci0001:00");
    EXPECT_EQ(host.pci.back().bus, "10000:e1:00.0") << "a longer domain is a higher number, not a lower word";
}

TEST(DiscoverHost, SortsAddressesAsNumbers) {
    EXPECT_TRUE(bus_less("0000:ff:00.0", "0001:00:00.0"));
    EXPECT_TRUE(bus_less("ffff:00:00.0", "10000:00:00.0"));
    EXPECT_TRUE(bus_less("0000:01:00.0", "0000:01:00.1"));
    EXPECT_FALSE(bus_less("0000:01:00.0", "0000:01:00.0"));
    EXPECT_TRUE(bus_less("0000:01:00.0", "not an address"));
}

TEST(DiscoverHost, ReadsTheFabricOfTheComputeDriver) {
    Fixture const fixture("amd-mi300x");
    auto const host = read_host(fixture.roots());
    ASSERT_EQ(host.xgmi.size(), 12U);
    EXPECT_EQ(host.xgmi.front(), (XgmiLink{"0000:03:00.0", "0000:23:00.0", 64.0}));
    EXPECT_TRUE(host.function("0000:03:02.0")->virtual_function);
    EXPECT_FALSE(host.function("0000:03:00.0")->virtual_function);
}

TEST(DiscoverHost, MemoryOfADeviceIsNotTheHosts) {
    Fixture const fixture("grace-hopper");
    auto const host = read_host(fixture.roots());
    ASSERT_EQ(host.numa.size(), 4U);
    EXPECT_EQ(host.numa[2].node, 4);
    EXPECT_EQ(host.numa[2].device, "0009:01:00.0");
    EXPECT_EQ(host.numa[0].device, "");
    EXPECT_FALSE(host.hypervisor_flag) << "this CPU has no list of flags, so a missing flag tells nothing";
}

}  // namespace
}  // namespace peerlane
