#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include <peerlane/merge.hpp>
#include <peerlane/units.hpp>

#include "machine/nominal.hpp"

namespace peerlane {
namespace {

struct FabricSpec {
    LinkKind kind = LinkKind::nvlink;
    int links = 0;
    std::optional<double> link_gbs;
};

[[noreturn]] void bad(std::string_view text, const char* why) {
    throw std::invalid_argument(fmt::format("fabric \"{}\": {}; write KIND:LINKS@RATE, for example nvlink:18@26.56GB/s",
                                            text.substr(0, 60), why));
}

FabricSpec parse(std::string_view text) {
    FabricSpec spec;
    auto const colon = text.find(':');
    auto const kind = text.substr(0, colon);
    if (colon == std::string_view::npos || (kind != "nvlink" && kind != "xgmi")) {
        bad(text, "it begins with nvlink: or xgmi:");
    }
    spec.kind = kind == "xgmi" ? LinkKind::xgmi : LinkKind::nvlink;
    auto const at = text.find('@', colon);
    auto const links = parse_integer(text.substr(colon + 1, at == std::string_view::npos ? at : at - colon - 1));
    if (!links || *links < 1 || *links > 1000) {
        bad(text, "the number of links is 1 to 1000");
    }
    spec.links = static_cast<int>(*links);
    if (at != std::string_view::npos) {
        spec.link_gbs = parse_rate_gbs(text.substr(at + 1));
        if (!spec.link_gbs || *spec.link_gbs <= 0) {
            bad(text, "the rate of one link is a number and GB/s");
        }
    }
    return spec;
}

std::optional<double> link_rate(const FabricSpec& spec, const Device& device) {
    if (spec.link_gbs) {
        return spec.link_gbs;
    }
    if (spec.kind == LinkKind::xgmi) {
        return xgmi_link_gbs(device);
    }
    auto const part = nvlink_part(device);
    return device.nvlink_gbs         ? device.nvlink_gbs
           : part && part->links > 0 ? std::optional(part->link_gbs)
                                     : std::nullopt;
}

bool is_fabric(const Link& link) {
    return link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
}

/// The graph without its fabric, if it has any. Switches that stay behind are joined to nothing.
void take_fabric_away(Graph& graph) {
    graph.links.erase(std::remove_if(graph.links.begin(), graph.links.end(), is_fabric), graph.links.end());
}

void add_links(Machine& machine, const FabricSpec& spec) {
    auto& graph = machine.graph;
    take_fabric_away(graph);
    auto const both = [&](int a, int b, std::optional<double> gbs) {
        for (auto const& ends : {std::pair(a, b), std::pair(b, a)}) {
            graph.links.push_back({.from = ends.first,
                                   .to = ends.second,
                                   .kind = spec.kind,
                                   .generation = {},
                                   .width = spec.links,
                                   .capacity_gbs = gbs,
                                   .latency_s = {}});
        }
    };
    if (spec.kind == LinkKind::nvlink) {
        auto name = std::string("nvswitch:0");
        for (int twin = 1; graph.find(name) >= 0; ++twin) {
            name = fmt::format("nvswitch:{}", twin);
        }
        auto const center = static_cast<int>(graph.nodes.size());
        int switches = 0;
        for (auto const& node : graph.nodes) {
            switches += node.kind == NodeKind::nvswitch ? 1 : 0;
        }
        graph.nodes.push_back({.kind = NodeKind::nvswitch, .index = switches, .name = name, .bus = {}});
        for (auto const& device : machine.devices) {
            auto const rate = link_rate(spec, device);
            if (auto const node = graph.device_node(device.id); node >= 0) {
                both(node, center, rate ? std::optional(*rate * spec.links) : std::nullopt);
            }
        }
        return;
    }
    for (auto const& a : machine.devices) {
        for (auto const& b : machine.devices) {
            auto const from = graph.device_node(a.id), to = graph.device_node(b.id);
            if (a.id < b.id && from >= 0 && to >= 0) {
                auto const rate = link_rate(spec, a);
                both(from, to, rate ? std::optional(*rate * spec.links) : std::nullopt);
            }
        }
    }
}

}  // namespace

Machine with_fabric(Machine machine, std::string_view fabric) {
    auto const spec = parse(fabric);
    if (!machine.graph.empty()) {
        add_links(machine, spec);
    }
    for (auto& pair : machine.pairs) {
        auto const a = link_rate(spec, machine.devices[static_cast<std::size_t>(pair.accessor)]);
        auto const b = link_rate(spec, machine.devices[static_cast<std::size_t>(pair.owner)]);
        pair.path = spec.kind == LinkKind::xgmi ? PathClass::xgmi : PathClass::nv;
        pair.nvlinks = spec.links;
        pair.nominal_gbs = a && b ? std::optional(std::min(*a, *b) * spec.links) : std::nullopt;
    }
    for (auto& device : machine.devices) {
        if (spec.kind == LinkKind::nvlink) {
            device.nvlinks = spec.links;
            device.nvlink_gbs = spec.link_gbs ? spec.link_gbs : device.nvlink_gbs;
        }
    }
    machine.notices.push_back({"fabric-given", "", 0, fmt::format("the fabric {} was given, not read", fabric)});
    return machine;
}

}  // namespace peerlane
