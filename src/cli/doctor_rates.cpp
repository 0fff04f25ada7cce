#include "cli/doctor_rates.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peerlane/prove.hpp>
#include <peerlane/units.hpp>

#include "cli/doctor_pairs.hpp"

namespace peerlane::cli {
namespace {

std::string rates_text(std::vector<double> rates) {
    if (rates.empty()) {
        return "-";
    }
    std::sort(rates.begin(), rates.end());
    return gbs_text(rates[rates.size() / 2]);
}

std::string range_text(const std::vector<double>& rates) {
    if (rates.empty()) {
        return "-";
    }
    auto const [least, most] = std::minmax_element(rates.begin(), rates.end());
    auto const from = gbs_text(*least), to = gbs_text(*most);
    return from == to ? from : fmt::format("{} to {}", from, to);
}

std::string sum_text(const GroupVerdict& group) {
    double sum = 0;
    for (auto const rate : group.rates) {
        sum += rate;
    }
    return group.rates.empty() ? "" : fmt::format("; {} pairs, {} in all", group.rates.size(), gbs_text(sum));
}

/// Pairs together: those that went wrong, and the slowest of the others.
void groups(Page& page, const Verdicts& verdicts) {
    constexpr std::size_t most = 4;
    std::size_t right = 0, bad = 0;
    const GroupVerdict* slowest = nullptr;
    for (auto const& group : verdicts.groups) {
        bool const less = collapsed(verdicts, group);
        auto const rate = group.gbs ? fmt::format(", the slowest pair {} GB/s", gbs_text(*group.gbs)) : "";
        auto const how = group.pull ? "pulled" : "pushed";
        if (group.result != Result::ok || less) {
            if (++bad > most) {
                continue;
            }
            page.item(fmt::format("together, {}, {}: {}{}{}{}", group.name, how,
                                  group.result == Result::ok ? "COLLAPSED" : to_string(group.result), rate,
                                  group.reason.empty() ? "" : ": ", group.reason));
            continue;
        }
        ++right;
        if (group.gbs && (slowest == nullptr || *group.gbs < *slowest->gbs)) {
            slowest = &group;
        }
    }
    if (bad > most) {
        page.item(fmt::format("and {} more groups, in the JSON", bad - most));
    }
    if (right > 0) {
        page.item(fmt::format(
            "{} together right, copies of {} back to back{}", right == 1 ? "1 group" : fmt::format("{} groups", right),
            size_text(prove::group_bytes),
            slowest == nullptr ? ""
                               : fmt::format("; least for one pair: {} GB/s ({}, {}{})", gbs_text(*slowest->gbs),
                                             slowest->name, slowest->pull ? "pulled" : "pushed", sum_text(*slowest))));
    }
}

/// Sizes that the rates of a route were taken at.
void add_sizes(const Verdicts& verdicts, const RouteVerdict& route, std::set<std::uint64_t>& sizes) {
    auto const add = [&](const CheckResult& check) {
        if (check.gbs && !check.sizes.empty()) {
            sizes.insert(check.sizes.back());
        }
    };
    if (auto const* const pushing = verdicts.pair(route.source, route.destination)) {
        add((*pushing)[Check::push]);
        add((*pushing)[Check::store]);
    }
    if (auto const* const pulling = verdicts.pair(route.destination, route.source)) {
        add((*pulling)[Check::pull]);
        add((*pulling)[Check::load]);
    }
    if (auto const* const control = verdicts.control_of(route.source, route.destination)) {
        add(control->staged);
    }
}

/// "one transfer of 16 MiB + 36 alone": a rate without its size would be taken for the link's.
std::string rates_heading(const std::set<std::uint64_t>& sizes) {
    if (sizes.empty()) {
        return "Rates, GB/s, one transfer alone";
    }
    auto const least = ragged_size_text(*sizes.begin());
    return fmt::format("Rates, GB/s, one transfer of {} alone (longer ones reach more)",
                       sizes.size() == 1 ? least : fmt::format("{} to {}", least, ragged_size_text(*sizes.rbegin())));
}

}  // namespace

std::string path_word(const Pair& pair) {
    bool const fabric = pair.path == PathClass::nv || pair.path == PathClass::xgmi;
    return fabric && pair.nvlinks ? fmt::format("{}{}", to_string(pair.path), *pair.nvlinks) : to_string(pair.path);
}

void rates_of_paths(Page& page, const Examination& found) {
    struct Class {
        std::vector<double> direct, staged;
        std::size_t count = 0;
    };
    std::map<std::string, Class> classes;
    std::set<std::uint64_t> sizes;
    for (auto const& route : found.verdicts.routes) {
        auto const* const pair = found.machine.pair(route.source, route.destination);
        if (pair == nullptr) {
            continue;
        }
        auto& of = classes[path_word(*pair)];
        ++of.count;
        add_sizes(found.verdicts, route, sizes);
        if (route.direct_gbs) {
            of.direct.push_back(*route.direct_gbs);
        }
        if (route.staged_gbs) {
            of.staged.push_back(*route.staged_gbs);
        }
    }
    if (classes.empty()) {
        return;
    }
    page.heading(fmt::format("{}{}", rates_heading(sizes),
                             found.disturbed.empty()
                                 ? ""
                                 : fmt::format("; DISTURBED: others use gpu{}", fmt::join(found.disturbed, ", gpu"))));
    std::vector<std::vector<PageCell>> rows{{{"path"}, {"directions"}, {"direct"}, {"range"}, {"through the host"}}};
    for (auto const& [name, of] : classes) {
        rows.push_back({{name},
                        {fmt::format("{}", of.count)},
                        {rates_text(of.direct)},
                        {range_text(of.direct)},
                        {rates_text(of.staged)}});
    }
    page.grid(rows);
    groups(page, found.verdicts);
}

}  // namespace peerlane::cli
