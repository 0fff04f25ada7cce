// Causes and their cures, and what else the text page says.

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/escape.hpp"
#include "report/parts.hpp"
#include "report/standing.hpp"

namespace peerlane::report {
namespace {

/// Accessor:owner, each leading to the worse of the two data directions that the pair serves.
std::string pairs_text(const Verdicts& verdicts, const std::vector<std::pair<int, int>>& pairs) {
    constexpr std::size_t most = 12;
    std::vector<std::string> words;
    for (auto const& [accessor, owner] : pairs) {
        if (words.size() == most) {
            words.push_back(fmt::format("and {} more", pairs.size() - most));
            break;
        }
        bool const back = standing(verdicts, owner, accessor) > standing(verdicts, accessor, owner);
        words.push_back(fmt::format("<a href=\"#d{}-{}\">{}:{}</a>", back ? owner : accessor, back ? accessor : owner,
                                    accessor, owner));
    }
    return words.empty() ? "" : fmt::format(" <span class=\"pairs\">{}</span>", fmt::join(words, " "));
}

std::string finding_part(const Verdicts& verdicts, const Finding& finding) {
    auto out = fmt::format("<article class=\"finding {0}\"><h3><span class=\"tag\">{0}</span> {1}{2}</h3><ul>\n",
                           to_string(finding.severity), escaped(finding.code), pairs_text(verdicts, finding.pairs));
    constexpr std::size_t most = 5;
    for (std::size_t i = 0; i < finding.evidence.size(); ++i) {
        if (i == most && finding.evidence.size() > most + 1) {
            out += fmt::format("</ul><details><summary>and {} more</summary><ul>\n", finding.evidence.size() - most);
        }
        out += "<li>" + escaped(finding.evidence[i]) + "\n";
    }
    out += finding.evidence.size() > most + 1 ? "</ul></details>" : "</ul>";
    if (!finding.cure.empty()) {
        out += "<p class=\"cure\"><b>Cure:</b> " + escaped(finding.cure) + "</p>";
    }
    return out + "</article>\n";
}

std::string grid(const std::vector<std::vector<std::string>>& rows) {
    std::string out = "<div class=\"wide\"><table>";
    bool head = true;
    for (auto const& row : rows) {
        out += head ? "<thead><tr>" : "<tr>";
        for (std::size_t i = 0; i < row.size(); ++i) {
            out += (head ? "<th scope=\"col\">" : i == 0 ? "<th scope=\"row\">" : "<td>") + escaped(row[i]);
        }
        out += head ? "</tr></thead><tbody>\n" : "</tr>\n";
        head = false;
    }
    return out + "</tbody></table></div>\n";
}

/// Blocks into sections and lists that open and close.
class Blocks {
  public:
    void add(const ReportBlock& block) {
        switch (block.kind) {
            case ReportBlock::Kind::heading:
                close_section();
                out_ += "<section class=\"more\"><h2>" + escaped(block.text) + "</h2>\n";
                section_ = true;
                return;
            case ReportBlock::Kind::item:
            case ReportBlock::Kind::command:
                open_list();
                close_details();
                out_ += block.kind == ReportBlock::Kind::item ? "<li>" + escaped(block.text) + "\n"
                                                              : "<li><code>" + escaped(block.text) + "</code>\n";
                return;
            case ReportBlock::Kind::detail:
                open_list();
                out_ += details_ ? "" : "<ul>";
                details_ = true;
                out_ += "<li>" + escaped(block.text) + "\n";
                return;
            case ReportBlock::Kind::grid:
                close_list();
                out_ += grid(block.rows);
                return;
            case ReportBlock::Kind::line:
                close_list();
                out_ += "<p>" + escaped(block.text) + "</p>\n";
                return;
        }
    }

    std::string text() {
        close_section();
        return out_;
    }

  private:
    void open_list() {
        out_ += list_ ? "" : "<ul>\n";
        list_ = true;
    }
    void close_details() {
        out_ += details_ ? "</ul>\n" : "";
        details_ = false;
    }
    void close_list() {
        close_details();
        out_ += list_ ? "</ul>\n" : "";
        list_ = false;
    }
    void close_section() {
        close_list();
        out_ += section_ ? "</section>\n" : "";
        section_ = false;
    }

    std::string out_{};
    bool list_ = false, details_ = false, section_ = false;
};

}  // namespace

std::string findings_part(const Verdicts& verdicts) {
    std::string urgent, others;
    std::size_t count = 0;
    for (auto const severity : {Finding::Severity::error, Finding::Severity::warn, Finding::Severity::info}) {
        for (auto const& finding : verdicts.findings) {
            if (finding.severity == severity) {
                (severity == Finding::Severity::info ? others : urgent) += finding_part(verdicts, finding);
                count += severity == Finding::Severity::info ? 1 : 0;
            }
        }
    }
    if (!others.empty()) {
        others = fmt::format("<details{}><summary>{} circumstance{} worth knowing</summary>\n{}</details>\n",
                             urgent.empty() ? " open" : "", count, count == 1 ? "" : "s", others);
    }
    return "<section id=\"findings\"><h2>Causes and cures</h2>\n" + urgent + others +
           (urgent.empty() && others.empty() ? "<p>No cause was found of anything that is wrong.</p>\n" : "") +
           "</section>\n";
}

std::string blocks_part(const std::vector<ReportBlock>& blocks) {
    Blocks out;
    for (auto const& block : blocks) {
        out.add(block);
    }
    return out.text();
}

}  // namespace peerlane::report
