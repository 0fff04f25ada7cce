#pragma once
/// The smallest machines that tests of the simulator need, made in code.

#include <fmt/format.h>
#include <peerlane/driver/owned.hpp>
#include <peerlane/simulated.hpp>

#include "kernels/check.hpp"
#include "kernels/fill.hpp"
#include "kernels/kernel.hpp"

namespace peerlane::testing_sim {

/// n devices on one NVSwitch (18 links of 26.56 GB/s each), each with a PCIe 5 x16 port of one NUMA node.
inline Machine switched(int n) {
    Machine machine;
    machine.origin.name = fmt::format("switched-{}", n);
    auto& graph = machine.graph;
    graph.nodes.push_back({NodeKind::numa, 0, "numa:0", "", 0});
    graph.nodes.push_back({NodeKind::host_bridge, 0, "host:0", "", 0});
    graph.nodes.push_back({NodeKind::nvswitch, 0, "nvswitch:0", "", -1});
    auto const both = [&](int a, int b, Link link) {
        link.from = a;
        link.to = b;
        graph.links.push_back(link);
        std::swap(link.from, link.to);
        graph.links.push_back(link);
    };
    both(0, 1, {0, 0, LinkKind::memory, {}, {}, 300.0, {}});
    for (int d = 0; d < n; ++d) {
        machine.devices.push_back({});
        machine.devices.back().id = d;
        machine.devices.back().memory_bytes = 64ULL << 30;
        graph.nodes.push_back({NodeKind::device, d, fmt::format("gpu{}", d), "", -1});
        auto const node = static_cast<int>(graph.nodes.size()) - 1;
        both(node, 1, {0, 0, LinkKind::pcie, 5, 16, 63.0, {}});
        both(node, 2, {0, 0, LinkKind::nvlink, 4, 18, 478.0, {}});
    }
    complete_pairs(machine);
    for (auto& pair : machine.pairs) {
        pair.path = PathClass::nv;
        pair.nvlinks = 18;
        pair.claim = true;
    }
    return machine;
}

/// Tests of what runs on a simulator are compiled once for each way in which devices work beside the host
/// (tests/CMakeLists.txt).
#ifdef PEERLANE_SIM_PROGRESS
inline constexpr SimProgress test_progress = SimProgress::PEERLANE_SIM_PROGRESS;
#else
inline constexpr SimProgress test_progress = SimProgress::when_waited;
#endif

inline std::unique_ptr<Driver> open_switched(int n, const std::vector<std::string>& faults = {}) {
    SimOptions options;
    options.progress = test_progress;
    for (auto const& fault : faults) {
        options.faults.push_back(parse_fault(fault));
    }
    return open_simulated(SimulatedMachine(switched(n)), options);
}

/// Fills by the owner, then checks by the owner; for contents of device memory.
inline void put(Driver& driver, const Allocation& memory, Pattern pattern) {
    Stream stream(driver, memory.location().place.index);
    FillArguments const arguments{memory.address(), memory.bytes(), pattern, 16};
    driver.launch(stream.view(), fill_kernel, &arguments);
    driver.synchronize(stream.view());
}

inline CheckOutcome look(Driver& driver, const Allocation& memory, Pattern expected, Pattern poison = {99, 0}) {
    auto const device = memory.location().place.index;
    Stream stream(driver, device);
    Allocation result(driver, {host(), sizeof(CheckOutcome), MemoryKind::pinned});
    CheckArguments const arguments{memory.address(), memory.bytes(), expected, poison, result.address()};
    driver.launch(stream.view(), check_kernel, &arguments);
    driver.synchronize(stream.view());
    CheckOutcome outcome;
    driver.read_host(result.address(), &outcome, sizeof outcome);
    return outcome;
}

}  // namespace peerlane::testing_sim
