#include <peerlane/graph.hpp>

#include <array>

namespace peerlane {
namespace {

constexpr std::array<const char*, 7> node_words{"device",   "pci_bridge", "host_bridge", "numa",
                                                "nvswitch", "nic",        "other"};
constexpr std::array<const char*, 6> link_words{"pcie", "nvlink", "xgmi", "interconnect", "memory", "network"};

template <typename Kind, std::size_t N>
std::optional<Kind> parse(const std::array<const char*, N>& words, const std::string& word) {
    for (std::size_t i = 0; i < N; ++i) {
        if (word == words[i]) {
            return static_cast<Kind>(i);
        }
    }
    return std::nullopt;
}

int find_kind(const Graph& graph, NodeKind kind, int index) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        if (graph.nodes[i].kind == kind && graph.nodes[i].index == index) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

}  // namespace

int Graph::find(const std::string& name) const {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].name == name) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

int Graph::device_node(int device) const {
    return find_kind(*this, NodeKind::device, device);
}
int Graph::numa_node(int numa) const {
    return find_kind(*this, NodeKind::numa, numa);
}

const char* to_string(NodeKind kind) {
    return node_words.at(static_cast<std::size_t>(kind));
}
const char* to_string(LinkKind kind) {
    return link_words.at(static_cast<std::size_t>(kind));
}
std::optional<NodeKind> parse_node_kind(const std::string& word) {
    return parse<NodeKind>(node_words, word);
}
std::optional<LinkKind> parse_link_kind(const std::string& word) {
    return parse<LinkKind>(link_words, word);
}

}  // namespace peerlane
