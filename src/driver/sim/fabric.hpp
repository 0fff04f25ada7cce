#pragma once
/// Ways over the vendors' fabrics. Links and nodes are indices into the graph.

#include <vector>

#include <peerlane/graph.hpp>

namespace peerlane::sim {

/// Switches side by side (18 links spread over four) act as one: joins parallel fabric ways into one pair of links.
Graph with_joined_switches(Graph graph);

/// From device a to b: the direct links, else one link in and one out of a common switch; empty when there are none.
std::vector<int> fabric_way(const Graph& graph, int a, int b);

/// Over other devices, as xGMI routes: at most two ways that share no link, shortest first and the wider one of equals.
std::vector<std::vector<int>> routed_ways(const Graph& graph, int a, int b);

/// Whether such a way has a device between its ends.
bool passes_device(const Graph& graph, const std::vector<int>& way);

}  // namespace peerlane::sim
