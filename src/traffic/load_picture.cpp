// Loads of the busiest links over time, as lines of blocks.

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <peerlane/simulation.hpp>
#include <peerlane/units.hpp>

#include "traffic/text.hpp"

namespace peerlane::traffic {
namespace {

constexpr std::size_t most_lines = 8;
constexpr int width = 60;
constexpr std::array<const char*, 9> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// Mean over [begin, end).
double mean(const std::vector<LoadStep>& steps, double begin, double end) {
    double area = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        auto const until = i + 1 < steps.size() ? steps[i + 1].time_s : std::numeric_limits<double>::infinity();
        auto const common = std::min(until, end) - std::max(steps[i].time_s, begin);
        area += common > 0 ? common * steps[i].fraction : 0;
    }
    return area / (end - begin);
}

/// Anything above nothing is seen.
const char* block(double fraction) {
    auto const eighths = static_cast<int>(fraction * 8 + 0.5);
    return blocks[static_cast<std::size_t>(fraction <= 0 ? 0 : std::clamp(eighths, 1, 8))];
}

}  // namespace

std::string load_picture(const Simulation& simulation, bool markdown) {
    std::vector<const LinkLoad*> busiest;
    for (auto const& link : simulation.links) {
        if (!link.over_time.empty()) {
            busiest.push_back(&link);
        }
    }
    if (busiest.empty() || simulation.makespan_s <= 0) {
        return {};
    }
    std::stable_sort(busiest.begin(), busiest.end(),
                     [](const LinkLoad* a, const LinkLoad* b) { return a->utilization > b->utilization; });
    busiest.resize(std::min(busiest.size(), most_lines));
    auto first = std::numeric_limits<double>::infinity();
    for (auto const& flow : simulation.flows) {
        first = std::min(first, flow.start_s);
    }
    std::size_t names = 0;
    for (auto const* link : busiest) {
        names = std::max(names, link->name.size());
    }
    auto text = fmt::format("Load of the busiest links over these {}, a full block is all that the link carries:\n{}",
                            seconds_text(simulation.makespan_s), markdown ? "\n```\n" : "");
    for (auto const* link : busiest) {
        text += fmt::format("  {:<{}}  |", link->name, names);
        for (int column = 0; column < width; ++column) {
            text += block(mean(link->over_time, first + simulation.makespan_s * column / width,
                               first + simulation.makespan_s * (column + 1) / width));
        }
        text += "|\n";
    }
    return text + (markdown ? "```\n" : "");
}

}  // namespace peerlane::traffic
