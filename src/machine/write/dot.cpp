#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "machine/synthesize.hpp"
#include "machine/write/bundles.hpp"
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
