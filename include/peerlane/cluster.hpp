#pragma once
/// Many equal machines joined by their network adapters, one rail for each adapter: NIC r of every node meets NIC r of
/// every other behind a switch that limits nothing.

#include <vector>

#include <peerlane/simulation.hpp>

namespace peerlane {

/// Devices only, numbered node after node; what patterns and tables need to know.
Machine cluster_devices(const Machine& node, int nodes);

/// Each flow is one copy inside its node, or one transfer by the network: over the NIC nearest to its source, the same
/// NIC of the other node, and that node's PCIe to the destination. A NIC moves as much as its PCIe link lets through,
/// and works on a few transfers at a time. With more than 5,000 flows, rates follow changes with a delay of a
/// thousandth of the least time that all of them can take. Throws std::invalid_argument for a node without adapters,
/// places of the host, and what simulate() refuses.
Simulation simulate_cluster(const SimulatedMachine& node, int nodes, const std::vector<Flow>& flows);

}  // namespace peerlane
