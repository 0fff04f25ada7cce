#include "machine/paths.hpp"

#include <algorithm>
#include <cstddef>

#include "machine/nominal.hpp"

namespace peerlane {
namespace {

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

bool is_fabric(const Link& link) {
    return link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
}

/// Out-links of every node, so that a search costs one look at each link.
std::vector<std::vector<int>> out_links(const Graph& graph) {
    std::vector<std::vector<int>> out(graph.nodes.size());
    for (std::size_t i = 0; i < graph.links.size(); ++i) {
        out[at(graph.links[i].from)].push_back(static_cast<int>(i));
    }
    return out;
}

/// Breadth first from `a`: for each node the link by which it was reached, -1 where it was not.
std::vector<int> reach(const Graph& graph, const std::vector<std::vector<int>>& out, int a) {
    std::vector<int> by(graph.nodes.size(), -1);
    std::vector<int> queue{a};
    for (std::size_t head = 0; head < queue.size(); ++head) {
        auto const here = queue[head];
        auto const kind = graph.nodes[at(here)].kind;
        bool const passable = kind == NodeKind::pci_bridge || kind == NodeKind::host_bridge || kind == NodeKind::numa ||
                              kind == NodeKind::other;
        if (here != a && !passable) {
            continue;
        }
        for (auto const index : out[at(here)]) {
            auto const& link = graph.links[at(index)];
            bool const wanted =
                link.kind == LinkKind::pcie || link.kind == LinkKind::memory || link.kind == LinkKind::interconnect;
            if (wanted && link.to != a && by[at(link.to)] < 0) {
                by[at(link.to)] = index;
                queue.push_back(link.to);
            }
        }
    }
    return by;
}

std::vector<int> way_back(const Graph& graph, const std::vector<int>& by, int a, int b) {
    std::vector<int> way;
    for (auto here = b; here != a && by[at(here)] >= 0; here = graph.links[at(by[at(here)])].from) {
        way.push_back(by[at(here)]);
    }
    std::reverse(way.begin(), way.end());
    return way;
}

PathClass class_of_way(const Graph& graph, const std::vector<int>& way) {
    int bridges = 0, hosts = 0, numas = 0;
    for (std::size_t i = 0; i + 1 < way.size(); ++i) {
        switch (graph.nodes[at(graph.links[at(way[i])].to)].kind) {
            case NodeKind::pci_bridge:
                ++bridges;
                break;
            case NodeKind::host_bridge:
                ++hosts;
                break;
            case NodeKind::numa:
                ++numas;
                break;
            default:
                break;
        }
    }
    if (way.empty()) {
        return PathClass::unknown;
    }
    if (numas > 0) {
        return numas > 1 ? PathClass::sys : PathClass::node;
    }
    if (hosts > 0) {
        return hosts > 1 ? PathClass::node : PathClass::phb;
    }
    return bridges > 1 ? PathClass::pxb : PathClass::pix;
}

/// What joins a to b in the fabric; count and rate are empty where one piece does not tell.
struct Fabric {
    bool joined = false;
    LinkKind kind = LinkKind::nvlink;
    std::optional<int> links = 0;
    std::optional<double> gbs = 0;
};

void add(Fabric& sum, LinkKind kind, std::optional<int> links, std::optional<double> gbs) {
    sum.joined = true;
    sum.kind = kind;
    sum.links = sum.links && links ? std::optional(*sum.links + *links) : std::nullopt;
    sum.gbs = sum.gbs && gbs ? std::optional(*sum.gbs + *gbs) : std::nullopt;
}

template <typename T>
std::optional<T> narrower(std::optional<T> a, std::optional<T> b) {
    return a && b ? std::optional(std::min(*a, *b)) : std::nullopt;
}

/// Switches that are linked to each other are one island: a number for each node, -1 for nodes that are no switch.
std::vector<int> switch_islands(const Graph& graph, int& count) {
    std::vector<int> island(graph.nodes.size(), -1);
    auto const out = out_links(graph);
    count = 0;
    for (std::size_t first = 0; first < graph.nodes.size(); ++first) {
        if (graph.nodes[first].kind != NodeKind::nvswitch || island[first] >= 0) {
            continue;
        }
        std::vector<int> queue{static_cast<int>(first)};
        island[first] = count;
        for (std::size_t head = 0; head < queue.size(); ++head) {
            for (auto const index : out[at(queue[head])]) {
                auto const next = graph.links[at(index)].to;
                if (is_fabric(graph.links[at(index)]) && graph.nodes[at(next)].kind == NodeKind::nvswitch &&
                    island[at(next)] < 0) {
                    island[at(next)] = count;
                    queue.push_back(next);
                }
            }
        }
        ++count;
    }
    return island;
}

class FabricMap {
  public:
    explicit FabricMap(const Graph& graph) : island_(switch_islands(graph, islands_)) {
        up_.resize(graph.nodes.size());
        down_.resize(graph.nodes.size());
        direct_.resize(graph.nodes.size());
        for (auto const& link : graph.links) {
            if (!is_fabric(link)) {
                continue;
            }
            if (island_[at(link.to)] >= 0 && island_[at(link.from)] < 0) {
                sum(up_[at(link.from)], island_[at(link.to)], link);
            } else if (island_[at(link.from)] >= 0 && island_[at(link.to)] < 0) {
                sum(down_[at(link.to)], island_[at(link.from)], link);
            } else if (island_[at(link.from)] < 0) {
                direct_[at(link.from)].push_back(&link);
            }
        }
    }

    Fabric between(int a, int b) const {
        Fabric result;
        for (auto const* link : direct_[at(a)]) {
            if (link->to == b && a != b) {
                add(result, link->kind, link->width, link->capacity_gbs);
            }
        }
        for (std::size_t island = 0; island < up_[at(a)].size() && island < down_[at(b)].size(); ++island) {
            auto const& one = up_[at(a)][island];
            auto const& two = down_[at(b)][island];
            if (one.joined && two.joined) {
                add(result, one.kind, narrower(one.links, two.links), narrower(one.gbs, two.gbs));
            }
        }
        if (!result.joined) {
            result.gbs = std::nullopt;
        }
        return result;
    }

  private:
    void sum(std::vector<Fabric>& sums, int island, const Link& link) {
        sums.resize(static_cast<std::size_t>(islands_));
        add(sums[at(island)], link.kind, link.width, link.capacity_gbs);
    }

    int islands_ = 0;
    std::vector<int> island_;
    std::vector<std::vector<Fabric>> up_, down_;
    std::vector<std::vector<const Link*>> direct_;
};

PathClass with_fabric(const Fabric& fabric, PathClass otherwise) {
    return !fabric.joined ? otherwise : fabric.kind == LinkKind::xgmi ? PathClass::xgmi : PathClass::nv;
}

std::optional<double> narrowest(const Graph& graph, const std::vector<int>& way) {
    auto const gbs = [&](int index) {
        auto const& link = graph.links[at(index)];
        return link.capacity_gbs ? link.capacity_gbs : pcie_gbs(link.generation, link.width);
    };
    if (way.empty() || !gbs(way.front()) || !gbs(way.back())) {
        return std::nullopt;
    }
    double least = *gbs(way.front());
    for (auto const index : way) {
        if (graph.links[at(index)].kind == LinkKind::pcie) {
            least = std::min(least, gbs(index).value_or(least));
        }
    }
    return least;
}

}  // namespace

std::vector<int> host_way(const Graph& graph, int a, int b) {
    return way_back(graph, reach(graph, out_links(graph), a), a, b);
}

PathClass pcie_path_class(const Graph& graph, int a, int b) {
    return class_of_way(graph, host_way(graph, a, b));
}

PathClass path_class(const Graph& graph, int a, int b) {
    return with_fabric(FabricMap(graph).between(a, b), pcie_path_class(graph, a, b));
}

std::optional<int> fabric_links(const Graph& graph, int a, int b) {
    return FabricMap(graph).between(a, b).links;
}
std::optional<double> fabric_gbs(const Graph& graph, int a, int b) {
    return FabricMap(graph).between(a, b).gbs;
}
std::optional<double> pcie_path_gbs(const Graph& graph, int a, int b) {
    return narrowest(graph, host_way(graph, a, b));
}

void classify_from_graph(Machine& machine) {
    auto const& graph = machine.graph;
    auto const out = out_links(graph);
    FabricMap const fabric(graph);
    auto const n = static_cast<int>(machine.devices.size());
    std::vector<int> nodes;
    for (int device = 0; device < n; ++device) {
        nodes.push_back(graph.device_node(device));
    }
    machine.nics.clear();
    for (auto const& node : graph.nodes) {
        if (node.kind == NodeKind::nic) {
            machine.nics.push_back({node.name, node.bus.empty() ? std::nullopt : std::optional(node.bus),
                                    std::vector<PathClass>(at(n), PathClass::unknown)});
        }
    }
    for (int a = 0; a < n; ++a) {
        if (nodes[at(a)] < 0) {
            continue;
        }
        auto const by = reach(graph, out, nodes[at(a)]);
        for (int b = 0; b < n; ++b) {
            auto* const pair = machine.pair(a, b);
            if (pair == nullptr || nodes[at(b)] < 0) {
                continue;
            }
            auto const way = way_back(graph, by, nodes[at(a)], nodes[at(b)]);
            auto const joined = fabric.between(nodes[at(a)], nodes[at(b)]);
            pair->path = with_fabric(joined, class_of_way(graph, way));
            pair->nvlinks = joined.joined ? joined.links : std::nullopt;
            pair->nominal_gbs = joined.joined ? joined.gbs : narrowest(graph, way);
        }
        std::size_t nic = 0;
        for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
            if (graph.nodes[i].kind == NodeKind::nic) {
                machine.nics[nic++].paths[at(a)] =
                    class_of_way(graph, way_back(graph, by, nodes[at(a)], static_cast<int>(i)));
            }
        }
    }
    fill_nominal(machine);
}

}  // namespace peerlane
