#include "machine/merge_graph.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "machine/paths.hpp"

namespace peerlane {
namespace {

bool is_fabric_link(const Link& link) {
    return link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
}

bool has_fabric(const Graph& graph) {
    return std::any_of(graph.links.begin(), graph.links.end(), is_fabric_link);
}
bool has_tree(const Graph& graph) {
    return std::any_of(graph.links.begin(), graph.links.end(), [](const Link& l) { return !is_fabric_link(l); });
}

const Node& node_at(const Graph& graph, int index) {
    return graph.nodes[static_cast<std::size_t>(index)];
}

/// The part's graph with the base's device numbers and names.
Graph renumbered(const Graph& graph, const Joining& joining) {
    auto result = graph;
    for (auto& node : result.nodes) {
        if (node.kind == NodeKind::device && node.index >= 0 && node.index < static_cast<int>(joining.base_id.size())) {
            node.index = joining.base_id[static_cast<std::size_t>(node.index)];
            node.name = fmt::format("gpu{}", node.index);
        }
    }
    return result;
}

int find_bus(const Graph& graph, const std::string& bus) {
    for (std::size_t i = 0; i < graph.nodes.size() && !bus.empty(); ++i) {
        if (graph.nodes[i].bus == bus) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

/// A far end that was only an address is a device when a device has that address.
void name_far_ends(Graph& graph, const Machine& machine) {
    for (auto& node : graph.nodes) {
        if (node.kind != NodeKind::other || node.bus.empty()) {
            continue;
        }
        for (auto const& device : machine.devices) {
            if (device.bus == node.bus) {
                node.kind = NodeKind::device;
                node.index = device.id;
            }
        }
    }
}

class FabricAdder {
  public:
    FabricAdder(Graph& into, const Graph& from) : into_(into), from_(from) {}
    void add() {
        for (auto const& link : from_.links) {
            if (is_fabric_link(link)) {
                auto copy = link;
                copy.from = node(link.from);
                copy.to = node(link.to);
                if (copy.from != copy.to && !told_from_other_end(copy)) {
                    into_.links.push_back(copy);
                }
            }
        }
    }

  private:
    /// Both ends of a link between two devices may list it, each for both directions.
    [[nodiscard]] bool told_from_other_end(const Link& link) const {
        return node_at(into_, link.from).kind == NodeKind::device && node_at(into_, link.to).kind == NodeKind::device &&
               std::any_of(into_.links.begin(), into_.links.end(),
                           [&](const Link& l) { return is_fabric_link(l) && l.from == link.from && l.to == link.to; });
    }
    int node(int index) {
        auto const known = places_.find(index);
        if (known != places_.end()) {
            return known->second;
        }
        auto const& wanted = node_at(from_, index);
        auto place = wanted.kind == NodeKind::device ? into_.device_node(wanted.index) : find_bus(into_, wanted.bus);
        if (place < 0) {
            auto copy = wanted;
            for (int twin = 2; into_.find(copy.name) >= 0; ++twin) {
                copy.name = fmt::format("{}#{}", wanted.name, twin);
            }
            into_.nodes.push_back(copy);
            place = static_cast<int>(into_.nodes.size()) - 1;
        }
        places_[index] = place;
        return place;
    }

    Graph& into_;
    const Graph& from_;
    std::map<int, int> places_;
};

/// Pairs that the fabric of `graph` joins and that are not known to be joined.
void join_pairs(Machine& machine, const Graph& graph) {
    auto probe = machine;
    probe.graph = graph;
    classify_from_graph(probe);
    for (auto& pair : machine.pairs) {
        auto const* seen = probe.pair(pair.accessor, pair.owner);
        bool const fabric = seen->path == PathClass::nv || seen->path == PathClass::xgmi;
        if (!fabric) {
            continue;
        }
        if (pair.path != seen->path) {
            pair.path = seen->path;
            pair.nvlinks = seen->nvlinks;
            pair.nominal_gbs = seen->nominal_gbs;
        } else if (!pair.nvlinks) {
            pair.nvlinks = seen->nvlinks;
        }
    }
}

}  // namespace

void merge_graph(Machine& base, const Machine& part, const Joining& joining) {
    auto mine = renumbered(part.graph, joining);
    name_far_ends(mine, base);
    name_far_ends(base.graph, base);
    if (mine.empty()) {
        if (!has_tree(base.graph) && has_fabric(base.graph)) {
            join_pairs(base, base.graph);  // addresses that this part brought may have named far ends
        }
        return;
    }
    bool const yields =
        base.origin.virtualized.value_or(false) && !part.origin.virtualized.value_or(false) && has_tree(mine);
    if (!has_tree(base.graph) || yields) {
        auto const known = base.graph;
        base.graph = mine;
        if (has_fabric(known) && !has_fabric(mine)) {
            FabricAdder(base.graph, known).add();
        }
    } else if (has_fabric(mine) && !has_fabric(base.graph)) {
        FabricAdder(base.graph, mine).add();
    }
    if (has_fabric(mine)) {
        auto fabric = mine;
        if (!has_tree(mine)) {
            Graph merged;
            FabricAdder(merged, mine).add();
            fabric = merged;
        }
        join_pairs(base, fabric);
    }
}

void drop_lone_fabric(Machine& machine) {
    if (machine.devices.size() > 1 && has_fabric(machine.graph) && !has_tree(machine.graph)) {
        machine.graph = Graph{};
    }
}

}  // namespace peerlane
