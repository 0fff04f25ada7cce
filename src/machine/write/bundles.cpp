#include "machine/write/bundles.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace peerlane::write {
namespace {

void add_width(std::map<int, std::optional<int>>& ends, int end, std::optional<int> width) {
    auto const [place, fresh] = ends.emplace(end, width);
    if (!fresh) {
        place->second = place->second && width ? std::optional(*place->second + *width) : std::nullopt;
    }
}

}  // namespace

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

}  // namespace peerlane::write
