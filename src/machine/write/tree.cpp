#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peerlane/units.hpp>

#include "machine/synthesize.hpp"
#include "machine/write/shape.hpp"
#include "machine/write/writers.hpp"

namespace peerlane::write {
namespace {

std::string node_text(const Machine& machine, const Node& node, const Link* up) {
    auto text = node.name;
    if (!node.bus.empty() && node.name.find(node.bus) == std::string::npos) {
        text += "  " + node.bus;
    }
    auto const* const device = node.kind == NodeKind::device ? machine.device(node.index) : nullptr;
    if (device != nullptr && device->model) {
        text += "  " + *device->model;
    }
    if (node.socket >= 0) {
        text += fmt::format("  socket {}", node.socket);
    }
    if (up != nullptr && up->kind == LinkKind::pcie && !link_text(*up).empty()) {
        text += "  " + link_text(*up);
    }
    return text;
}

const char* word(LinkKind kind) {
    return kind == LinkKind::xgmi ? "xGMI" : "NVLink";
}

}  // namespace

std::string tree(const Machine& machine) {
    auto const graph = synthesize_graph(machine);
    std::string out;
    if (machine.graph.empty() && !machine.devices.empty()) {
        out += "The input has no tree: this one is derived from the path classes.\n";
    }
    for (auto const& branch : branches(graph)) {
        out += std::string(static_cast<std::size_t>(branch.depth) * 2, ' ') +
               node_text(machine, graph.nodes[static_cast<std::size_t>(branch.node)], branch.up) + "\n";
    }
    auto const cables = fabric_cables(graph);
    if (cables.empty()) {
        return out;
    }
    out += "fabric\n";
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        auto const& node = graph.nodes[i];
        if (node.kind != NodeKind::nvswitch) {
            continue;
        }
        std::vector<std::string> ends;
        for (auto const& cable : cables) {
            if (cable.a == static_cast<int>(i) || cable.b == static_cast<int>(i)) {
                auto const other = cable.a == static_cast<int>(i) ? cable.b : cable.a;
                ends.push_back(fmt::format("{}{}", graph.nodes[static_cast<std::size_t>(other)].name,
                                           cable.width ? fmt::format(" x{}", *cable.width) : ""));
            }
        }
        out += fmt::format("  {}: {}\n", node.name, fmt::join(ends, ", "));
    }
    for (auto const& cable : cables) {
        auto const& a = graph.nodes[static_cast<std::size_t>(cable.a)];
        auto const& b = graph.nodes[static_cast<std::size_t>(cable.b)];
        if (a.kind != NodeKind::nvswitch && b.kind != NodeKind::nvswitch) {
            out += fmt::format("  {} - {}: {}{}\n", a.name, b.name, word(cable.kind),
                               cable.width ? fmt::format(" x{}", *cable.width) : "");
        }
    }
    return out;
}

}  // namespace peerlane::write
