// The document as a whole.

#include <fmt/format.h>

#include <peerlane/report.hpp>

#include "report/embedded.hpp"
#include "report/escape.hpp"
#include "report/parts.hpp"

namespace peerlane {
namespace {

using namespace report;

/// The browser is to load nothing from anywhere, whatever slipped in.
constexpr const char* policy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

std::string head_of(const HtmlReport& report, const Embedded& files) {
    auto out = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
        "http-equiv=\"Content-Security-Policy\" content=\"{}\">\n<meta name=\"viewport\" "
        "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
        "dark\">\n<title>peerlane: {}</title>\n",
        policy, escaped(report.status));
    if (!files.charts_style.empty()) {
        out += fmt::format("<style>{}</style>\n", files.charts_style);
    }
    return out + fmt::format("<style>\n{}</style>\n</head>\n", files.style);
}

std::string header_of(const HtmlReport& report) {
    std::string marks;
    for (auto const& mark : report.marks) {
        marks += fmt::format("<span>{}</span> ", escaped(mark));
    }
    auto out = fmt::format(
        "<header class=\"{}\"><p class=\"marks\">{}</p>\n<h1><span class=\"status\">{}</span> {}</h1>\n<dl>\n",
        to_string(report.verdicts.status), marks, escaped(report.status), escaped(report.words));
    for (auto const& [name, value] : report.run) {
        out += fmt::format("<div><dt>{}<dd>{}</div>\n", escaped(name), escaped(value));
    }
    return out + "</dl></header>\n";
}

std::string scripts_of(const HtmlReport& report, const Embedded& files) {
    auto out = fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n", data_of(report));
    if (!files.charts_script.empty()) {
        out += fmt::format("<!-- The charts are drawn by uPlot:\n{}\n-->\n<script>{}</script>\n", files.charts_licence,
                           files.charts_script);
    }
    return out + fmt::format("<script>\n{}</script>\n", files.script);
}

}  // namespace

const char* const charts_missing =
    "Charts are absent: this peerlane was built without the library that draws them (uPlot, from npm). All numbers are "
    "in the tables. scripts/setup.sh charts gets it; then build again.";

bool charts_built_in() {
    return !embedded().charts_script.empty();
}

std::string report_html(const HtmlReport& report) {
    auto const& files = embedded();
    return head_of(report, files) + "<body>\n" + header_of(report) + "<main>\n" + findings_part(report.verdicts) +
           "<div class=\"overview\"><div>\n" + matrix_part(report) + directions_part(report) + "</div>\n" +
           machine_part(report.machine, report.verdicts) + "</div>\n<div class=\"rest\">\n" + blocks_part(report.more) +
           "</div>\n</main>\n" + scripts_of(report, files) + "</body>\n</html>\n";
}

}  // namespace peerlane
