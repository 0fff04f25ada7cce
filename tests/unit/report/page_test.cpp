// The document: whole whatever is missing, harmless whatever is in it, and sufficient by itself.

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <peerlane/named.hpp>
#include <peerlane/report.hpp>

#include "report/embedded.hpp"
#include "report/parts.hpp"
#include "verdicts.hpp"

namespace peerlane {
namespace {

using report_tests::all_right;
using testing::HasSubstr;
using testing::Not;

HtmlReport report_of(const std::string& name) {
    HtmlReport report;
    report.status = "healthy";
    report.words = "all directed pairs proven right";
    report.machine = load_machine(name).machine();
    report.verdicts = all_right(report.machine);
    return report;
}

Curves some_curves(const Machine& machine) {
    Curves curves{{4096, 1048576, 1073741824}, {}};
    for (auto const& pair : machine.pairs) {
        curves.directions.push_back({pair.accessor,
                                     pair.owner,
                                     {{"direct", {1e-5, 2e-5, 3e-3}}, {"staged", {2e-5, std::nullopt, 2e-2}}},
                                     {0, 0, -1},
                                     {{4096, "direct, pushed by gpu0"}}});
    }
    return curves;
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        ++found;
    }
    return found;
}

std::string file(const std::string& name) {
    std::ifstream stream(PEERLANE_SOURCE_DIR "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

nlohmann::json data_in(const std::string& page) {
    auto const begin = page.find("id=\"data\">") + 10;
    return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

/// Every string of a report that comes from outside.
HtmlReport hostile(const std::string& evil) {
    auto report = report_of("a100-pcie-pairs-4");
    report.status = report.words = report.costs = evil;
    report.marks = {evil};
    report.run = {{evil, evil}};
    auto& machine = report.machine;
    machine.origin.name = evil;
    machine.origin.hosts = {evil};
    for (auto& device : machine.devices) {
        device.model = device.bus = device.uuid = device.numa_text = evil;
    }
    for (auto& node : machine.graph.nodes) {
        node.bus = evil;
        node.name += evil;
    }
    auto& check = (*report.verdicts.pair(0, 1))[Check::push];
    check.result = Result::error;
    check.reason = evil;
    report.verdicts.control.front().staged.reason = evil;
    judge(report.verdicts);
    report.verdicts.findings = {{evil, Finding::Severity::error, {{0, 1}}, {evil}, evil},
                                {evil, Finding::Severity::info, {}, {evil}, evil}};
    report.curves = some_curves(machine);
    for (auto& direction : report.curves.directions) {
        direction.ranges = {{0, evil}};
        direction.ways.front().name = evil;
    }
    using Kind = ReportBlock::Kind;
    for (auto const kind : {Kind::heading, Kind::line, Kind::item, Kind::detail, Kind::command}) {
        report.more.push_back({kind, evil, {}});
    }
    report.more.push_back({Kind::grid, {}, {{evil}, {evil}}});
    return report;
}

TEST(Page, NothingFromOutsideBecomesMarkup) {
    auto const plain = report_html(hostile("name"));
    auto const page = report_html(hostile("</script></style>--><script>alert('x')</script><img src=x onerror=\"y\">"));
    EXPECT_EQ(page.find("<img"), std::string::npos);
    EXPECT_EQ(page.find("<script>alert"), std::string::npos);
    for (auto const* const tag :
         {"<script", "</script", "<style", "</style", "<!--", "<a ", "<li", "<td", "</section"}) {
        EXPECT_EQ(count(page, tag), count(plain, tag)) << tag;
    }
    EXPECT_GT(count(page, "&lt;script&gt;alert(&#39;x&#39;)"), 20U) << "it is shown as what it is";
    EXPECT_EQ(data_in(page)["directions"]["0-1"]["ways"][0]["name"],
              "</script></style>--><script>alert('x')</script><img src=x onerror=\"y\">");
}

TEST(Page, LoadsNothing) {
    auto report = report_of("h100-8");
    report.curves = some_curves(report.machine);
    auto const page = report_html(report);
    for (auto const* const word :
         {"@import", "url(", "fetch(", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "importScripts",
          "<link", "<img", "<iframe", "<object", "<embed", "<base", " src="}) {
        EXPECT_THAT(page, Not(HasSubstr(word)));
    }
    std::regex const address("https?://[^\\s\"')]*");
    for (auto at = std::sregex_iterator(page.begin(), page.end(), address); at != std::sregex_iterator(); ++at) {
        EXPECT_EQ(at->str(), "https://github.com/leeoniya/uPlot") << "the charts' library says who it is, in a comment";
    }
    std::regex const link("href=\"([^\"]*)\"");
    for (auto at = std::sregex_iterator(page.begin(), page.end(), link); at != std::sregex_iterator(); ++at) {
        EXPECT_EQ((*at)[1].str().front(), '#');
    }
    EXPECT_THAT(page, HasSubstr("content=\"default-src 'none'"));
}

TEST(Page, HoldsScriptStyleAndTheChartsWithTheirLicence) {
    auto const& files = report::embedded();
    EXPECT_EQ(files.script, file("web/report.js"));
    EXPECT_EQ(files.style, file("web/report.css"));
    EXPECT_EQ(std::string(files.script).find("</script"), std::string::npos);
    EXPECT_EQ(std::string(files.charts_script).find("</script"), std::string::npos);
    EXPECT_EQ(std::string(files.charts_licence).find("--"), std::string::npos) << "it stands in a comment";
    auto report = report_of("h200-pair");
    report.curves = some_curves(report.machine);
    auto const page = report_html(report);
    EXPECT_THAT(page, HasSubstr(std::string(files.script)));
    if (charts_built_in()) {
        EXPECT_THAT(page, HasSubstr("Permission is hereby granted"));
        EXPECT_THAT(page, HasSubstr("id=\"chart\""));
        EXPECT_THAT(page, Not(HasSubstr("Charts are absent")));
    } else {
        EXPECT_THAT(page, HasSubstr("Charts are absent"));
        EXPECT_THAT(page, Not(HasSubstr("id=\"chart\"")));
    }
}

TEST(Page, NumbersAreThereAsText) {
    auto report = report_of("h200-pair");
    report.curves = some_curves(report.machine);
    report.costs = "Predicted from nominal costs.";
    auto const page = report_html(report);
    for (auto const* const words : {"<mark>10.0 us</mark>", "<td>20.0 us", "<td>20.0 ms", "4 KiB", "1 GiB", "push 0:1",
                                    "300.0 GB/s", "40.0 GB/s", "through the host", "direct, pushed by gpu0",
                                    "Predicted from nominal costs.", "gpu0 to gpu1: ok, 300.0 GB/s"}) {
        EXPECT_THAT(page, HasSubstr(words));
    }
    auto const data = data_in(page);
    EXPECT_EQ(data["worst"], "0-1");
    EXPECT_EQ(data["sizes"].size(), 3U);
    EXPECT_TRUE(data["directions"]["1-0"]["ways"][1]["s"][1].is_null());
    EXPECT_EQ(data["directions"]["1-0"]["chosen"], nlohmann::json({0, 0, -1}));
}

TEST(Page, SixteenDevicesStayUsable) {
    auto report = report_of("dgx-2");
    report.curves = some_curves(report.machine);
    for (auto& direction : report.curves.directions) {  // as many sizes as curves_of gives, and every way
        direction.ways.assign(4, {"direct", std::vector<std::optional<double>>(19, 1.234e-5)});
        direction.chosen.assign(19, 2);
    }
    report.curves.sizes.assign(19, 4096);
    auto const page = report_html(report);
    EXPECT_LT(page.size(), 2'000'000U);
    EXPECT_EQ(count(page, "<details class=\"direction\""), 240U);
    std::regex const cell("href=\"#(d[0-9]+-[0-9]+)\"");
    std::set<std::string> cells;
    for (auto at = std::sregex_iterator(page.begin(), page.end(), cell); at != std::sregex_iterator(); ++at) {
        EXPECT_THAT(page, HasSubstr("id=\"" + (*at)[1].str() + "\""));
        cells.insert((*at)[1].str());
    }
    EXPECT_EQ(cells.size(), 240U);
    EXPECT_THAT(page, HasSubstr("matrix many"));
}

TEST(Page, ADirectionThatIsSlowAmongItsLikeIsMarked) {
    auto report = report_of("a100-8");
    EXPECT_EQ(count(report_html(report), "s-ok slow"), 0U);
    for (auto const check : {Check::push, Check::store}) {
        (*report.verdicts.pair(7, 2))[check].gbs = 120;
    }
    for (auto const check : {Check::pull, Check::load}) {
        (*report.verdicts.pair(2, 7))[check].gbs = 120;
    }
    judge(report.verdicts);
    auto const page = report_html(report);
    EXPECT_EQ(count(page, "s-ok slow"), 1U);
    EXPECT_THAT(page, HasSubstr("gpu7 to gpu2: ok, 120.0 GB/s; direct, pushed by gpu7; slow: 300.0 GB/s are usual"));
}

TEST(Page, IsWholeWithoutItsParts) {
    for (auto const* const name : {"nothing", "one device", "no verdicts"}) {
        HtmlReport report;
        if (name != std::string("nothing")) {
            report.machine = load_machine("h200-pair").machine();
        }
        if (name == std::string("one device")) {
            report.machine.devices.resize(1);
            report.machine.pairs.clear();
            report.machine.graph = {};
        }
        auto const page = report_html(report);
        EXPECT_THAT(page, HasSubstr("No cause was found")) << name;
        EXPECT_THAT(page, testing::EndsWith("</html>\n")) << name;
        EXPECT_TRUE(data_in(page)["worst"].is_null()) << name;
    }
    EXPECT_THAT(report_html(HtmlReport{}), HasSubstr("No device."));
    auto const report = report_of("h200-pair");
    EXPECT_THAT(report_html(report), Not(HasSubstr("id=\"curves\""))) << "no curves, no chart";
}

TEST(Page, ListsOpenAndCloseInPairs) {
    using Kind = ReportBlock::Kind;
    auto const text = report::blocks_part({{Kind::line, "a", {}},
                                           {Kind::heading, "b", {}},
                                           {Kind::item, "c", {}},
                                           {Kind::detail, "d", {}},
                                           {Kind::detail, "e", {}},
                                           {Kind::item, "f", {}},
                                           {Kind::grid, {}, {{"g", "h"}, {"1", "2"}}},
                                           {Kind::item, "i", {}},
                                           {Kind::heading, "j", {}},
                                           {Kind::command, "k", {}}});
    EXPECT_EQ(text,
              "<p>a</p>\n<section class=\"more\"><h2>b</h2>\n<ul>\n<li>c\n<ul><li>d\n<li>e\n</ul>\n<li>f\n</ul>\n<div "
              "class=\"wide\"><table><thead><tr><th scope=\"col\">g<th scope=\"col\">h</tr></thead><tbody>\n<tr><th "
              "scope=\"row\">1<td>2</tr>\n</tbody></table></div>\n<ul>\n<li>i\n</ul>\n</section>\n<section "
              "class=\"more\"><h2>j</h2>\n<ul>\n<li><code>k</code>\n</ul>\n</section>\n");
}

}  // namespace
}  // namespace peerlane
