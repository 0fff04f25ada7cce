#include "cli/measure_text.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>

#include <peerlane/units.hpp>

namespace peerlane::cli {
namespace {

constexpr const char* yellow = "33";
constexpr const char* none = "-";
/// More legs than a screen takes are shown as a matrix.
constexpr std::size_t most_rows = 40;
constexpr std::size_t most_listed = 12;  ///< accesses that have a row each
constexpr std::size_t most_in_row = 4;   ///< legs of a group
/// Losses beside other legs that are worth a line, and how many lines.
constexpr double least_loss = 0.03;
constexpr std::size_t most_losses = 24;

const CurvePoint* point_at(const Curve& curve, std::uint64_t bytes) {
    auto const found = std::find_if(curve.points.begin(), curve.points.end(),
                                    [bytes](const CurvePoint& p) { return p.bytes == bytes; });
    return found == curve.points.end() ? nullptr : &*found;
}

std::string time_at(const Curve& curve, std::uint64_t bytes) {
    auto const* const at = point_at(curve, bytes);
    return at == nullptr ? none : seconds_text(at->seconds);
}

/// Behind others where that was measured; a transfer that takes long is the same either way.
std::optional<double> rate_at(const LegCurve& leg, std::uint64_t bytes) {
    auto const* at = point_at(leg.queued, bytes);
    at = at == nullptr ? point_at(leg.curve, bytes) : at;
    return at == nullptr ? std::nullopt : std::optional(static_cast<double>(bytes) / at->seconds / 1e9);
}

std::string rate_cell(const std::optional<double>& gbs) {
    return gbs ? gbs_text(*gbs) : none;
}

std::string way_of(const Leg& leg) {
    auto const* const engine = leg.engine == Engine::copy ? "copy" : "kernel";
    if (leg.from.is_host() || leg.to.is_host()) {
        return engine;
    }
    return fmt::format("{} {}", engine, leg.issuer == leg.from ? "pushed" : "pulled");
}

std::string arrow(const Leg& leg) {
    return fmt::format("{} > {}", to_string(leg.from), to_string(leg.to));
}

double greatest_spread(const LegCurve& leg) {
    double most = -1;
    for (auto const& p : leg.curve.points) {
        most = std::max(most, p.spread);
    }
    return most;
}

std::string part(double value) {
    return fmt::format("{:.1f} %", value * 100);
}

void legs_list(Page& page, const Profile& profile) {
    constexpr std::uint64_t sizes[] = {64 * KiB, MiB, 16 * MiB, 64 * MiB, 256 * MiB, GiB};
    std::vector<std::vector<PageCell>> rows{{{"from > to"}, {"by"}, {"4 KiB"}, {"each more"}}};
    for (auto const bytes : sizes) {
        rows[0].push_back({size_text(bytes)});
    }
    rows[0].push_back({"spread"});
    for (auto const& leg : profile.legs) {
        std::vector<PageCell> row{
            {arrow(leg.leg)}, {way_of(leg.leg)}, {time_at(leg.curve, 4 * KiB)}, {time_at(leg.queued, 4 * KiB)}};
        for (auto const bytes : sizes) {
            row.push_back({rate_cell(rate_at(leg, bytes))});
        }
        auto const spread = greatest_spread(leg);
        row.push_back({spread < 0 ? none : part(spread), spread > 0.1 ? yellow : nullptr});
        rows.push_back(std::move(row));
    }
    page.heading("Legs: one copy of 4 KiB, each more in a queue, GB/s in a queue; greatest spread of a point");
    page.grid(rows);
}

void legs_matrix(Page& page, const Profile& profile) {
    std::set<Place> places;
    for (auto const& leg : profile.legs) {
        places.insert(leg.leg.from);
        places.insert(leg.leg.to);
    }
    std::vector<std::vector<PageCell>> rows(1);
    rows[0].push_back({"from \\ to"});
    for (auto const to : places) {
        rows[0].push_back({to_string(to)});
    }
    for (auto const from : places) {
        std::vector<PageCell> row{{to_string(from)}};
        for (auto const to : places) {
            std::optional<double> best;
            for (auto const& leg : profile.legs) {
                if (leg.leg.from == from && leg.leg.to == to) {
                    best = std::max(best, rate_at(leg, leg.curve.points.back().bytes));
                }
            }
            row.push_back({rate_cell(best)});
        }
        rows.push_back(std::move(row));
    }
    page.heading(fmt::format("Legs ({}): GB/s of the best one at the largest size; --format json has every curve",
                             profile.legs.size()));
    page.grid(rows);
}

struct Loss {
    const LoadedGroup* group;
    double part;  ///< of the leg that loses most
};

void groups(Page& page, const Profile& profile) {
    if (profile.loaded.empty()) {
        return;
    }
    std::vector<Loss> losses;
    for (auto const& group : profile.loaded) {
        double most = 0;
        for (auto const& leg : group.legs) {
            most = std::max(most, 1 - leg.gbs / leg.alone_gbs);
        }
        if (most >= least_loss) {
            losses.push_back({&group, most});
        }
    }
    page.heading(fmt::format("At the same time: {} groups of legs, {} in which one loses {:.0f} % or more",
                             profile.loaded.size(), losses.size(), least_loss * 100));
    if (losses.empty()) {
        return;
    }
    std::stable_sort(losses.begin(), losses.end(), [](auto const& a, auto const& b) { return a.part > b.part; });
    auto const shown = std::min(losses.size(), most_losses);
    std::vector<std::vector<PageCell>> rows{{{"group"}, {"GB/s beside the others (alone)"}}};
    for (std::size_t i = 0; i < shown; ++i) {
        std::string legs;
        auto const& all = losses[i].group->legs;
        for (auto const& leg : std::span(all).first(std::min(all.size(), most_in_row))) {
            legs += fmt::format("{}{} {} ({})", legs.empty() ? "" : ", ", arrow(leg.leg), gbs_text(leg.gbs),
                                gbs_text(leg.alone_gbs));
        }
        if (all.size() > most_in_row) {
            legs += fmt::format(", and {} more", all.size() - most_in_row);
        }
        rows.push_back({{losses[i].group->name}, {legs}});
    }
    page.grid(rows);
    if (shown < losses.size()) {
        page.item(fmt::format("... and {} more", losses.size() - shown));
    }
}

std::string time_cell(const std::optional<double>& seconds) {
    return seconds ? seconds_text(*seconds) : none;
}

std::string read_cell(const AccessCosts& costs, std::uint32_t width, std::uint32_t stride) {
    for (auto const& rate : costs.reads) {
        if (rate.width == width && rate.stride == stride) {
            return gbs_text(rate.useful_gbs);
        }
    }
    return none;
}

void access(Page& page, const Profile& profile) {
    if (profile.access.empty()) {
        return;
    }
    std::vector<std::vector<PageCell>> rows{{{"kernel of"},
                                             {"reads"},
                                             {"load"},
                                             {"16 B"},
                                             {"4 B"},
                                             {"4 B apart 128"},
                                             {"line"},
                                             {"written line"},
                                             {"add"},
                                             {"dependent add"}}};
    std::vector<std::size_t> alike{0};  // rows that would say the same, by row
    for (auto const& costs : profile.access) {
        std::vector<PageCell> const row{{to_string(gpu(costs.accessor))}, {to_string(costs.place)},
                                        {time_cell(costs.load_s)},        {read_cell(costs, 16, 16)},
                                        {read_cell(costs, 4, 4)},         {read_cell(costs, 4, 128)},
                                        {time_cell(costs.line_s)},        {time_cell(costs.contended_line_s)},
                                        {time_cell(costs.fetch_add_s)},   {time_cell(costs.dependent_fetch_add_s)}};
        auto const same = [&row](const std::vector<PageCell>& other) {
            return std::equal(row.begin() + 2, row.end(), other.begin() + 2,
                              [](const PageCell& a, const PageCell& b) { return a.text == b.text; });
        };
        auto const known =
            profile.access.size() > most_listed ? std::find_if(rows.begin() + 1, rows.end(), same) : rows.end();
        if (known == rows.end()) {
            rows.push_back(row);
            alike.push_back(0);
        } else {
            ++alike[static_cast<std::size_t>(known - rows.begin())];
        }
    }
    auto const left_out = rows.size() > most_rows ? rows.size() - most_rows : 0;
    rows.resize(rows.size() - left_out);
    for (std::size_t i = 1; i < rows.size(); ++i) {
        if (alike[i] > 0) {
            rows[i][1].text += fmt::format(" and {} alike", alike[i]);
        }
    }
    page.heading("Access in place: dependent load, useful GB/s, reads of one line, atomics");
    page.grid(rows);
    if (left_out > 0) {
        page.item(fmt::format("... and {} more", left_out));
    }
}

void calls(Page& page, const HostCosts& costs) {
    std::string text;
    for (auto const& [name, value] :
         {std::pair("copy", costs.copy_call_s), std::pair("launch", costs.launch_call_s),
          std::pair("launch of a graph", costs.graph_launch_call_s),
          std::pair("idle synchronize", costs.synchronize_idle_s), std::pair("query", costs.query_s),
          std::pair("record", costs.event_s), std::pair("provenance", costs.provenance_s)}) {
        if (value) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, seconds_text(*value));
        }
    }
    if (!text.empty()) {
        page.heading("Calls of the host");
        page.item(text);
    }
}

}  // namespace

void profile_page(Page& page, const Profile& profile) {
    if (profile.legs.size() > most_rows) {
        legs_matrix(page, profile);
    } else if (!profile.legs.empty()) {
        legs_list(page, profile);
    }
    groups(page, profile);
    access(page, profile);
    calls(page, profile.host_costs);
}

}  // namespace peerlane::cli
