#pragma once
/// Ways through the graph of a machine. Nodes are indices into Graph::nodes.

#include <optional>
#include <vector>

#include <peerlane/machine.hpp>

namespace peerlane {

/// Class of the way between two nodes (devices or NICs): NV or XGMI when joined to each other or to a common fabric
/// switch, else by what lies on the PCIe way: one bridge PIX, more PXB, a host bridge PHB, one NUMA node NODE, more
/// SYS; UNKNOWN when there is none.
PathClass path_class(const Graph& graph, int a, int b);
/// The same without the fabric.
PathClass pcie_path_class(const Graph& graph, int a, int b);

/// Links that join a to b: direct ones from a to b, and through switches as many as the narrower end has. Empty when a
/// link on the way does not tell its number. 0 when the fabric does not join them.
std::optional<int> fabric_links(const Graph& graph, int a, int b);
/// Capacity of the same, GB/s from a to b. Empty when not known or not joined.
std::optional<double> fabric_gbs(const Graph& graph, int a, int b);

/// Links (indices) of the shortest way over PCIe, host bridges, memory and interconnect that passes no device and no
/// NIC. Empty when there is none or a is b.
std::vector<int> host_way(const Graph& graph, int a, int b);
/// Narrowest PCIe link of that way, GB/s; empty when the first or the last link does not tell its capacity.
std::optional<double> pcie_path_gbs(const Graph& graph, int a, int b);

/// Fills path, nvlinks and nominal_gbs of every pair, and the NICs, from the graph. Needs complete pairs.
void classify_from_graph(Machine& machine);

}  // namespace peerlane
