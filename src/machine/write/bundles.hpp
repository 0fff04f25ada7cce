#pragma once
/// Fabric switches as they are drawn.

#include <map>
#include <optional>
#include <vector>

#include "machine/write/shape.hpp"

namespace peerlane::write {

/// Switches that join the same devices are drawn as one: eight of them would be 128 lines for 16 devices.
struct Bundle {
    std::vector<int> switches;
    std::map<int, std::optional<int>> ends;  ///< node, or first switch of a bundle; links of all switches together
};

/// In the order of their first switches. `cables`: fabric_cables of the graph.
std::vector<Bundle> bundles(const Graph& graph, const std::vector<Cable>& cables);

}  // namespace peerlane::write
