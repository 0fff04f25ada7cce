// Numbers of people (bus order) against those of a driver.

#include <gtest/gtest.h>

#include "cli/numbering.hpp"

namespace peerlane::cli {
namespace {

Machine machine_with(std::vector<const char*> buses) {
    Machine machine;
    for (auto const* bus : buses) {
        Device device;
        device.id = static_cast<int>(machine.devices.size());
        device.bus = bus;
        machine.devices.push_back(device);
        machine.graph.nodes.push_back({NodeKind::device, device.id, "gpu" + std::to_string(device.id), bus, -1});
    }
    complete_pairs(machine);
    for (auto& pair : machine.pairs) {
        pair.nvlinks = 10 * pair.accessor + pair.owner;
    }
    machine.nics.push_back({"nic", std::nullopt, {}});
    for (std::size_t i = 0; i < machine.devices.size(); ++i) {
        machine.nics[0].paths.push_back(i == 0 ? PathClass::pix : PathClass::sys);
    }
    return machine;
}

TEST(Numbering, JoinsByBusAddress) {
    auto const people = machine_with({"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"});
    auto const numbering = Numbering::join(people, machine_with({"0000:03:00.0", "0000:01:00.0"}));
    ASSERT_TRUE(numbering);
    EXPECT_EQ(numbering->ordinals(), (std::vector{1, -1, 0}));
    EXPECT_EQ(numbering->number(0), 2);
    EXPECT_EQ(numbering->number(1), 0);
    EXPECT_EQ(numbering->number(2), -1);
    EXPECT_EQ(numbering->number(-1), -1) << "a hidden device is nobody's number";
}

TEST(Numbering, RefusesADriverThatShowsMore) {
    EXPECT_FALSE(Numbering::join(machine_with({"0000:01:00.0"}), machine_with({"0000:02:00.0"})));
    EXPECT_FALSE(Numbering::join(Machine{}, machine_with({"0000:02:00.0"})));
}

TEST(Numbering, JoinsByUuidWhereThereIsNoBus) {
    auto people = machine_with({"0000:01:00.0", "0000:02:00.0"});
    auto driver = machine_with({"0000:01:00.0", "0000:02:00.0"});
    for (auto* machine : {&people, &driver}) {
        for (auto& device : machine->devices) {
            device.bus.reset();
        }
    }
    people.devices[0].uuid = driver.devices[1].uuid = "GPU-a";
    people.devices[1].uuid = driver.devices[0].uuid = "GPU-b";
    auto const numbering = Numbering::join(people, driver);
    ASSERT_TRUE(numbering);
    EXPECT_EQ(numbering->ordinals(), (std::vector{1, 0}));
}

TEST(Numbering, TheDriversMachineIsTheSameOneRenumbered) {
    auto const people = machine_with({"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"});
    auto const numbering = Numbering::join(people, machine_with({"0000:03:00.0", "0000:01:00.0"}));
    auto const machine = numbering->to_driver(people);
    ASSERT_EQ(machine.devices.size(), 2);
    EXPECT_EQ(machine.devices[0].bus, "0000:03:00.0");
    EXPECT_EQ(machine.devices[1].id, 1);
    EXPECT_EQ(machine.pair(0, 1)->nvlinks, 20);
    EXPECT_EQ(machine.pair(1, 0)->nvlinks, 2);
    EXPECT_EQ(machine.nics[0].paths, (std::vector{PathClass::sys, PathClass::pix}));
    EXPECT_EQ(machine.graph.nodes.size(), 2);
    EXPECT_EQ(machine.graph.nodes[static_cast<std::size_t>(machine.graph.find("gpu0"))].bus, "0000:03:00.0");
}

TEST(Numbering, PlansGoToTheDriverAndVerdictsComeBack) {
    auto const people = machine_with({"0000:01:00.0", "0000:02:00.0"});
    auto const numbering = Numbering::join(people, machine_with({"0000:02:00.0", "0000:01:00.0"}));
    Choice choice;
    choice.routes = {
        {1.0, {{gpu(0), host(1), Engine::copy, gpu(0)}, {host(1), gpu(1), Engine::copy, gpu(1)}}, 4096, 2}};
    auto const driven = numbering->to_driver(choice);
    EXPECT_EQ(driven.routes[0].legs[0].from, gpu(1));
    EXPECT_EQ(driven.routes[0].legs[0].to, host(1));
    EXPECT_EQ(driven.routes[0].legs[1].issuer, gpu(0));
    Verdicts verdicts;
    verdicts.pairs.resize(1);
    verdicts.pairs[0].accessor = 0;
    verdicts.pairs[0].owner = 1;
    verdicts.control.push_back({1, 0, {}});
    RouteVerdict route;
    route.source = 0;
    route.destination = 1;
    verdicts.routes.push_back(route);
    auto const told = numbering->to_people(verdicts);
    EXPECT_NE(told.pair(1, 0), nullptr);
    EXPECT_NE(told.control_of(0, 1), nullptr);
    EXPECT_EQ(told.routes[0].source, 1);
    EXPECT_EQ(told.routes[0].issuer, -1);
}

TEST(Numbering, LimitedKeepsNumbersAndDropsLinks) {
    auto machine = machine_with({"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"});
    machine.graph.nodes.push_back({NodeKind::nvswitch, 0, "nvswitch:0", "", -1});
    for (int device = 0; device < 3; ++device) {
        machine.graph.links.push_back({device, 3});
    }
    auto const limited = limited_to(machine, {0, 2});
    ASSERT_EQ(limited.devices.size(), 2);
    EXPECT_EQ(limited.devices[1].id, 2);
    EXPECT_EQ(limited.pairs.size(), 2);
    EXPECT_EQ(limited.pair(2, 0)->nvlinks, 20);
    EXPECT_EQ(limited.graph.nodes.size(), 3);
    ASSERT_EQ(limited.graph.links.size(), 2);
    EXPECT_EQ(limited.graph.links[1].from, 1);
    EXPECT_EQ(limited.graph.links[1].to, 2);
    EXPECT_THROW(limited_to(machine, {3}), std::out_of_range);
}

}  // namespace
}  // namespace peerlane::cli
