// The links of the machine's graph that a leg takes.
#include "plan/load.hpp"

#include <algorithm>
#include <map>

#include "machine/paths.hpp"

namespace peerlane::plan {
namespace {

bool is_fabric(const Link& link) {
    return link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
}

}  // namespace

std::vector<int> Load::fabric_links(int from, int to) const {
    auto const& links = costs_->machine().graph.links;
    auto const& nodes = costs_->machine().graph.nodes;
    std::vector<int> way;
    for (std::size_t i = 0; i < links.size(); ++i) {
        if (is_fabric(links[i]) && links[i].from == from && links[i].to == to) {
            return {static_cast<int>(i)};
        }
    }
    for (std::size_t i = 0; i < links.size(); ++i) {
        if (!is_fabric(links[i]) || links[i].from != from || nodes[at(links[i].to)].kind == NodeKind::device) {
            continue;
        }
        for (std::size_t j = 0; j < links.size(); ++j) {
            if (is_fabric(links[j]) && links[j].from == links[i].to && links[j].to == to) {
                return {static_cast<int>(i), static_cast<int>(j)};  // planes side by side: one stands for all
            }
        }
    }
    // Over other devices: the fewest links.
    std::map<int, int> by{{from, -1}};
    std::vector<int> front{from};
    while (!front.empty() && by.count(to) == 0) {
        std::vector<int> next;
        for (std::size_t i = 0; i < links.size(); ++i) {
            if (is_fabric(links[i]) && std::find(front.begin(), front.end(), links[i].from) != front.end() &&
                by.try_emplace(links[i].to, static_cast<int>(i)).second) {
                next.push_back(links[i].to);
            }
        }
        front = std::move(next);
    }
    if (by.count(to) != 0) {
        for (auto node = to; by.at(node) >= 0; node = links[at(by.at(node))].from) {
            way.push_back(by.at(node));
        }
    }
    return way;
}

std::vector<int> Load::links_of(const Leg& leg) const {
    auto const& graph = costs_->machine().graph;
    if (leg.from == leg.to) {
        return {};
    }
    if (leg.from.is_device() && leg.to.is_device()) {
        auto const from = graph.device_node(leg.from.index);
        auto const to = graph.device_node(leg.to.index);
        auto const* const pair = costs_->machine().pair(leg.from.index, leg.to.index);
        if (pair != nullptr && (pair->path == PathClass::nv || pair->path == PathClass::xgmi)) {
            return fabric_links(from, to);
        }
        return host_way(graph, from, to);
    }
    auto const device = leg.from.is_device() ? leg.from.index : leg.to.index;
    auto place = leg.from.is_host() ? leg.from : leg.to;
    if (place == host()) {
        place = costs_->nominal().staging_places(device, device).front();
    }
    auto const node = graph.numa_node(place.index);
    auto const end = graph.device_node(device);
    if (node < 0) {
        return {};
    }
    auto way = leg.from.is_device() ? host_way(graph, end, node) : host_way(graph, node, end);
    auto const memory = std::find(numa_node_.begin(), numa_node_.end(), node);
    if (memory != numa_node_.end() && !way.empty()) {
        way.push_back(static_cast<int>(graph.links.size()) + static_cast<int>(memory - numa_node_.begin()));
    }
    return way;
}

}  // namespace peerlane::plan
