// The machine as a drawing: the tree of the host from top to bottom, a row for each node, and the fabric beside it.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peerlane/units.hpp>

#include "machine/synthesize.hpp"
#include "machine/write/bundles.hpp"
#include "report/escape.hpp"
#include "report/parts.hpp"
#include "report/standing.hpp"

namespace peerlane::report {
namespace {

// Units of the drawing. A device is two lines of text high.
constexpr double width = 360, tree_right = 246, indent = 11, left = 12;
constexpr double device_height = 36, node_height = 18, gap = 4;
constexpr double fabric_left = tree_right + 6, fabric_right = width - 6;
constexpr double character_width = 5.9;
/// More arcs than that say nothing any more; the matrix has them all.
constexpr std::size_t few = 6, most_trouble = 24;

struct Row {
    double x = 0, y = 0, height = 0;
    [[nodiscard]] double middle() const { return y + height / 2; }
};

std::size_t room(double units) {
    return static_cast<std::size_t>(std::max(4.0, units / character_width));
}

std::string line(double x1, double y1, double x2, double y2, std::string_view classes, std::string_view title = {}) {
    return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"><title>{}</title></path>\n", classes, x1,
                       y1, x2, y2, escaped(title));
}

const char* class_of(NodeKind kind) {
    switch (kind) {
        case NodeKind::device:
            return "device";
        case NodeKind::numa:
            return "numa";
        case NodeKind::nic:
            return "nic";
        case NodeKind::nvswitch:
            return "switch";
        default:
            return "bridge";
    }
}

std::string capacity_text(const Link& link) {
    return link.capacity_gbs ? gbs_text(*link.capacity_gbs) + " GB/s" : std::string();
}

class Drawing {
  public:
    Drawing(const Machine& machine, const Verdicts& verdicts)
        : machine_(machine), verdicts_(verdicts), graph_(synthesize_graph(machine)) {}

    std::string text() {
        rows();
        interconnects();
        auto const cables = write::fabric_cables(graph_);
        switches(cables);
        direct(cables);
        trouble();
        auto const about = machine_.graph.empty() && !machine_.devices.empty()
                               ? "The input has no tree: this one is derived from the path classes."
                               : "Devices below the bridges and NUMA nodes that hold them; the fabric on the right.";
        return fmt::format(
            "<svg class=\"picture\" role=\"img\" aria-labelledby=\"picture-title picture-about\" viewBox=\"0 0 {:.0f} "
            "{:.0f}\">\n<title id=\"picture-title\">The machine: {} devices</title>\n<desc "
            "id=\"picture-about\">{}</desc>\n{}{}</svg>\n",
            width, bottom_ + gap, machine_.devices.size(), about, below_, above_);
    }

  private:
    [[nodiscard]] const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }

    void rows() {
        std::vector<int> parents;
        for (auto const& branch : write::branches(graph_)) {
            auto const& one = node(branch.node);
            Row const row{left + indent * std::min(branch.depth, 7), bottom_ + gap,
                          one.kind == NodeKind::device ? device_height : node_height};
            bottom_ = row.y + row.height;
            rows_[branch.node] = row;
            parents.resize(static_cast<std::size_t>(branch.depth));
            if (!parents.empty()) {
                auto const& up = rows_[parents.back()];
                below_ += fmt::format("<path class=\"wire\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n", up.x + 5,
                                      up.y + up.height, row.middle(), row.x);
            }
            parents.push_back(branch.node);
            box(one, row, branch.up);
        }
    }

    void box(const Node& one, const Row& row, const Link* up) {
        auto const* const device = one.kind == NodeKind::device ? machine_.device(one.index) : nullptr;
        std::string state;
        if (device != nullptr) {
            auto const own = standing_of_device(verdicts_, device->id);
            state = fmt::format(" s-{}{}", to_string(own.all), own.most >= Standing::part ? " most" : "");
        }
        auto const link = up != nullptr && up->kind == LinkKind::pcie ? write::link_text(*up) : std::string();
        auto const speed = up != nullptr && up->kind == LinkKind::pcie ? capacity_text(*up) : std::string();
        bool const bus_told = !one.bus.empty() && one.name.find(one.bus) == std::string::npos;
        auto title = one.name + (one.bus.empty() ? "" : " " + one.bus);
        if (device != nullptr && device->model) {
            title += " " + *device->model;
        }
        title += (link.empty() ? "" : " PCIe " + link) + (speed.empty() ? "" : " " + speed);
        above_ += fmt::format(
            "<g class=\"node {}{}\"><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
            "height=\"{:.1f}\" rx=\"4\"/>",
            class_of(one.kind), state, escaped(title), row.x, row.y, tree_right - row.x, row.height);
        auto const write_at = [&](double y, const std::string& words, const std::string& at_the_end,
                                  const char* classes) {
            auto const inside = tree_right - row.x - 10;
            auto const taken = at_the_end.empty() ? 0 : static_cast<double>(at_the_end.size() + 1) * character_width;
            above_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", classes, row.x + 5, y,
                                  escaped(shortened(words, room(inside - taken))));
            if (!at_the_end.empty()) {
                above_ += fmt::format("<text class=\"dim end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", tree_right - 5, y,
                                      escaped(at_the_end));
            }
        };
        auto const head = one.name + (bus_told ? " " + one.bus : "");
        if (device != nullptr) {
            write_at(row.y + 14, head, link, "name");
            write_at(row.y + 29, device->model.value_or("unknown model"), speed, "dim");
        } else {
            write_at(row.y + 13, head, link, "dim");
        }
        above_ += "</g>\n";
    }

    void interconnects() {
        std::set<std::pair<int, int>> joined;
        for (auto const& one : graph_.links) {
            auto const ends = std::minmax(one.from, one.to);
            if (one.kind != LinkKind::interconnect || rows_.count(ends.first) == 0 || rows_.count(ends.second) == 0 ||
                !joined.insert(ends).second) {
                continue;
            }
            below_ += fmt::format(
                "<path class=\"wire between\" d=\"M{:.1f} {:.1f}H5V{:.1f}H{:.1f}\"><title>{} - "
                "{}: interconnect {}</title></path>\n",
                left, rows_[ends.first].middle(), rows_[ends.second].middle(), left, escaped(node(ends.first).name),
                escaped(node(ends.second).name), capacity_text(one));
        }
    }

    void switches(const std::vector<write::Cable>& cables) {
        auto const all = write::bundles(graph_, cables);
        if (all.empty()) {
            return;
        }
        constexpr double bar = 15;
        auto const step = std::min(27.0, (fabric_right - bar - fabric_left - 24) / static_cast<double>(all.size()));
        std::map<int, Row> bars;  // by first switch
        for (std::size_t i = 0; i < all.size(); ++i) {
            double top = bottom_, low = 0;
            for (auto const& [end, links] : all[i].ends) {
                if (auto const row = rows_.find(end); row != rows_.end()) {
                    top = std::min(top, row->second.middle() - 12);
                    low = std::max(low, row->second.middle() + 12);
                }
            }
            if (low <= top) {  // of switches alone
                top = gap;
                low = bottom_;
            }
            bars[all[i].switches.front()] = {fabric_left + 24 + step * static_cast<double>(i), top, low - top};
        }
        for (auto const& bundle : all) {
            auto const& at = bars[bundle.switches.front()];
            auto const count = bundle.switches.size();
            auto const name = count == 1 ? node(bundle.switches.front()).name : fmt::format("{} NVSwitches", count);
            for (auto const& [end, links] : bundle.ends) {
                auto const label = links ? fmt::format("x{}", *links) : std::string();
                if (auto const other = bars.find(end); other != bars.end()) {
                    below_ +=
                        trunk(at, other->second, bar, fmt::format("{} - {}: NVLink {}", name, node(end).name, label));
                } else if (auto const row = rows_.find(end); row != rows_.end()) {
                    auto const y = row->second.middle();
                    auto const state = standing_of_device(verdicts_, node(end).index).most;
                    below_ += line(tree_right, y, at.x + bar / 2, y, fmt::format("cable s-{}", to_string(state)),
                                   fmt::format("{} - {}: NVLink {}", node(end).name, name, label));
                    if (all.size() == 1 && !label.empty()) {
                        above_ += fmt::format("<text class=\"dim small\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                                              tree_right + 4, y - 4, label);
                    }
                }
            }
            auto const middle = at.middle();
            auto const words = shortened(name, room(at.height - 6));
            above_ += fmt::format(
                "<g class=\"node switch\"><title>{0}</title><rect x=\"{1:.1f}\" y=\"{2:.1f}\" width=\"{3:.1f}\" "
                "height=\"{4:.1f}\" rx=\"4\"/><text class=\"dim middle\" transform=\"translate({5:.1f} {6:.1f}) "
                "rotate(90)\">{7}</text></g>\n",
                escaped(name), at.x, at.y, bar, at.height, at.x + bar / 2 - 3.5, middle, escaped(words));
        }
    }

    /// Between two bars: straight where they stand beside each other, else round the corner.
    static std::string trunk(const Row& a, const Row& b, double bar, const std::string& title) {
        auto const top = std::max(a.y, b.y), low = std::min(a.y + a.height, b.y + b.height);
        if (top < low) {
            return line(a.x + bar / 2, (top + low) / 2, b.x + bar / 2, (top + low) / 2, "cable", title);
        }
        auto const& upper = a.y < b.y ? a : b;
        auto const& lower = a.y < b.y ? b : a;
        return fmt::format("<path class=\"cable\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}V{:.1f}\"><title>{}</title></path>\n",
                           upper.x + bar / 2, upper.y + upper.height, (low + top) / 2, lower.x + bar / 2, lower.y,
                           escaped(title));
    }

    /// Farther apart, farther out.
    std::string arc(const Row& a, const Row& b, double reach, const std::string& classes, double thick,
                    const std::string& title) const {
        auto const out = fabric_left + 12 + (fabric_right - fabric_left - 14) * reach;
        // A cubic curve comes three quarters of the way to its control points.
        auto const control = tree_right + (out - tree_right) * 4 / 3;
        return fmt::format(
            "<path class=\"{}\" stroke-width=\"{:.1f}\" d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} "
            "{:.1f}\"><title>{}</title></path>\n",
            classes, thick, tree_right, a.middle(), control, a.middle(), control, b.middle(), tree_right, b.middle(),
            escaped(title));
    }

    [[nodiscard]] double reach(const Row& a, const Row& b) const {
        return bottom_ > 0 ? std::sqrt(std::abs(a.middle() - b.middle()) / bottom_) : 1;
    }

    [[nodiscard]] std::string both_words(int a, int b) const {
        return direction_words(verdicts_, a, b) + ", " + direction_words(verdicts_, b, a);
    }

    void direct(const std::vector<write::Cable>& cables) {
        for (auto const& cable : cables) {
            auto const a = rows_.find(cable.a), b = rows_.find(cable.b);
            if (a == rows_.end() || b == rows_.end()) {
                continue;
            }
            auto const first = node(cable.a).index, second = node(cable.b).index;
            joined_.insert(std::minmax(first, second));
            auto const state = std::max(standing(verdicts_, first, second), standing(verdicts_, second, first));
            auto const links = cable.width ? fmt::format(" x{}", *cable.width) : std::string();
            below_ +=
                arc(a->second, b->second, reach(a->second, b->second), fmt::format("arc s-{}", to_string(state)),
                    1 + std::min(3.0, cable.width.value_or(1) / 4.0),
                    fmt::format("{} - {}: {}{}; {}", node(cable.a).name, node(cable.b).name,
                                cable.kind == LinkKind::xgmi ? "xGMI" : "NVLink", links, both_words(first, second)));
        }
    }

    /// Directions that are worse than they should be and that no cable of their own shows.
    void trouble() {
        std::set<std::pair<int, int>> pairs;
        for (auto const& pair : verdicts_.pairs) {
            for (auto const& [source, destination] :
                 {std::pair(pair.accessor, pair.owner), std::pair(pair.owner, pair.accessor)}) {
                auto const ends = std::minmax(source, destination);
                if (standing(verdicts_, source, destination) >= Standing::part && joined_.count(ends) == 0) {
                    pairs.insert(ends);
                }
            }
        }
        if (pairs.size() > most_trouble) {
            return;
        }
        for (auto const& [first, second] : pairs) {
            auto const a = rows_.find(graph_.device_node(first)), b = rows_.find(graph_.device_node(second));
            if (a != rows_.end() && b != rows_.end()) {
                auto const state = std::max(standing(verdicts_, first, second), standing(verdicts_, second, first));
                above_ += arc(a->second, b->second, reach(a->second, b->second),
                              fmt::format("arc trouble s-{}", to_string(state)), pairs.size() > few ? 1.5 : 3,
                              both_words(first, second));
            }
        }
    }

    const Machine& machine_;
    const Verdicts& verdicts_;
    Graph graph_;
    std::map<int, Row> rows_{};  ///< by node
    std::set<std::pair<int, int>> joined_{};
    double bottom_ = 0;
    std::string below_{}, above_{};  ///< wires, and what stands on them
};

}  // namespace

std::string picture(const Machine& machine, const Verdicts& verdicts) {
    return machine.devices.empty() ? "<p>No device.</p>\n" : Drawing(machine, verdicts).text();
}

}  // namespace peerlane::report
