// Simulations for people.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <peerlane/simulation.hpp>
#include <peerlane/units.hpp>

#include "traffic/text.hpp"

namespace peerlane {
namespace {

constexpr std::size_t most_links = 12, most_flows = 8, most_placements = 8;
constexpr int bar_width = 20;

using Rows = std::vector<std::vector<std::string>>;

/// The first row is the head; the first column stands left, the others right.
std::string grid(const Rows& rows, bool markdown) {
    std::vector<std::size_t> width(rows.front().size(), 0);
    for (auto const& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            width[i] = std::max(width[i], row[i].size());
        }
    }
    std::string text;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        std::string line = markdown ? "|" : " ";
        for (std::size_t i = 0; i < width.size(); ++i) {
            auto const cell =
                i == 0 ? fmt::format("{:<{}}", rows[r][i], width[i]) : fmt::format("{:>{}}", rows[r][i], width[i]);
            line += markdown ? fmt::format(" {} |", cell) : fmt::format(" {} ", cell);
        }
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        if (markdown && r == 0) {
            text += "|";
            for (std::size_t i = 0; i < width.size(); ++i) {
                text += i == 0 ? "---|" : "---:|";
            }
            text += "\n";
        }
    }
    return text;
}

std::string percent(double part) {
    return fmt::format("{:.0f} %", part * 100);
}

std::string bar(double part) {
    auto const full = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * bar_width + 0.5);
    return std::string(full, '#') + std::string(bar_width - full, '.');
}

std::string arrow(const Flow& flow) {
    return fmt::format("{}>{}", flow.src.is_device() ? std::to_string(flow.src.index) : to_string(flow.src),
                       flow.dst.is_device() ? std::to_string(flow.dst.index) : to_string(flow.dst));
}

/// The bottleneck is named already; others as loaded are told by their number.
std::string together(const std::vector<std::string>& links) {
    auto const more = links.size() - 1;
    return more == 0   ? std::string()
           : more == 1 ? std::string(" together with the other link that is as loaded")
                       : fmt::format(" together with the other {} links that are as loaded", more);
}

std::string time_text(double seconds) {
    return seconds == 0 ? "0" : seconds_text(seconds);
}

std::string bottleneck_words(const Simulation& simulation) {
    auto const busiest =
        std::max_element(simulation.links.begin(), simulation.links.end(),
                         [](const LinkLoad& a, const LinkLoad& b) { return a.utilization < b.utilization; });
    if (busiest == simulation.links.end()) {
        return "Nothing moved.\n";
    }
    auto text = fmt::format("Bottleneck: {}, {} busy", simulation.bottleneck, percent(busiest->utilization));
    if (auto const& relief = simulation.relief) {
        text += relief->gain > 1.005
                    ? fmt::format("; twice as fast{}, it would all take {}, {:.2f} times faster",
                                  together(relief->links), time_text(relief->makespan_s), relief->gain)
                    : fmt::format(
                          "; twice as fast, it would all take as long: copy engines, the rate of single copies "
                          "or their number limit this");
    }
    return text + ".\n";
}

std::string loads(const Simulation& simulation, bool markdown) {
    std::vector<const LinkLoad*> sorted;
    for (auto const& link : simulation.links) {
        sorted.push_back(&link);
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const LinkLoad* a, const LinkLoad* b) { return a->utilization > b->utilization; });
    Rows rows{{"link", "load", "busy", "GB", "of GB/s"}};
    for (std::size_t i = 0; i < std::min(sorted.size(), most_links); ++i) {
        rows.push_back({sorted[i]->name, bar(sorted[i]->utilization), percent(sorted[i]->utilization),
                        fmt::format("{:.3f}", sorted[i]->bytes / 1e9), gbs_text(sorted[i]->capacity_gbs)});
    }
    auto text = grid(rows, markdown);
    if (sorted.size() > most_links) {
        text += fmt::format("{}{} more links; all of them with --format json\n", markdown ? "\n" : "  ",
                            sorted.size() - most_links);
    }
    return text;
}

std::string slowest(const Simulation& simulation, bool markdown) {
    std::vector<std::size_t> order(simulation.flows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    auto const ends = [&](std::size_t f) { return simulation.flows[f].end_s.value_or(1e300); };
    auto const shown = std::min(order.size(), most_flows);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                      [&](auto a, auto b) { return ends(a) != ends(b) ? ends(a) > ends(b) : a < b; });
    Rows rows{{shown == order.size() ? "flow" : "last flows", "size", "submitted", "ends", "GB/s"}};
    for (std::size_t i = 0; i < shown; ++i) {
        auto const& result = simulation.flows[order[i]];
        rows.push_back({arrow(result.flow), size_text(result.flow.bytes), time_text(result.start_s),
                        result.end_s ? seconds_text(*result.end_s) : "never",
                        result.gbs() ? gbs_text(*result.gbs()) : "-"});
    }
    return grid(rows, markdown);
}

std::string set_text(const std::vector<int>& devices) {
    return fmt::format("{}", fmt::join(devices, ","));
}

/// How the devices of a set are joined: "4 pairs NV2, 2 pairs SYS".
std::string joined(const std::vector<int>& devices, const Machine& machine) {
    std::vector<std::pair<std::string, int>> counts;
    for (std::size_t a = 0; a < devices.size(); ++a) {
        for (std::size_t b = a + 1; b < devices.size(); ++b) {
            auto const* const pair = machine.pair(devices[a], devices[b]);
            if (pair == nullptr) {
                continue;
            }
            auto word = std::string(to_string(pair->path));
            if (pair->nvlinks && pair->path == PathClass::nv) {
                word += std::to_string(*pair->nvlinks);
            }
            auto const found = std::find_if(counts.begin(), counts.end(), [&](auto& c) { return c.first == word; });
            if (found == counts.end()) {
                counts.emplace_back(word, 1);
            } else {
                ++found->second;
            }
        }
    }
    std::sort(counts.begin(), counts.end(),
              [](auto& a, auto& b) { return a.second != b.second ? a.second > b.second : a.first < b.first; });
    std::string text;
    for (auto const& [word, count] : counts) {
        text += fmt::format("{}{} pair{} {}", text.empty() ? "" : ", ", count, count == 1 ? "" : "s", word);
    }
    return text;
}

}  // namespace

std::string simulation_text(const std::vector<Simulation>& simulations, bool markdown) {
    std::string text;
    if (simulations.size() > 1) {
        Rows rows{{"strategy", "takes", "GB/s in all", "times faster"}};
        for (auto const& simulation : simulations) {
            rows.push_back({to_string(simulation.strategy),
                            simulation.complete() ? seconds_text(simulation.makespan_s) : "never ends",
                            simulation.complete() ? gbs_text(simulation.gbs()) : "-",
                            simulation.complete() && simulations.front().complete()
                                ? fmt::format("{:.2f}", simulations.front().makespan_s / simulation.makespan_s)
                                : "-"});
        }
        text += grid(rows, markdown) + "\n";
    }
    for (auto const& simulation : simulations) {
        text += simulation.complete()
                    ? fmt::format("Strategy {}: {}, {} GB/s in all.\n", to_string(simulation.strategy),
                                  seconds_text(simulation.makespan_s), gbs_text(simulation.gbs()))
                    : fmt::format("Strategy {}: FAILED, {}.\n", to_string(simulation.strategy), simulation.failure);
        if (!simulation.note.empty()) {
            text += fmt::format("Plans: {}.\n", simulation.note);
        }
        text += bottleneck_words(simulation) + "\n";
        if (!simulation.links.empty()) {
            text += loads(simulation, markdown) + "\n";
        }
        if (auto const picture = traffic::load_picture(simulation, markdown); !picture.empty()) {
            text += picture + "\n";
        }
        text += slowest(simulation, markdown);
        if (&simulation != &simulations.back()) {
            text += "\n";
        }
    }
    return text;
}

std::string placement_text(const std::vector<Placement>& ranked, const Machine& machine) {
    auto const equal = [](const Placement& a, const Placement& b) {
        return a.makespan_s <= b.makespan_s * (1 + 1e-6) && b.makespan_s <= a.makespan_s * (1 + 1e-6);
    };
    auto const count_of = [&](const Placement& like) {
        return std::count_if(ranked.begin(), ranked.end(), [&](const Placement& p) { return equal(p, like); });
    };
    auto const& best = ranked.front();
    auto const& worst = ranked.back();
    auto text = fmt::format("{} sets of {} devices.\n", ranked.size(), best.devices.size());
    if (equal(best, worst)) {
        text += fmt::format("All of them take {}: it does not matter which.\n", seconds_text(best.makespan_s));
    } else {
        for (auto const& [word, placement] : {std::pair("Best", &best), std::pair("Worst", &worst)}) {
            auto const alike = count_of(*placement);
            text += fmt::format("{}: {}{} in {}, {} GB/s. {}; {} is {} busy.{}\n", word, set_text(placement->devices),
                                alike > 1 ? fmt::format(" (and {} more)", alike - 1) : "",
                                seconds_text(placement->makespan_s), gbs_text(placement->gbs),
                                joined(placement->devices, machine), placement->bottleneck,
                                percent(placement->utilization), traffic::what_joins(placement->devices, machine));
        }
        auto const gain = worst.makespan_s / best.makespan_s;
        text += gain < 1.01 ? std::string("The best set is less than 1 % faster than the worst.\n")
                            : fmt::format("The best set is {:.2f} times faster than the worst.\n", gain);
    }
    Rows rows{{"devices", "takes", "GB/s", "joined by"}};
    auto const add = [&](std::size_t i) {
        rows.push_back({set_text(ranked[i].devices), seconds_text(ranked[i].makespan_s), gbs_text(ranked[i].gbs),
                        joined(ranked[i].devices, machine)});
    };
    for (std::size_t i = 0; i < std::min(ranked.size(), most_placements); ++i) {
        add(i);
    }
    if (ranked.size() > most_placements) {
        if (ranked.size() > most_placements + 1) {
            rows.push_back({"...", "", "", ""});
        }
        add(ranked.size() - 1);
    }
    return text + "\n" + grid(rows, false);
}

}  // namespace peerlane
