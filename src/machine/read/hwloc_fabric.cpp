#include <map>
#include <set>

#include <fmt/format.h>

#include "machine/read/hwloc_objects.hpp"
#include "machine/read/text.hpp"

namespace peerlane::read {
namespace {

void add_matrix(const Source& source, const HwlocMatrix& matrix, const std::map<std::uint64_t, int>& nodes,
                Machine& machine) {
    auto const n = matrix.objects.size();
    std::uint64_t least = 0;
    for (auto const value : matrix.values) {
        least = value > 0 && (least == 0 || value < least) ? value : least;
    }
    // One link has a round rate here: 20 GB/s in the first generation, 25 since. Of xGMI only hops are known, not
    // links.
    std::uint64_t const per_link = matrix.xgmi ? 0 : least % 25000 == 0 ? 25000 : least % 20000 == 0 ? 20000 : 0;
    if (per_link == 0 && !matrix.xgmi && least > 0) {
        add_notice(machine, source, "unknown-link-rate", matrix.line,
                   fmt::format("{} MB/s is no multiple of a link's rate: links are not counted", least));
    }
    int unnamed = 0;
    for (std::size_t row = 0; row < n; ++row) {
        for (std::size_t column = 0; column < n; ++column) {
            auto const value = matrix.values[row * n + column];
            if (value == 0 || row == column) {
                continue;
            }
            auto const from = nodes.find(matrix.objects[row]);
            auto const to = nodes.find(matrix.objects[column]);
            if (from == nodes.end() || to == nodes.end()) {
                ++unnamed;
                continue;
            }
            auto const width =
                per_link > 0 ? std::optional(static_cast<int>((value + per_link / 2) / per_link)) : std::nullopt;
            machine.graph.links.push_back({.from = from->second,
                                           .to = to->second,
                                           .kind = matrix.xgmi ? LinkKind::xgmi : LinkKind::nvlink,
                                           .generation = {},
                                           .width = width,
                                           .capacity_gbs = static_cast<double>(value) / 1000,
                                           .latency_s = {}});
        }
    }
    if (unnamed > 0) {
        add_notice(machine, source, "unknown-link-target", matrix.line,
                   fmt::format("{} links to objects that are neither GPU nor switch", unnamed));
    }
}

/// GPUs see only their own links. Where the switches of a machine fall into groups, the trunks between the groups are
/// missing: an NVSwitch machine is one fabric, so they are added, as wide as the switch's other side.
void join_switch_islands(const Source& source, Machine& machine) {
    auto& graph = machine.graph;
    std::map<int, std::set<int>> devices_of;  // switch node to device nodes
    std::map<int, int> width_of;
    for (auto const& l : graph.links) {
        if (l.kind != LinkKind::nvlink) {
            continue;
        }
        auto const& from = graph.nodes[static_cast<std::size_t>(l.from)];
        auto const& to = graph.nodes[static_cast<std::size_t>(l.to)];
        if (from.kind == NodeKind::nvswitch && to.kind == NodeKind::nvswitch) {
            return;  // trunks are told
        }
        if (from.kind == NodeKind::device && to.kind == NodeKind::nvswitch) {
            devices_of[l.to].insert(l.from);
            width_of[l.to] += l.width.value_or(1);
        }
    }
    std::map<std::set<int>, std::vector<int>> groups;
    for (auto const& [node_index, devices] : devices_of) {
        groups[devices].push_back(node_index);
    }
    if (groups.size() < 2) {
        return;
    }
    std::set<int> seen;
    std::size_t size = groups.begin()->second.size();
    for (auto const& [devices, switches] : groups) {
        for (auto const device : devices) {
            if (!seen.insert(device).second) {
                return;  // not groups: one device reaches several
            }
        }
        size = std::min(size, switches.size());
    }
    for (auto a = groups.begin(); a != groups.end(); ++a) {
        for (auto b = std::next(a); b != groups.end(); ++b) {
            for (std::size_t i = 0; i < size; ++i) {
                auto const width = width_of[a->second[i]];
                for (auto const& ends :
                     {std::pair(a->second[i], b->second[i]), std::pair(b->second[i], a->second[i])}) {
                    graph.links.push_back({.from = ends.first,
                                           .to = ends.second,
                                           .kind = LinkKind::nvlink,
                                           .generation = {},
                                           .width = width,
                                           .capacity_gbs = 25.0 * width,
                                           .latency_s = {}});
                }
            }
        }
    }
    add_notice(machine, source, "unknown-link-target", 0,
               fmt::format("{} groups of NVSwitches and no link between them in the file: taken as one fabric, trunks "
                           "as wide as the devices' links",
                           groups.size()));
}

/// Links of each device, where all of them are counted.
void count_links(Machine& machine) {
    for (auto const& link : machine.graph.links) {
        auto const& from = machine.graph.nodes[static_cast<std::size_t>(link.from)];
        if (link.kind == LinkKind::nvlink && from.kind == NodeKind::device) {
            auto& links = machine.devices[static_cast<std::size_t>(from.index)].nvlinks;
            links = link.width ? std::optional(links.value_or(0) + *link.width) : links;
        }
    }
}

}  // namespace

void add_hwloc_fabric(const Source& source, const std::vector<HwlocMatrix>& matrices,
                      const std::map<std::uint64_t, int>& nodes, Machine& machine) {
    for (auto const& matrix : matrices) {
        add_matrix(source, matrix, nodes, machine);
    }
    join_switch_islands(source, machine);
    count_links(machine);
}

}  // namespace peerlane::read
