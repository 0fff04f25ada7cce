#pragma once
/// The graph of a machine: devices, PCI bridges and switches, root complexes, NUMA nodes, fabric switches, NICs, joined
/// by directed links. Each direction of a cable is a link of its own.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace peerlane {

enum class NodeKind : std::uint8_t { device, pci_bridge, host_bridge, numa, nvswitch, nic, other };

struct Node {
    NodeKind kind = NodeKind::other;
    int index = -1;  ///< device id, NUMA node number, or a running number of its kind
    std::string
        name;  ///< unique in the graph: "gpu0", "bridge:0000:07:00.0", "host:0", "numa:1", "nvswitch:0", "mlx5_0"
    std::string bus;  ///< PCI address where there is one, else empty
    int socket = -1;  ///< of NUMA nodes and host bridges; -1 unknown
    friend bool operator==(const Node&, const Node&) = default;
};

enum class LinkKind : std::uint8_t { pcie, nvlink, xgmi, interconnect, memory, network };

/// One direction of one connection. `capacity_gbs` is nominal: raw signalling less line coding, before protocol
/// overhead.
struct Link {
    int from = 0, to = 0;  ///< indices into Graph::nodes
    LinkKind kind = LinkKind::pcie;
    std::optional<int> generation;       ///< PCIe or NVLink generation
    std::optional<int> width;            ///< PCIe lanes, or number of NVLinks / xGMI links
    std::optional<double> capacity_gbs;  ///< GB/s of this direction
    std::optional<double> latency_s;
    friend bool operator==(const Link&, const Link&) = default;
};

struct Graph {
    std::vector<Node> nodes;
    std::vector<Link> links;  ///< both directions listed
    [[nodiscard]] bool empty() const { return nodes.empty(); }
    /// Index of the node with this name, -1 when there is none.
    [[nodiscard]] int find(const std::string& name) const;
    /// Index of the node of a device, -1 when there is none.
    [[nodiscard]] int device_node(int device) const;
    [[nodiscard]] int numa_node(int numa) const;
    friend bool operator==(const Graph&, const Graph&) = default;
};

const char* to_string(NodeKind kind);
const char* to_string(LinkKind kind);
std::optional<NodeKind> parse_node_kind(const std::string& word);
std::optional<LinkKind> parse_link_kind(const std::string& word);

}  // namespace peerlane
