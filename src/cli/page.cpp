#include "cli/page.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace peerlane::cli {
namespace {

/// Names come from strangers' files: nothing in them may steer a terminal.
std::string printable(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
    return text;
}

}  // namespace

void Page::title(const std::string& text) {
    text_ += (markdown_ ? "## " : "") + printable(text) + (markdown_ ? "\n\n" : "\n");
}

void Page::line(const std::string& text) {
    blocks_.push_back({ReportBlock::Kind::line, text, {}});
    text_ += printable(text) + (markdown_ ? "\n\n" : "\n");
}

void Page::verdict(const std::string& text, const char* color) {
    text_ += markdown_ ? "**" + printable(text) + "**\n\n" : "\n" + painted({text, color}) + "\n";
}

void Page::heading(const std::string& text) {
    blocks_.push_back({ReportBlock::Kind::heading, text, {}});
    if (!text_.empty() && (!markdown_ || text_.substr(text_.size() - 2) != "\n\n")) {
        text_ += "\n";
    }
    text_ += (markdown_ ? "**" : "") + printable(text) + (markdown_ ? "**\n\n" : "\n");
}

void Page::item(const std::string& text) {
    blocks_.push_back({ReportBlock::Kind::item, text, {}});
    text_ += (markdown_ ? "- " : "  ") + printable(text) + "\n";
}

void Page::detail(const std::string& text) {
    blocks_.push_back({ReportBlock::Kind::detail, text, {}});
    text_ += (markdown_ ? "  - " : "      ") + printable(text) + "\n";
}

void Page::command(const std::string& text) {
    blocks_.push_back({ReportBlock::Kind::command, text, {}});
    text_ += markdown_ ? "- `" + printable(text) + "`\n" : "  $ " + printable(text) + "\n";
}

std::string Page::painted(const PageCell& cell) const {
    auto const text = printable(cell.text);
    return color_ && !markdown_ && cell.color != nullptr ? fmt::format("\x1b[{}m{}\x1b[0m", cell.color, text) : text;
}

void Page::grid(const std::vector<std::vector<PageCell>>& rows) {
    ReportBlock block{ReportBlock::Kind::grid, {}, {}};
    for (auto const& row : rows) {
        std::vector<std::string> texts;
        std::transform(row.begin(), row.end(), std::back_inserter(texts), [](const auto& cell) { return cell.text; });
        block.rows.push_back(std::move(texts));
    }
    blocks_.push_back(std::move(block));
    std::vector<std::size_t> widths;
    for (auto const& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].text.size());
        }
    }
    bool head = true;
    for (auto const& row : rows) {
        std::string line = markdown_ ? "|" : " ";
        std::size_t blanks = 1;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (markdown_) {
                line += " " + painted(row[i]) + " |";
            } else {
                if (!row[i].text.empty()) {
                    line.append(blanks, ' ');
                    line += painted(row[i]);
                    blanks = 0;
                }
                blanks += widths[i] - row[i].text.size() + 2;
            }
        }
        text_ += line + "\n";
        if (markdown_ && head) {
            text_ += "|";
            for (std::size_t i = 0; i < widths.size(); ++i) {
                text_ += "---|";
            }
            text_ += "\n";
        }
        head = false;
    }
    text_ += markdown_ ? "\n" : "";
}

}  // namespace peerlane::cli
