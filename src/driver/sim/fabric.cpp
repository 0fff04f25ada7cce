#include "driver/sim/fabric.hpp"

#include <algorithm>
#include <set>

#include "machine/nominal.hpp"

namespace peerlane::sim {
namespace {

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

bool is_fabric(const Link& link) {
    return link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
}

/// Shortest way over xGMI links that are not taken, the widest of equals; empty when there is none.
std::vector<int> shortest_way(const Graph& graph, int a, int b, const std::set<int>& taken) {
    struct Reached {
        int hops = -1;
        double narrowest = 0;
        int by = -1;
    };
    std::vector<Reached> reached(graph.nodes.size());
    reached[at(a)] = {0, 1e18, -1};
    for (int hops = 0;; ++hops) {
        auto found = false;
        for (std::size_t i = 0; i < graph.links.size(); ++i) {
            auto const& link = graph.links[i];
            if (link.kind != LinkKind::xgmi || reached[at(link.from)].hops != hops ||
                taken.count(static_cast<int>(i)) != 0) {
                continue;
            }
            auto& to = reached[at(link.to)];
            auto const narrowest = std::min(reached[at(link.from)].narrowest, assumed_gbs(link));
            if (to.hops < 0 || (to.hops == hops + 1 && narrowest > to.narrowest)) {
                to = {hops + 1, narrowest, static_cast<int>(i)};
                found = true;
            }
        }
        if (!found || reached[at(b)].hops >= 0) {
            break;
        }
    }
    std::vector<int> way;
    for (auto node = b; node != a && reached[at(node)].by >= 0; node = graph.links[at(way.back())].from) {
        way.push_back(reached[at(node)].by);
    }
    std::reverse(way.begin(), way.end());
    return way;
}

}  // namespace

std::vector<int> fabric_way(const Graph& graph, int a, int b) {
    for (std::size_t i = 0; i < graph.links.size(); ++i) {
        if (is_fabric(graph.links[i]) && graph.links[i].from == a && graph.links[i].to == b) {
            return {static_cast<int>(i)};
        }
    }
    std::vector<int> way;
    for (std::size_t i = 0; i < graph.links.size(); ++i) {
        auto const& in = graph.links[i];
        if (!is_fabric(in) || in.from != a || graph.nodes[at(in.to)].kind == NodeKind::device) {
            continue;
        }
        for (std::size_t j = 0; j < graph.links.size(); ++j) {
            auto const& out = graph.links[j];
            if (is_fabric(out) && out.from == in.to && out.to == b) {
                way.push_back(static_cast<int>(i));
                way.push_back(static_cast<int>(j));
            }
        }
        if (!way.empty()) {
            return way;  // several switches side by side carry one capacity each; one of them stands for all
        }
    }
    return way;
}

Graph with_joined_switches(Graph graph) {
    int first = -1;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        if (graph.nodes[n].kind != NodeKind::nvswitch) {
            continue;
        }
        if (first < 0) {
            first = static_cast<int>(n);
            continue;
        }
        for (auto& link : graph.links) {
            link.from = link.from == static_cast<int>(n) ? first : link.from;
            link.to = link.to == static_cast<int>(n) ? first : link.to;
        }
    }
    std::vector<Link> joined;
    for (auto const& link : graph.links) {
        auto const same = std::find_if(joined.begin(), joined.end(), [&](const Link& l) {
            return l.from == link.from && l.to == link.to && l.kind == link.kind && is_fabric(l);
        });
        if (link.from == link.to && is_fabric(link)) {
            continue;
        }
        if (same == joined.end()) {
            joined.push_back(link);
            continue;
        }
        same->capacity_gbs = assumed_gbs(*same) + assumed_gbs(link);
        same->width = same->width.value_or(0) + link.width.value_or(0);
    }
    graph.links = std::move(joined);
    return graph;
}

std::vector<std::vector<int>> routed_ways(const Graph& graph, int a, int b) {
    std::vector<std::vector<int>> ways;
    std::set<int> taken;
    while (ways.size() < 2) {
        auto way = shortest_way(graph, a, b, taken);
        if (way.empty()) {
            break;
        }
        taken.insert(way.begin(), way.end());
        ways.push_back(std::move(way));
    }
    return ways;
}

bool passes_device(const Graph& graph, const std::vector<int>& way) {
    for (std::size_t i = 0; i + 1 < way.size(); ++i) {
        if (graph.nodes[at(graph.links[at(way[i])].to)].kind == NodeKind::device) {
            return true;
        }
    }
    return false;
}

}  // namespace peerlane::sim
