// The matrix of data directions.

#include <algorithm>

#include <fmt/format.h>

#include <peerlane/units.hpp>

#include "report/escape.hpp"
#include "report/parts.hpp"
#include "report/standing.hpp"

namespace peerlane::report {
namespace {

struct Sign {
    Standing standing;
    const char* sign;
    const char* means;
};

constexpr Sign signs[] = {
    {Standing::ok, "✓", "every check right, data goes direct"},
    {Standing::part, "!", "partly usable, or faster through the host"},
    {Standing::bad, "×", "wrong bytes, a hang or an error in what is claimed"},
    {Standing::none, "∅", "nothing that may be used"},
    {Standing::by_design, "–", "only through the host"},
    {Standing::unknown, "?", "not proven"},
};

const char* sign_of(Standing standing) {
    return std::find_if(std::begin(signs), std::end(signs), [&](const Sign& one) { return one.standing == standing; })
        ->sign;
}

std::string cell(const Verdicts& verdicts, int from, int to) {
    if (from == to) {
        return "<td class=\"self\">";
    }
    auto const state = standing(verdicts, from, to);
    auto const gbs = rate(verdicts, from, to);
    auto const rate_words = gbs ? gbs_text(*gbs) : std::string();
    auto const label = fmt::format("gpu{} to gpu{}: {}{}; {}", from, to, to_string(state),
                                   gbs ? ", " + rate_words + " GB/s" : "", use_in_words(verdicts, from, to));
    return fmt::format(
        "<td class=\"s-{0}\"><a href=\"#d{1}-{2}\" aria-label=\"{3}\" title=\"{3}\"><b>{4}</b> <i>{5}</i></a>",
        to_string(state), from, to, escaped(label), sign_of(state), rate_words);
}

}  // namespace

std::string matrix_part(const HtmlReport& report) {
    auto const& devices = report.machine.devices;
    if (devices.size() < 2) {
        return "";
    }
    constexpr std::size_t roomy = 8;  // that many have their rates on a phone, too
    auto out = fmt::format(
        "<section id=\"matrix\"><h2>Data, row to column</h2>\n<table class=\"matrix{}\"><caption>Proven state and "
        "rate in GB/s of one transfer alone. Choose a cell to see that direction.</caption>\n<thead><tr><th "
        "scope=\"col\"><span class=\"from\">from</span>",
        devices.size() > roomy ? " many" : "");
    for (auto const& to : devices) {
        out += fmt::format("<th scope=\"col\">{}", to.id);
    }
    out += "</tr></thead><tbody>\n";
    for (auto const& from : devices) {
        out += fmt::format("<tr><th scope=\"row\"><span class=\"gpu\">gpu</span>{}", from.id);
        for (auto const& to : devices) {
            out += cell(report.verdicts, from.id, to.id);
        }
        out += "</tr>\n";
    }
    out += "</tbody></table>\n<ul class=\"legend\">";
    for (auto const& one : signs) {
        out += fmt::format("<li><span class=\"s-{}\">{}</span> {}", to_string(one.standing), one.sign, one.means);
    }
    return out + "</ul></section>\n";
}

}  // namespace peerlane::report
