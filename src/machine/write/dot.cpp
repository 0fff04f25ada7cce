#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "machine/synthesize.hpp"
#include "machine/write/shape.hpp"
#include "machine/write/writers.hpp"

namespace peerlane::write {
namespace {

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (auto const c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
    return out + "\"";
}

/// Text with a line break of Graphviz's own between the lines.
std::string lines(const std::vector<std::string>& texts) {
    std::string out = "\"";
    for (std::size_t i = 0; i < texts.size(); ++i) {
        auto const one = quoted(texts[i]);
        out += (i > 0 ? "\\n" : "") + one.substr(1, one.size() - 2);
    }
    return out + "\"";
}

const char* look(NodeKind kind) {
    switch (kind) {
        case NodeKind::device:
            return "shape=box, style=\"filled,bold\", fillcolor=\"#cfe8cf\"";
        case NodeKind::nvswitch:
            return "shape=hexagon, style=filled, fillcolor=\"#e6d8f2\"";
        case NodeKind::nic:
            return "shape=box, style=\"filled,rounded\", fillcolor=\"#f7e3c4\"";
        case NodeKind::numa:
            return "shape=box3d, style=filled, fillcolor=\"#d8e4f2\"";
        case NodeKind::host_bridge:
            return "shape=box, style=filled, fillcolor=\"#eeeeee\"";
        default:
            return "shape=ellipse";
    }
}

/// Switches that join the same devices are drawn as one: eight of them would be 128 lines for 16 devices.
struct Bundle {
    std::vector<int> switches;
    std::map<int, std::optional<int>> ends;  ///< node, or first switch of a bundle; links of all switches together
};

void add_width(std::map<int, std::optional<int>>& ends, int end, std::optional<int> width) {
    auto const [place, fresh] = ends.emplace(end, width);
    if (!fresh) {
        place->second = place->second && width ? std::optional(*place->second + *width) : std::nullopt;
    }
}

std::vector<Bundle> bundles(const Graph& graph, const std::vector<Cable>& cables) {
    auto const is_switch = [&](int node) {
        return graph.nodes[static_cast<std::size_t>(node)].kind == NodeKind::nvswitch;
    };
    std::map<int, std::map<int, std::optional<int>>> devices, trunks;  // of each switch
    for (auto const& cable : cables) {
        for (auto const& [self, other] : {std::pair(cable.a, cable.b), std::pair(cable.b, cable.a)}) {
            if (is_switch(self)) {
                add_width(is_switch(other) ? trunks[self] : devices[self], other, cable.width);
            }
        }
    }
    // Switches that join only switches stay what they are told apart by: those.
    std::map<std::pair<std::set<int>, std::set<int>>, Bundle> by_ends;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        auto const self = static_cast<int>(i);
        if (!is_switch(self)) {
            continue;
        }
        std::pair<std::set<int>, std::set<int>> key;
        for (auto const& [end, width] : devices[self]) {
            key.first.insert(end);
        }
        for (auto const& [end, width] : trunks[self]) {
            if (key.first.empty()) {
                key.second.insert(end);
            }
        }
        auto& bundle = by_ends[key];
        bundle.switches.push_back(self);
        for (auto const& [end, width] : devices[self]) {
            add_width(bundle.ends, end, width);
        }
    }
    std::map<int, int> first_of;  // a switch, and the first of its bundle
    for (auto const& [key, bundle] : by_ends) {
        for (auto const self : bundle.switches) {
            first_of[self] = bundle.switches.front();
        }
    }
    std::vector<Bundle> result;
    for (auto& [key, bundle] : by_ends) {
        for (auto const self : bundle.switches) {
            for (auto const& [other, width] : trunks[self]) {
                // Drawn once, from the bundle that comes first.
                if (bundle.switches.front() < first_of[other]) {
                    add_width(bundle.ends, first_of[other], width);
                }
            }
        }
        result.push_back(std::move(bundle));
    }
    std::sort(result.begin(), result.end(), [](const Bundle& a, const Bundle& b) { return a.switches < b.switches; });
    return result;
}

std::string node_line(const Machine& machine, const Node& node) {
    std::vector<std::string> label{node.name};
    if (!node.bus.empty() && node.name.find(node.bus) == std::string::npos) {
        label.push_back(node.bus);
    }
    auto const* const device = node.kind == NodeKind::device ? machine.device(node.index) : nullptr;
    if (device != nullptr && device->model) {
        label.insert(label.begin() + 1, *device->model);
    }
    return fmt::format("{} [label={}, {}];\n", quoted(node.name), lines(label), look(node.kind));
}

}  // namespace

std::string dot(const Machine& machine) {
    auto const graph = synthesize_graph(machine);
    auto const name = [&](int index) { return quoted(graph.nodes[static_cast<std::size_t>(index)].name); };
    std::string out =
        "graph machine {\n  graph [rankdir=LR, newrank=true, forcelabels=true, nodesep=0.12, ranksep=0.7, "
        "fontname=\"Helvetica\"";
    out += machine.graph.empty() && !machine.devices.empty() ? ", label=\"derived from path classes\"];\n" : "];\n";
    out += "  node [fontname=\"Helvetica\", fontsize=11];\n  edge [fontname=\"Helvetica\", fontsize=9];\n";
    int open = 0;
    bool cluster = false;
    std::vector<int> parents;
    std::string edges;
    for (auto const& branch : branches(graph)) {
        auto const& node = graph.nodes[static_cast<std::size_t>(branch.node)];
        if (branch.depth == 0) {
            if (cluster) {
                out += "  }\n";
            }
            cluster = node.kind == NodeKind::numa || node.kind == NodeKind::host_bridge;
            if (cluster) {
                out += fmt::format("  subgraph cluster_{} {{\n    label=\"\"; style=rounded; color=\"#999999\";\n",
                                   open++);
            }
        }
        out += "    " + node_line(machine, node);
        parents.resize(static_cast<std::size_t>(branch.depth));
        if (!parents.empty()) {
            auto const text = branch.up == nullptr || branch.up->kind != LinkKind::pcie ? "" : link_text(*branch.up);
            edges += fmt::format("  {} -- {}{};\n", name(parents.back()), name(branch.node),
                                 text.empty() ? "" : fmt::format(" [label={}]", quoted(text)));
        }
        parents.push_back(branch.node);
    }
    if (cluster) {
        out += "  }\n";
    }
    out += edges;
    std::set<std::pair<int, int>> joined;
    for (auto const& link : graph.links) {
        auto const ends = std::minmax(link.from, link.to);
        if (link.kind == LinkKind::interconnect && joined.insert(ends).second) {
            out += fmt::format("  {} -- {} [style=dashed, constraint=false];\n", name(ends.first), name(ends.second));
        }
    }
    auto const cables = fabric_cables(graph);
    auto const fabric = [&](int a, const std::string& b, LinkKind kind, const std::optional<int>& width) {
        out += fmt::format("  {} -- {} [color=\"{}\", penwidth=2{}];\n", name(a), b,
                           kind == LinkKind::xgmi ? "#b03030" : "#2f7d32",
                           width ? fmt::format(", label=\"x{}\"", *width) : "");
    };
    for (auto const& bundle : bundles(graph, cables)) {
        auto const& first = graph.nodes[static_cast<std::size_t>(bundle.switches.front())];
        auto const count = bundle.switches.size();
        out += fmt::format("  {} [label={}, {}];\n", quoted(first.name),
                           quoted(count == 1 ? first.name : fmt::format("{} NVSwitches", count)),
                           look(NodeKind::nvswitch));
        for (auto const& [end, width] : bundle.ends) {
            fabric(end, quoted(first.name), LinkKind::nvlink, width);
        }
    }
    // Beside the tree, not part of its ranks; an outer label, because Graphviz cannot place an inner
    // one between neighbours.
    for (auto const& cable : cables) {
        auto const kind_a = graph.nodes[static_cast<std::size_t>(cable.a)].kind;
        auto const kind_b = graph.nodes[static_cast<std::size_t>(cable.b)].kind;
        if (kind_a != NodeKind::nvswitch && kind_b != NodeKind::nvswitch) {
            out += fmt::format("  {} -- {} [color=\"{}\", penwidth=2, constraint=false{}];\n", name(cable.a),
                               name(cable.b), cable.kind == LinkKind::xgmi ? "#b03030" : "#2f7d32",
                               cable.width ? fmt::format(", xlabel=\"x{}\"", *cable.width) : "");
        }
    }
    return out + "}\n";
}

}  // namespace peerlane::write
