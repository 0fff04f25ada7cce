#include "report/escape.hpp"

#include <cstdint>

#include <fmt/format.h>

namespace peerlane::report {
namespace {

constexpr char32_t replacement = 0xFFFD;
constexpr std::string_view replacement_bytes = "\xEF\xBF\xBD";

struct Character {
    char32_t code = replacement;
    std::size_t bytes = 1;
};

std::uint8_t byte(std::string_view text, std::size_t at) {
    return at < text.size() ? static_cast<std::uint8_t>(text[at]) : 0;
}

/// The character that begins at `at`; a byte that begins none is the replacement.
Character character_at(std::string_view text, std::size_t at) {
    auto const first = byte(text, at);
    if (first < 0x80) {
        return {first, 1};
    }
    std::size_t const bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4) {
        return {};
    }
    char32_t code = first & (0x7FU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        auto const next = byte(text, at + i);
        if ((next & 0xC0U) != 0x80) {
            return {};
        }
        code = (code << 6U) | (next & 0x3FU);
    }
    constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool const surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code < least[bytes] || surrogate || code > 0x10FFFF ? Character{} : Character{code, bytes};
}

/// Steers a terminal, a parser or the direction of writing, and shows nothing.
bool steers(char32_t code) {
    bool const control = (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0);
    bool const direction = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    return control || direction;
}

template <class Put>
void each_character(std::string_view text, Put put) {
    for (std::size_t at = 0; at < text.size();) {
        auto const [code, bytes] = character_at(text, at);
        put(code, code == replacement || steers(code) ? replacement_bytes : text.substr(at, bytes));
        at += bytes;
    }
}

}  // namespace

std::string escaped(std::string_view text) {
    std::string out;
    each_character(text, [&](char32_t code, std::string_view bytes) {
        switch (code) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                out += bytes;
        }
    });
    return out;
}

std::string json_string(std::string_view text) {
    std::string out = "\"";
    each_character(text, [&](char32_t code, std::string_view bytes) {
        constexpr char32_t line_separator = 0x2028, paragraph_separator = 0x2029;
        bool const numbered = code == '<' || code == '>' || code == '&' || code == '\n' || code == '\t' ||
                              code == line_separator || code == paragraph_separator;
        if (numbered) {
            out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
        } else if (code == '"' || code == '\\') {
            out += '\\';
            out += bytes;
        } else {
            out += bytes;
        }
    });
    return out + "\"";
}

}  // namespace peerlane::report
