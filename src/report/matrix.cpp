// The matrix of data directions.

#include <algorithm>
#include <map>
#include <vector>

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

/// What most directions that are joined alike reach; empty where there are too few to say so.
class Usual {
  public:
    explicit Usual(const HtmlReport& report) {
        for (auto const& pair : report.machine.pairs) {
            if (auto const gbs = rate(report.verdicts, pair.accessor, pair.owner)) {
                rates_[kind(pair)].push_back(*gbs);
            }
        }
        for (auto& [kind, rates] : rates_) {
            std::sort(rates.begin(), rates.end());
        }
    }
    [[nodiscard]] std::optional<double> of(const Pair* pair) const {
        constexpr std::size_t enough = 4;
        auto const found = pair == nullptr ? rates_.end() : rates_.find(kind(*pair));
        return found == rates_.end() || found->second.size() < enough
                   ? std::nullopt
                   : std::optional(found->second[found->second.size() / 2]);
    }

  private:
    using Kind = std::pair<PathClass, std::optional<int>>;
    static Kind kind(const Pair& pair) { return {pair.path, pair.nvlinks}; }
    std::map<Kind, std::vector<double>> rates_{};
};

/// Of the usual rate: less than that is worth a look, whatever the checks say.
constexpr double slow_share = 0.5;

std::string cell(const HtmlReport& report, const Usual& usual, int from, int to) {
    if (from == to) {
        return "<td class=\"self\">";
    }
    auto const state = standing(report.verdicts, from, to);
    auto const gbs = rate(report.verdicts, from, to);
    auto const* const pair = report.machine.pair(from, to);
    auto const most = usual.of(pair);
    bool const slow = gbs && most && *gbs < slow_share * *most;
    auto words = gbs ? gbs_text(*gbs) : std::string();
    auto label = fmt::format("gpu{} to gpu{}: {}{}; {}", from, to, to_string(state), gbs ? ", " + words + " GB/s" : "",
                             use_in_words(report.verdicts, from, to));
    if (slow) {
        label += fmt::format("; slow: {} GB/s are usual for this kind of path", gbs_text(*most));
    }
    if (state == Standing::unknown && pair != nullptr && pair->claim) {
        words = *pair->claim ? "claim" : "no";
        label += *pair->claim ? "; the driver claims access" : "; the driver claims no access";
    }
    return fmt::format(
        "<td class=\"s-{0}{6}\"><a href=\"#d{1}-{2}\" aria-label=\"{3}\" title=\"{3}\"><b>{4}</b> <i>{5}</i></a>",
        to_string(state), from, to, escaped(label), sign_of(state), words, slow ? " slow" : "");
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
    Usual const usual(report);
    for (auto const& from : devices) {
        out += fmt::format("<tr><th scope=\"row\"><span class=\"gpu\">gpu</span>{}", from.id);
        for (auto const& to : devices) {
            out += cell(report, usual, from.id, to.id);
        }
        out += "</tr>\n";
    }
    out += "</tbody></table>\n<ul class=\"legend\">";
    for (auto const& one : signs) {
        out += fmt::format("<li><span class=\"s-{}\">{}</span> {}", to_string(one.standing), one.sign, one.means);
    }
    return out +
           "<li><span class=\"slow\">9.9</span> less than half of what most directions joined alike reach"
           "</ul></section>\n";
}

}  // namespace peerlane::report
