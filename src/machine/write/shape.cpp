#include "machine/write/shape.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace peerlane::write {
namespace {

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

/// How far from the memory a kind of node is: links of the tree lead from a lower to a higher number.
int level(NodeKind kind) {
    switch (kind) {
        case NodeKind::numa:
            return 0;
        case NodeKind::host_bridge:
            return 1;
        case NodeKind::pci_bridge:
        case NodeKind::other:
            return 2;
        default:
            return 3;
    }
}

bool of_tree(const Link& link) {
    return link.kind == LinkKind::pcie || link.kind == LinkKind::memory || link.kind == LinkKind::network;
}

}  // namespace

std::vector<Branch> branches(const Graph& graph) {
    std::vector<std::vector<const Link*>> below(graph.nodes.size());
    for (auto const& link : graph.links) {
        if (of_tree(link) && level(graph.nodes[at(link.to)].kind) >= level(graph.nodes[at(link.from)].kind)) {
            below[at(link.from)].push_back(&link);
        }
    }
    // The link that leads upward is the one whose generation and width are the child's own.
    std::map<std::pair<int, int>, const Link*> upward;
    for (auto const& link : graph.links) {
        upward.emplace(std::pair(link.from, link.to), &link);
    }
    std::vector<Branch> result;
    std::vector<bool> seen(graph.nodes.size(), false);
    auto const hang = [&](int root) {
        std::vector<Branch> stack{{root, 0, nullptr}};
        while (!stack.empty()) {
            auto const here = stack.back();
            stack.pop_back();
            if (seen[at(here.node)]) {
                continue;
            }
            seen[at(here.node)] = true;
            result.push_back(here);
            auto const kind = graph.nodes[at(here.node)].kind;
            if (kind == NodeKind::device || kind == NodeKind::nic) {
                continue;
            }
            for (auto link = below[at(here.node)].rbegin(); link != below[at(here.node)].rend(); ++link) {
                auto const up = upward.find({(*link)->to, here.node});
                stack.push_back({(*link)->to, here.depth + 1, up == upward.end() ? *link : up->second});
            }
        }
    };
    for (auto const kind :
         {NodeKind::numa, NodeKind::host_bridge, NodeKind::pci_bridge, NodeKind::device, NodeKind::nic}) {
        std::vector<int> roots;
        for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
            if (graph.nodes[i].kind == kind && !seen[i]) {
                roots.push_back(static_cast<int>(i));
            }
        }
        if (kind == NodeKind::numa) {
            std::stable_sort(roots.begin(), roots.end(),
                             [&](int a, int b) { return graph.nodes[at(a)].index < graph.nodes[at(b)].index; });
        }
        for (auto const root : roots) {
            if (!seen[at(root)]) {
                hang(root);
            }
        }
    }
    return result;
}

std::vector<Cable> fabric_cables(const Graph& graph) {
    std::map<std::tuple<int, int, LinkKind>, Cable> cables;
    std::map<std::tuple<int, int, LinkKind>, std::optional<int>> one_way;
    for (auto const& link : graph.links) {
        if (link.kind != LinkKind::nvlink && link.kind != LinkKind::xgmi) {
            continue;
        }
        auto const key = std::tuple(link.from, link.to, link.kind);
        auto const found = one_way.find(key);
        one_way[key] = found == one_way.end()        ? link.width
                       : found->second && link.width ? std::optional(*found->second + *link.width)
                                                     : std::nullopt;
    }
    for (auto const& [key, width] : one_way) {
        auto const [from, to, kind] = key;
        auto& cable = cables[{std::min(from, to), std::max(from, to), kind}];
        bool const first = cable.a < 0;
        cable.width = first                  ? width
                      : cable.width && width ? std::optional(std::max(*cable.width, *width))
                                             : std::nullopt;
        cable.a = std::min(from, to);
        cable.b = std::max(from, to);
        cable.kind = kind;
    }
    std::vector<Cable> result;
    for (auto const& entry : cables) {
        result.push_back(entry.second);
    }
    return result;
}

std::string link_text(const Link& link) {
    auto text = link.generation ? fmt::format("gen{}", *link.generation) : std::string();
    if (link.width) {
        text += fmt::format("{}x{}", text.empty() ? "" : " ", *link.width);
    }
    return text;
}

}  // namespace peerlane::write
