#include "machine/read/xml.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "machine/read/text.hpp"

namespace peerlane::read {
namespace {

constexpr std::size_t largest_text = std::size_t{64} << 20;
constexpr int deepest = 1000;
constexpr int most_elements = 1'000'000;
constexpr int most_attributes = 4'000'000;

/// Offset behind a declaration "<!...>" that begins at `at`; brackets and quotes are looked through. `defines` is set
/// when it has definitions of its own.
std::size_t past_declaration(std::string_view text, std::size_t at, bool& defines) {
    char quote = 0;
    int brackets = 0;
    for (; at < text.size(); ++at) {
        auto const c = text[at];
        if (quote != 0) {
            quote = c == quote ? '\0' : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '[') {
            ++brackets;
            defines = true;
        } else if (c == ']') {
            --brackets;
        } else if (c == '>' && brackets <= 0) {
            return at + 1;
        }
    }
    return at;
}

struct Bounds {
    const Source& source;
    std::string_view text;
    std::size_t at = 0;
    int depth = 0, elements = 0, attributes = 0;

    [[nodiscard]] bool starts(std::string_view word) const { return text.substr(at, word.size()) == word; }
    /// Moves behind the next `end`; to the end of the text when there is none (the parser will say so).
    void skip_past(std::string_view end) {
        auto const found = text.find(end, at);
        at = found == std::string_view::npos ? text.size() : found + end.size();
    }
    void doctype() {
        bool defines = false;
        auto const end = past_declaration(text, at, defines);
        if (defines) {
            refuse(source, line_at(text, at), "a DOCTYPE with definitions of its own is not accepted");
        }
        at = end;
    }
    void element() {
        auto const begin = at;
        char quote = 0;
        for (++at; at < text.size(); ++at) {
            auto const c = text[at];
            if (quote != 0) {
                quote = c == quote ? '\0' : quote;
            } else if (c == '"' || c == '\'') {
                quote = c;
                ++attributes;
            } else if (c == '>') {
                break;
            }
        }
        if (at >= text.size() || text[at - 1] != '/') {
            ++depth;
        }
        ++elements;
        if (depth > deepest) {
            refuse(source, line_at(text, begin), fmt::format("XML nested more than {} levels", deepest));
        }
        if (elements > most_elements || attributes > most_attributes) {
            refuse(source, line_at(text, begin), "more elements or attributes than any machine needs");
        }
    }
    /// "&#55296;" and its like are no characters; the parser would write bytes for them that are none either.
    void characters() const {
        for (auto from = text.find("&#"); from != std::string_view::npos; from = text.find("&#", from + 2)) {
            auto const hex = text.substr(from + 2, 1) == "x";
            auto const digits = text.substr(from + (hex ? 3 : 2), 16);
            std::uint64_t code = 0;
            auto const end = std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10).ptr;
            auto const length = static_cast<std::size_t>(end - digits.data());
            bool const surrogate = code >= 0xd800 && code <= 0xdfff;
            if (length > 0 && (code == 0 || surrogate || code > 0x10ffff || length == digits.size())) {
                refuse(source, line_at(text, from), fmt::format("{} is no character", text.substr(from, 12)));
            }
        }
    }
    void check() {
        while ((at = text.find('<', at)) != std::string_view::npos) {
            if (starts("<!--")) {
                at += 4;
                skip_past("-->");
            } else if (starts("<![CDATA[")) {
                skip_past("]]>");
            } else if (starts("<?")) {
                skip_past("?>");
            } else if (starts("<!")) {
                doctype();
            } else if (starts("</")) {
                --depth;
                skip_past(">");
            } else {
                element();
            }
        }
    }
};

}  // namespace

void parse_xml(const Source& source, pugi::xml_document& document) {
    if (source.text.size() > largest_text) {
        refuse(source, 0, "more than 64 MiB of XML: no machine is described so");
    }
    Bounds bounds{source, source.text};
    bounds.characters();
    bounds.check();
    auto const result = document.load_buffer(source.text.data(), source.text.size());
    if (!result) {
        refuse(source, line_at(source.text, static_cast<std::size_t>(result.offset)),
               fmt::format("broken XML: {}", result.description()));
    }
}

int line_of(const Source& source, const pugi::xml_node& node) {
    auto const offset = node.offset_debug();
    return offset < 0 ? 0 : line_at(source.text, static_cast<std::size_t>(offset));
}

void refuse_text(const Source& source, const pugi::xml_node& node) {
    if (node.type() != pugi::node_pcdata && node.type() != pugi::node_cdata) {
        return;
    }
    std::string_view const text = node.value();
    auto const from = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    auto const above = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(from), '\n');
    auto const rest = text.substr(from);
    refuse(source, line_of(source, node) + static_cast<int>(above),
           fmt::format("\"{}\" stands between elements: a mark is lost",
                       rest.substr(0, std::min<std::size_t>(rest.find('\n'), 40))));
}

void note_later_documents(const Source& source, const pugi::xml_document& document, Machine& machine) {
    auto const first = document.document_element();
    for (auto next = first.next_sibling(); next; next = next.next_sibling()) {
        if (next.type() == pugi::node_element) {
            add_notice(machine, source, "two-tables", line_of(source, next),
                       fmt::format("another document ({}) begins here: not used",
                                   std::string_view(next.name()).substr(0, 40)));
        }
    }
}

std::string_view root_element(std::string_view text) {
    std::size_t at = text.substr(0, 3) == "\xef\xbb\xbf" ? 3 : 0;
    while (true) {
        at = text.find_first_not_of(" \t\r\n", at);
        if (at == std::string_view::npos || text[at] != '<') {
            return {};
        }
        auto const rest = text.substr(at);
        if (rest.substr(0, 2) == "<!" && rest.substr(0, 4) != "<!--") {
            bool defines = false;
            at = past_declaration(text, at, defines);
            continue;
        }
        std::string_view const end = rest.substr(0, 4) == "<!--" ? "-->" : rest.substr(0, 2) == "<?" ? "?>" : "";
        if (end.empty()) {
            auto const length = rest.find_first_of(" \t\r\n/>", 1);
            return rest.substr(1, length == std::string_view::npos ? length : length - 1);
        }
        at = text.find(end, at + 2);
        if (at == std::string_view::npos) {
            return {};
        }
        at += end.size();
    }
}

}  // namespace peerlane::read
