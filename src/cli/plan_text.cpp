#include "cli/plan_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <peerlane/units.hpp>

namespace peerlane::cli {
namespace {

constexpr const char* green = "32";

std::string percent(double part) {
    return fmt::format("{:.{}f} %", part * 100, part < 0.1 ? 1 : 0);
}

std::string plan_words(const Choice& choice) {
    if (choice.access == "remote") {
        return "remote: read in place";
    }
    auto const routes = choice.routes.empty() ? std::string("nothing that may be used") : brief(choice.routes);
    return choice.access == "keep" ? "copy and keep: " + routes : routes;
}

std::string runner_up_words(const Rejected& rejected) {
    return rejected.routes.empty() ? "read in place" : brief(rejected.routes);
}

void table(Page& page, const PlanRecord& record) {
    std::vector<std::vector<PageCell>> rows{
        {{"size"}, {"plan"}, {"predicted"}, {"GB/s"}, {"next best"}, {"predicted"}, {"margin"}}};
    for (auto const& choice : record.plan.choices) {
        auto const known = choice.predicted_s > 0;
        auto const* next =
            !choice.rejected.empty() && choice.rejected.front().predicted_s ? &choice.rejected.front() : nullptr;
        auto words = plan_words(choice);
        if (record.access && choice.access == "copy" && !choice.routes.empty()) {
            words = "copy first: " + words;
        }
        auto other = next == nullptr ? std::string("-") : runner_up_words(*next);
        if (record.access && next != nullptr && choice.access == "remote") {
            other = "copy first: " + other;
        }
        rows.push_back({{size_text(choice.bytes)},
                        {words, known ? green : nullptr},
                        {known ? seconds_text(choice.predicted_s) : "-"},
                        {known ? gbs_text(choice.predicted_gbs) : "-"},
                        {other},
                        {next == nullptr ? "-" : seconds_text(*next->predicted_s)},
                        {choice.margin ? percent(*choice.margin) : "-"}});
    }
    page.grid(rows);
}

void reasons(Page& page, const Choice& choice) {
    page.heading(fmt::format("{}: why", size_text(choice.bytes)));
    for (auto const& line : choice.why) {
        auto const deep = line.rfind("  ", 0) == 0;
        deep ? page.detail(line.substr(2)) : page.item(line);
    }
    // Those that may not be used for one and the same reason are one line.
    std::vector<std::pair<std::string, std::vector<std::string>>> refused;
    for (auto const& rejected : choice.rejected) {
        auto const words = rejected.routes.empty() ? std::string("read in place") : describe(rejected.routes);
        if (rejected.predicted_s) {
            page.item(fmt::format("not {}: {} ({})", words, seconds_text(*rejected.predicted_s), rejected.reason));
            continue;
        }
        auto const known =
            std::find_if(refused.begin(), refused.end(), [&](auto const& one) { return one.first == rejected.reason; });
        if (known == refused.end()) {
            refused.push_back({rejected.reason, {words}});
        } else {
            known->second.push_back(words);
        }
    }
    for (auto const& [reason, ways] : refused) {
        std::string words;
        for (auto const& way : ways) {
            words += (words.empty() ? "" : "; ") + way;
        }
        page.item(fmt::format("not {}: {}", words, reason));
    }
}

}  // namespace

void plan_page(Page& page, const PlanRecord& record) {
    page.heading(fmt::format("From {} to {}", to_string(record.plan.request.from), to_string(record.plan.request.to)));
    table(page, record);
    for (auto const& choice : record.plan.choices) {
        reasons(page, choice);
    }
    if (record.ranges.empty()) {
        return;
    }
    page.heading("All sizes");
    std::vector<std::vector<PageCell>> rows{{{"from"}, {"plan"}}};
    for (auto const& range : record.ranges) {
        auto const& routes = range.choice.routes;
        rows.push_back({{size_text(range.from)}, {routes.empty() ? "nothing that may be used" : brief(routes)}});
    }
    page.grid(rows);
}

}  // namespace peerlane::cli
