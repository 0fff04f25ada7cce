#include "machine/read/unwrap.hpp"

namespace peerlane::read {
namespace {

constexpr std::size_t most_bytes = 8U << 20;

/// A tag of the page around a document, "<pre>" or "</details>".
bool is_page_tag(std::string_view text) {
    if (text.empty() || text.front() != '<') {
        return false;
    }
    auto const from = text.substr(0, 2) == "</" ? 2U : 1U;
    auto const name = lower(text.substr(from, text.find_first_of(" \t>/", from) - from));
    for (std::string_view const tag :
         {"pre", "code", "details", "summary", "p", "div", "span", "body", "html", "br", "b"}) {
        if (name == tag) {
            return true;
        }
    }
    return false;
}

bool begins(std::string_view line) {
    auto const text = trimmed(line);
    return !text.empty() &&
           (text[0] == '{' || (text[0] == '<' && text.size() > 1 && text.find('>') != std::string_view::npos)) &&
           !is_page_tag(text);
}

bool ends(std::string_view line) {
    return !line.empty() && (line.back() == '>' || line.back() == '}') && !is_page_tag(trimmed(line));
}

}  // namespace

std::optional<Unwrapped> unwrapped_document(const Source& source) {
    if (source.text.size() > most_bytes) {
        return std::nullopt;
    }
    std::vector<Line> lines;
    LineScanner scanner(source.text, false);
    for (Line line; scanner.next(line);) {
        lines.push_back(line);
    }
    std::size_t first = 0, last = lines.size();
    while (first < lines.size() && !begins(lines[first].text)) {
        ++first;
    }
    while (last > first && !ends(lines[last - 1].text)) {
        --last;
    }
    if (first >= last) {
        return std::nullopt;
    }
    Unwrapped result;
    for (std::size_t i = 0; i < last; ++i) {
        result.text += i < first ? std::string() : lines[i].text;
        result.text += '\n';
        lines[i].text.clear();
    }
    if (result.text == source.text) {
        return std::nullopt;
    }
    result.marks.assign(lines.begin() + static_cast<std::ptrdiff_t>(first),
                        lines.begin() + static_cast<std::ptrdiff_t>(last));
    return result;
}

}  // namespace peerlane::read
