#pragma once
/// A page of results for people: plain text for a terminal, or the same as Markdown for a ticket.

#include <string>
#include <vector>

#include <peerlane/report.hpp>

namespace peerlane::cli {

struct PageCell {
    std::string text;
    const char* color = nullptr;  ///< "31"; null for none
};

class Page {
  public:
    Page(bool markdown, bool color) : markdown_(markdown), color_(color) {}

    /// Control characters of strangers' names are replaced wherever text comes in.
    void title(const std::string& text);
    void line(const std::string& text);
    /// What matters most, by itself and in its colour.
    void verdict(const std::string& text, const char* color);
    /// A section begins; in plain text after an empty line.
    void heading(const std::string& text);
    void item(const std::string& text);
    /// Belongs to the item before it.
    void detail(const std::string& text);
    void command(const std::string& text);
    /// The first row is the head. Each column is as wide as its widest cell.
    void grid(const std::vector<std::vector<PageCell>>& rows);
    [[nodiscard]] const std::string& text() const { return text_; }
    /// The same as pieces, in order; titles and verdicts are not among them.
    [[nodiscard]] const std::vector<ReportBlock>& blocks() const { return blocks_; }

  private:
    [[nodiscard]] std::string painted(const PageCell& cell) const;
    bool markdown_, color_;
    std::string text_;
    std::vector<ReportBlock> blocks_;
};

}  // namespace peerlane::cli
