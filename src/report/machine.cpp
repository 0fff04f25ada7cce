// The machine: drawing, and the same as tables.

#include <fmt/format.h>

#include <peerlane/units.hpp>

#include "machine/synthesize.hpp"
#include "machine/write/shape.hpp"
#include "report/escape.hpp"
#include "report/parts.hpp"
#include "report/standing.hpp"

namespace peerlane::report {
namespace {

template <class Value>
std::string or_dash(const std::optional<Value>& value) {
    return value ? escaped(fmt::format("{}", *value)) : "-";
}

std::string pcie_text(const Device& device) {
    if (!device.pcie_generation && !device.pcie_width) {
        return "-";
    }
    return fmt::format("gen {} x{}", or_dash(device.pcie_generation), or_dash(device.pcie_width));
}

std::string device_table(const Machine& machine, const Verdicts& verdicts) {
    std::string out =
        "<div class=\"wide\"><table><caption>Devices</caption><thead><tr><th scope=\"col\">device<th "
        "scope=\"col\">model<th scope=\"col\">bus<th scope=\"col\">NUMA<th scope=\"col\">memory<th "
        "scope=\"col\">PCIe<th scope=\"col\">NVLinks<th scope=\"col\">directions</tr></thead><tbody>\n";
    for (auto const& device : machine.devices) {
        out += fmt::format(
            "<tr><th scope=\"row\">gpu{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}</tr>\n", device.id,
            or_dash(device.model), or_dash(device.bus), or_dash(device.numa),
            device.memory_bytes ? fmt::format("{:.0f} GiB", static_cast<double>(*device.memory_bytes) / GiB) : "-",
            pcie_text(device), or_dash(device.nvlinks), to_string(standing_of_device(verdicts, device.id).all));
    }
    return out + "</tbody></table></div>\n";
}

std::string rate_text(std::optional<double> gbs) {
    return gbs ? gbs_text(*gbs) + " GB/s" : "-";
}

std::string word_of(const Link& link) {
    switch (link.kind) {
        case LinkKind::pcie:
            return "PCIe " + write::link_text(link);
        case LinkKind::interconnect:
            return "interconnect";
        case LinkKind::memory:
            return "memory";
        case LinkKind::network:
            return "network";
        default:
            return to_string(link.kind);
    }
}

/// GB/s of all links from one node to another together; empty where one is not told.
std::optional<double> capacity(const Graph& graph, int from, int to) {
    std::optional<double> sum;
    for (auto const& link : graph.links) {
        if (link.from == from && link.to == to) {
            if (!link.capacity_gbs) {
                return std::nullopt;
            }
            sum = sum.value_or(0) + *link.capacity_gbs;
        }
    }
    return sum;
}

std::string link_table(const Machine& machine, const Verdicts& verdicts) {
    auto const graph = synthesize_graph(machine);
    auto const node = [&](int index) -> const Node& { return graph.nodes[static_cast<std::size_t>(index)]; };
    std::string rows;
    auto const row = [&](int a, int b, const std::string& kind, const std::string& rate, const std::string& words) {
        rows += fmt::format("<tr><td>{}<td>{}<td>{}<td>{}<td>{}</tr>\n", escaped(node(a).name), escaped(node(b).name),
                            escaped(kind), escaped(rate), escaped(words));
    };
    std::vector<int> parents;
    for (auto const& branch : write::branches(graph)) {
        parents.resize(static_cast<std::size_t>(branch.depth));
        if (!parents.empty() && branch.up != nullptr) {
            row(branch.node, parents.back(), word_of(*branch.up), rate_text(branch.up->capacity_gbs), "");
        }
        parents.push_back(branch.node);
    }
    for (auto const& cable : write::fabric_cables(graph)) {
        bool const devices = node(cable.a).kind == NodeKind::device && node(cable.b).kind == NodeKind::device;
        auto const a = node(cable.a).index, b = node(cable.b).index;
        row(cable.a, cable.b,
            fmt::format("{}{}", cable.kind == LinkKind::xgmi ? "xGMI" : "NVLink",
                        cable.width ? fmt::format(" x{}", *cable.width) : ""),
            rate_text(capacity(graph, cable.a, cable.b)),
            devices ? direction_words(verdicts, a, b) + ", " + direction_words(verdicts, b, a) : "");
    }
    return "<div class=\"wide\"><table><caption>Links</caption><thead><tr><th scope=\"col\">from<th "
           "scope=\"col\">to<th scope=\"col\">kind<th scope=\"col\">each way<th scope=\"col\">proven, data "
           "from&gt;to</tr></thead><tbody>\n" +
           rows + "</tbody></table></div>\n";
}

}  // namespace

std::string shortened(std::string_view text, std::size_t most) {
    std::size_t characters = 0, end = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        bool const begins = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80;
        if (begins && ++characters == most) {
            end = at;
        }
        if (characters > most) {
            return std::string(text.substr(0, end)) + "…";
        }
    }
    return std::string(text);
}

std::string direction_words(const Verdicts& verdicts, int source, int destination) {
    auto const gbs = rate(verdicts, source, destination);
    return fmt::format("{}>{} {}{}", source, destination, to_string(standing(verdicts, source, destination)),
                       gbs ? " " + gbs_text(*gbs) + " GB/s" : "");
}

std::string machine_part(const Machine& machine, const Verdicts& verdicts) {
    auto out = std::string("<section id=\"machine\"><h2>The machine</h2>\n") + picture(machine, verdicts);
    if (!machine.devices.empty()) {
        out += "<details><summary>As tables: devices and links</summary>\n" + device_table(machine, verdicts) +
               link_table(machine, verdicts) + "</details>\n";
    }
    return out + "</section>\n";
}

}  // namespace peerlane::report
