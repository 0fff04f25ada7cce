#pragma once
/// The tree inside a graph, as the writers walk it: NUMA nodes, what hangs below them, and the fabric beside it.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <peerlane/machine.hpp>

namespace peerlane::write {

/// One node of the tree.
struct Branch {
    int node = -1;
    int depth = 0;
    const Link* up = nullptr;  ///< to its parent; nullptr at the top
};

/// Every node that hangs below a NUMA node, or below a host bridge without one, parents before children, each once;
/// then every device and NIC that nothing holds, at depth 0. Fabric switches are not in it.
std::vector<Branch> branches(const Graph& graph);

/// Fabric links of a device or switch, both directions of a cable as one, the lower node first.
struct Cable {
    int a = -1, b = -1;
    LinkKind kind = LinkKind::nvlink;
    std::optional<int> width;  ///< the wider direction; empty when one is not told
};
std::vector<Cable> fabric_cables(const Graph& graph);

/// "gen5 x16", "x8", "gen4"; empty when nothing is known.
std::string link_text(const Link& link);

}  // namespace peerlane::write
