// Each data direction by itself: what was proven of it, which way bytes go, how long that takes.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <peerlane/units.hpp>

#include "report/escape.hpp"
#include "report/parts.hpp"
#include "report/standing.hpp"

namespace peerlane::report {
namespace {

/// The checks that serve data from source to destination, and who reaches into whose memory in them.
struct Served {
    Check check;
    bool by_source;
};
constexpr Served served[] = {
    {Check::claim, true},  {Check::claim, false},  {Check::push, true}, {Check::store, true},
    {Check::pull, false},  {Check::load, false},   {Check::map, true},  {Check::map, false},
    {Check::atomic, true}, {Check::atomic, false}, {Check::flag, true}, {Check::flag, false},
};

const char* class_of(Result result) {
    switch (result) {
        case Result::ok:
            return "ok";
        case Result::wrong:
        case Result::hang:
        case Result::error:
            return "bad";
        case Result::no:
            return "host";
        case Result::skipped:
            break;
    }
    return "unknown";
}

std::string details_of(const CheckResult& check) {
    auto words = check.kind ? fmt::format("{}", to_string(*check.kind)) : std::string();
    auto const add = [&](const std::string& more) { words += (words.empty() ? "" : ", ") + more; };
    if (check.code) {
        add(fmt::format("code {}", *check.code));
    }
    if (check.frozen) {
        add("cannot be ended");
    }
    if (check.first_bad_offset) {
        add(fmt::format("first bad offset {}", *check.first_bad_offset));
    }
    if (check.bad_bytes) {
        add(fmt::format("{} bad bytes", *check.bad_bytes));
    }
    if (check.at_bytes) {
        add(fmt::format("at {} bytes", *check.at_bytes));
    }
    if (!check.reason.empty()) {
        add(check.reason);
    }
    if (check.gbs && check.result == Result::ok) {  // else it is that of a smaller size
        add(gbs_text(*check.gbs) + " GB/s");
    }
    return words;
}

std::string check_row(const std::string& name, const CheckResult& check) {
    return fmt::format("<tr><th scope=\"row\">{}<td class=\"s-{}\">{}<td>{}</tr>\n", name, class_of(check.result),
                       to_string(check.result), escaped(details_of(check)));
}

std::string checks_table(const Verdicts& verdicts, int source, int destination) {
    std::string rows;
    for (auto const& one : served) {
        auto const accessor = one.by_source ? source : destination;
        auto const owner = one.by_source ? destination : source;
        if (auto const* const pair = verdicts.pair(accessor, owner)) {
            rows += check_row(fmt::format("{} {}:{}", to_string(one.check), accessor, owner), (*pair)[one.check]);
        }
    }
    if (auto const* const control = verdicts.control_of(source, destination)) {
        rows += check_row("through the host", control->staged);
    }
    return rows.empty() ? ""
                        : "<div class=\"wide\"><table><caption>Checks, accessor:owner</caption><thead><tr><th "
                          "scope=\"col\">check<th scope=\"col\">result<th scope=\"col\">details</tr></thead><tbody>\n" +
                              rows + "</tbody></table></div>\n";
}

std::string plan_list(const DirectionCurves& curves) {
    std::string out = "<h4>Plan</h4><ul class=\"plan\">\n";
    for (std::size_t i = 0; i < curves.ranges.size(); ++i) {
        auto const& range = curves.ranges[i];
        out += fmt::format("<li><span class=\"from\">{} {}</span> {}\n", i == 0 ? "up from" : "from",
                           size_text(range.from), escaped(range.words));
    }
    return out + "</ul>\n";
}

std::string times_table(const Curves& curves, const DirectionCurves& direction) {
    if (direction.ways.empty()) {
        return "";
    }
    std::string out =
        "<div class=\"wide\"><table class=\"times\"><caption>Predicted time of each kind of way; the chosen one is "
        "marked</caption><thead><tr><th scope=\"col\">size";
    for (auto const& way : direction.ways) {
        out += fmt::format("<th scope=\"col\">{}", escaped(way.name));
    }
    out += "<th scope=\"col\">GB/s</tr></thead><tbody>\n";
    for (std::size_t i = 0; i < curves.sizes.size(); ++i) {
        auto const chosen = direction.chosen[i];
        out += fmt::format("<tr><th scope=\"row\">{}", size_text(curves.sizes[i]));
        for (std::size_t way = 0; way < direction.ways.size(); ++way) {
            auto const& seconds = direction.ways[way].seconds[i];
            auto const text = seconds ? seconds_text(*seconds) : "-";
            out +=
                static_cast<int>(way) == chosen ? fmt::format("<td class=\"c\"><mark>{}</mark>", text) : "<td>" + text;
        }
        auto const seconds = chosen < 0 ? std::nullopt : direction.ways[static_cast<std::size_t>(chosen)].seconds[i];
        out += fmt::format("<td>{}</tr>\n",
                           seconds ? gbs_text(static_cast<double>(curves.sizes[i]) / *seconds / 1e9) : "-");
    }
    return out + "</tbody></table></div>\n";
}

std::string path_text(const Machine& machine, int source, int destination) {
    auto const* const pair = machine.pair(source, destination);
    if (pair == nullptr) {
        return "";
    }
    return fmt::format("; joined by {}{}", peerlane::to_string(pair->path),
                       pair->nvlinks ? fmt::format("{}", *pair->nvlinks) : "");
}

std::string direction_part(const HtmlReport& report, int source, int destination) {
    auto const state = standing(report.verdicts, source, destination);
    auto const gbs = rate(report.verdicts, source, destination);
    auto out = fmt::format(
        "<details class=\"direction\" id=\"d{0}-{1}\"><summary><span class=\"s-{2}\">{2}</span> gpu{0} to gpu{1}{3}"
        "</summary>\n<p>To be used: {4}{5}.</p>\n",
        source, destination, to_string(state), gbs ? fmt::format(", {} GB/s", gbs_text(*gbs)) : "",
        use_in_words(report.verdicts, source, destination), escaped(path_text(report.machine, source, destination)));
    auto const* const curves = report.curves.of(source, destination);
    if (curves != nullptr) {
        out += "<div class=\"pieces\"><div>" + plan_list(*curves) + times_table(report.curves, *curves) + "</div><div>";
    }
    out += checks_table(report.verdicts, source, destination);
    return out + (curves != nullptr ? "</div></div>" : "") + "</details>\n";
}

std::string number(double value) {
    return std::isfinite(value) ? fmt::format("{:.4g}", value) : "null";
}

template <class Items, class Text>
std::string list(const Items& items, Text text) {
    std::string out = "[";
    for (auto const& item : items) {
        out += (out.size() > 1 ? "," : "") + text(item);
    }
    return out + "]";
}

}  // namespace

std::string directions_part(const HtmlReport& report) {
    if (report.verdicts.pairs.empty()) {
        return "";
    }
    std::string parts;
    for (auto const& from : report.machine.devices) {
        for (auto const& to : report.machine.devices) {
            if (from.id != to.id &&
                (report.verdicts.pair(from.id, to.id) != nullptr || report.verdicts.pair(to.id, from.id) != nullptr)) {
                parts += direction_part(report, from.id, to.id);
            }
        }
    }
    auto const chart = charts_built_in() ? std::string("<div id=\"chart\"></div>")
                                         : fmt::format("<p class=\"missing\">{}</p>", escaped(charts_missing));
    auto const curves =
        report.curves.directions.empty()
            ? ""
            : "<figure id=\"curves\"><figcaption>Predicted time over size</figcaption>" + chart + "</figure>\n";
    return fmt::format(
        "<section id=\"directions\"><h2>One direction at a time</h2>\n<p id=\"picker\" hidden></p>\n<p "
        "class=\"costs\">{}</p>\n{}{}</section>\n",
        escaped(report.costs), curves, parts);
}

std::string data_of(const HtmlReport& report) {
    auto const worst = worst_direction(report.verdicts);
    auto out = fmt::format("{{\"worst\":{},\"sizes\":{},\"directions\":{{",
                           worst ? fmt::format("\"{}-{}\"", worst->first, worst->second) : "null",
                           list(report.curves.sizes, [](std::uint64_t size) { return fmt::format("{}", size); }));
    bool first = true;
    for (auto const& one : report.curves.directions) {
        out += fmt::format(
            "{}\n\"{}-{}\":{{\"chosen\":{},\"ways\":{}}}", first ? "" : ",", one.source, one.destination,
            list(one.chosen, [](int way) { return fmt::format("{}", way); }), list(one.ways, [](const WayCurve& way) {
                return fmt::format(
                    "{{\"name\":{},\"s\":{}}}", json_string(way.name),
                    list(way.seconds, [](const auto& seconds) { return seconds ? number(*seconds) : "null"; }));
            }));
        first = false;
    }
    return out + "}}";
}

}  // namespace peerlane::report
