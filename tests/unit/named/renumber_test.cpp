// What is known of a machine, in the numbers of a driver that knows its devices only by name.

#include "machine/renumber.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <peerlane/named.hpp>

namespace peerlane {
namespace {

/// As a runtime tells of them: some of the devices in an order of its own, claims, and nothing else.
Machine told_by_a_driver(const Machine& whole, const std::vector<int>& devices) {
    Machine seen;
    for (auto const number : devices) {
        Device device;
        device.id = static_cast<int>(seen.devices.size());
        device.bus = whole.devices.at(static_cast<std::size_t>(number)).bus;
        device.memory_bytes = 7;
        seen.devices.push_back(device);
    }
    complete_pairs(seen);
    for (auto& pair : seen.pairs) {
        pair.claim = pair.accessor < pair.owner;
    }
    return seen;
}

Machine with_addresses(const char* name) {
    auto machine = load_machine(name).machine();
    for (auto& device : machine.devices) {
        device.bus = "0000:0" + std::to_string(device.id) + ":00.0";
    }
    return machine;
}

TEST(Renumber, AMachineAsADriverSeesItHasItsLinksPathsAndNodes) {
    auto const whole = with_addresses("dgx-1v");
    std::vector<int> const order{4, 0, 2, 3};
    auto const seen = as_seen(whole, told_by_a_driver(whole, order));
    ASSERT_TRUE(seen);
    ASSERT_EQ(seen->devices.size(), order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        auto const& was = whole.devices.at(static_cast<std::size_t>(order[i]));
        EXPECT_EQ(seen->devices[i].id, static_cast<int>(i));
        EXPECT_EQ(seen->devices[i].bus, was.bus);
        EXPECT_EQ(seen->devices[i].numa, was.numa);
        EXPECT_EQ(seen->devices[i].memory_bytes, 7U) << "what is left to the process is the driver's to say";
        EXPECT_GE(seen->graph.device_node(static_cast<int>(i)), 0);
        for (std::size_t j = 0; j < order.size(); ++j) {
            if (i == j) {
                continue;
            }
            auto const* const pair = seen->pair(static_cast<int>(i), static_cast<int>(j));
            ASSERT_NE(pair, nullptr);
            EXPECT_EQ(pair->path, whole.pair(order[i], order[j])->path);
            EXPECT_EQ(pair->nvlinks, whole.pair(order[i], order[j])->nvlinks);
            EXPECT_EQ(pair->claim, i < j);
        }
    }
    auto const links = [](const Machine& machine, int device) {
        return std::count_if(machine.graph.links.begin(), machine.graph.links.end(), [&](const Link& link) {
            return link.from == machine.graph.device_node(device) && link.kind == LinkKind::pcie;
        });
    };
    EXPECT_EQ(links(*seen, 0), links(whole, 4));
}

TEST(Renumber, DevicesThatTheSystemDoesNotShowJoinNothing) {
    auto const whole = with_addresses("dgx-1v");
    auto seen = told_by_a_driver(whole, {1, 0});
    seen.devices[0].bus = "0000:ff:00.0";
    EXPECT_FALSE(as_seen(whole, seen));
    EXPECT_FALSE(as_seen(whole, told_by_a_driver(whole, {1, 1}))) << "parts of one device";
    seen.devices[0].bus.reset();
    EXPECT_FALSE(as_seen(whole, seen)) << "nothing to join by";
    EXPECT_EQ(as_seen({}, {}), Machine{});
}

}  // namespace
}  // namespace peerlane
