#include "machine/read/text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include <peerlane/units.hpp>

namespace peerlane::read {
namespace {

constexpr std::size_t most_lines = 1'000'000;
constexpr std::size_t most_notices = 1000;

/// Bytes of the UTF-8 character at the start of `text`; 0 when it is none (a stray or missing byte, a longer form than
/// needed, half of a surrogate pair, beyond the last character).
std::size_t character_length(std::string_view text) {
    auto const byte = [&](std::size_t at) { return static_cast<unsigned char>(at < text.size() ? text[at] : 0); };
    auto const first = byte(0);
    if (first < 0x80) {
        return 1;
    }
    std::size_t const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) {
        return 0;
    }
    unsigned char least = 0x80, most = 0xbf;
    if (first == 0xe0) {
        least = 0xa0;
    } else if (first == 0xed) {
        most = 0x9f;
    } else if (first == 0xf0) {
        least = 0x90;
    } else if (first == 0xf4) {
        most = 0x8f;
    }
    if (byte(1) < least || byte(1) > most) {
        return 0;
    }
    for (std::size_t at = 2; at < length; ++at) {
        if (byte(at) < 0x80 || byte(at) > 0xbf) {
            return 0;
        }
    }
    return length;
}

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}
char lower_char(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Length of the escape sequence at the start of `text` (a colour code, a title, a two-byte code), 0 when there is
/// none. Pastes often show the escape byte as "^[", "\e", "\033" or U+241B, or lose it; a lost one counts only for a
/// colour code.
std::size_t escape_bytes(std::string_view text) {
    std::size_t lead = 0;
    for (std::string_view const mark :
         {"\x1b", "^[", "\\e", "\\033", "\\x1b", "\\x1B", "\\u001b", "\xe2\x90\x9b", "\xc2\x9b"}) {
        if (!text.empty() && text.front() == mark.front() && text.substr(0, mark.size()) == mark) {
            lead = mark.size();
            break;
        }
    }
    bool const raw = lead == 1;
    if (text.substr(0, 2) == "\xc2\x9b") {  // the one-byte form of ESC [
        lead = 0;
        text.remove_prefix(2);
        std::size_t at = 0;
        while (at < text.size() && text[at] >= 0x20 && text[at] <= 0x3f) {
            ++at;
        }
        return at < text.size() ? at + 3 : 0;
    }
    if (lead < text.size() && text[lead] == '[') {
        std::size_t at = lead + 1;
        while (at < text.size() &&
               (all_digits(text.substr(at, 1)) || text[at] == ';' || text[at] == '?' || text[at] == ':')) {
            ++at;
        }
        if (at < text.size()) {
            bool const colour = text[at] == 'm' || text[at] == 'K';
            if (lead > 0 ? std::isalpha(static_cast<unsigned char>(text[at])) != 0 : (colour && at > 1)) {
                return at + 1;
            }
        }
        return raw ? 2 : 0;
    }
    if (!raw) {
        return 0;
    }
    if (text.size() > 1 && text[1] == ']') {
        for (std::size_t at = 2; at < text.size(); ++at) {
            if (text[at] == '\x07') {
                return at + 1;
            }
            if (text[at] == '\x1b') {
                return std::min(at + 2, text.size());
            }
        }
        return text.size();
    }
    if (text.size() > 2 && (text[1] == '(' || text[1] == ')')) {
        return 3;
    }
    return std::min<std::size_t>(2, text.size());
}

/// The same, and never a part of a character: whatever stands where a code should end goes whole.
std::size_t escape_length(std::string_view text) {
    auto length = escape_bytes(text);
    while (length > 0 && length < text.size() && (static_cast<unsigned char>(text[length]) & 0xc0U) == 0x80) {
        ++length;
    }
    return length;
}

/// "2024-05-05T10:00:00.123Z " before each line, as logs of services and of build runners have it; 0 when there is
/// none.
std::size_t time_length(std::string_view text) {
    constexpr std::string_view shape = "0000-00-00T00:00:00";
    if (text.size() < shape.size()) {
        return 0;
    }
    auto const digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
    for (std::size_t at = 0; at < shape.size(); ++at) {
        bool const fits = shape[at] == '0'   ? digit(at)
                          : shape[at] == 'T' ? text[at] == 'T' || text[at] == ' '
                                             : text[at] == shape[at];
        if (!fits) {
            return 0;
        }
    }
    auto at = shape.size();
    if (at < text.size() && (text[at] == '.' || text[at] == ',')) {
        for (++at; digit(at);) {
            ++at;
        }
    }
    if (at < text.size() && text[at] == 'Z') {
        ++at;
    } else if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
        for (++at; digit(at) || (at < text.size() && text[at] == ':');) {
            ++at;
        }
    }
    return at == text.size() ? at : text[at] == ' ' ? at + 1 : 0;
}

/// Bytes of the times and marks before a text: "# ", "#", "> > ", "// ". One blank after the last mark belongs to it.
std::size_t marks_length(std::string_view text) {
    std::size_t at = 0, after = 0;
    bool blank = false;
    while (at < text.size()) {
        std::size_t const mark = text[at] == '#' || text[at] == '>' ? 1 : text.substr(at, 2) == "//" ? 2 : 0;
        auto const time = mark == 0 ? time_length(text.substr(at)) : 0;
        if (mark + time > 0) {
            after = at += mark + time;
            blank = mark > 0;
        } else if (text[at] == ' ') {
            ++at;
        } else {
            break;
        }
    }
    return after + (blank && text.substr(after, 1) == " " ? 1 : 0);
}

/// A Markdown rule: pipes, dashes, colons and blanks, with at least one pipe.
bool is_rule(std::string_view text) {
    return text.find('|') != std::string_view::npos && text.find('-') != std::string_view::npos &&
           text.find_first_not_of("|-: \t") == std::string_view::npos;
}

void take_pipes(Line& line) {
    auto body = trimmed(line.text);
    line.markdown = true;
    if (is_rule(body)) {
        line.text.clear();
        return;
    }
    bool const outer_left = line.text.front() == '|' || body.size() == line.text.size();
    std::string out(outer_left ? body : std::string_view(line.text));
    if (!out.empty() && out.front() == '|') {
        out.erase(0, 1);
    }
    if (!out.empty() && out.back() == '|') {
        out.pop_back();
    }
    for (std::size_t at; (at = out.find("**")) != std::string::npos;) {
        out.erase(at, 2);
    }
    out.erase(std::remove(out.begin(), out.end(), '`'), out.end());
    std::replace(out.begin(), out.end(), '|', '\t');
    line.text = std::move(out);
}

}  // namespace

bool LineScanner::next(Line& line) {
    if (rest_.empty()) {
        return false;
    }
    auto const end = rest_.find('\n');
    auto raw = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    line.number = ++number_;
    line.ansi = line.crlf = line.commented = line.markdown = false;
    line.text.clear();
    if (number_ == 1 && raw.substr(0, 3) == "\xef\xbb\xbf") {
        raw.remove_prefix(3);
    }
    while (!raw.empty() && raw.back() == '\r') {
        raw.remove_suffix(1);
        line.crlf = true;
    }
    if (raw.find_first_of("\x1b\xc2\xe2^\\[\b") == std::string_view::npos) {
        line.text = raw;
    } else {
        while (!raw.empty()) {
            if (auto const length = escape_length(raw); length > 0) {
                raw.remove_prefix(length);
                line.ansi = true;
            } else if (raw.substr(0, 2) == "\xc2\xa0") {  // a web page's no-break blank
                line.text += ' ';
                raw.remove_prefix(2);
            } else {
                line.text += raw.front();
                raw.remove_prefix(1);
            }
        }
    }
    if (auto const marks = marks_length(line.text); marks > 0) {
        line.commented = true;
        line.text.erase(0, marks);
    }
    while (!line.text.empty() && (is_blank(line.text.back()))) {
        line.text.pop_back();
    }
    if (pipes_ && line.text.find('|') != std::string::npos) {
        take_pipes(line);
        while (!line.text.empty() && is_blank(line.text.back())) {
            line.text.pop_back();
        }
    }
    return true;
}

std::vector<Line> plain_lines(const Source& source) {
    std::vector<Line> lines;
    LineScanner scanner(source.text);
    for (Line line; scanner.next(line);) {
        if (lines.size() >= most_lines) {
            refuse(source, line.number, fmt::format("more than {} lines, no table is that long", most_lines));
        }
        lines.push_back(line);
    }
    return lines;
}

void note_wrapping(const std::vector<Line>& lines, std::size_t first, std::size_t last, const Source& source,
                   Machine& machine) {
    struct Wrapping {
        bool Line::*flag;
        const char *code, *text;
    };
    for (auto const& wrapping :
         {Wrapping{&Line::ansi, "ansi", "escape codes taken away"},
          Wrapping{&Line::crlf, "crlf", "carriage returns at line ends taken away"},
          Wrapping{&Line::commented, "commented", "marks before lines (comments, quotes, times) taken away"},
          Wrapping{&Line::markdown, "markdown", "read from a Markdown table"}}) {
        for (auto i = first; i < last && i < lines.size(); ++i) {
            if (lines[i].*wrapping.flag) {
                add_notice(machine, source, wrapping.code, lines[i].number, wrapping.text);
                break;
            }
        }
    }
}

// Texts and reasons quote the input, cut to a length: perhaps inside a character.
void add_notice(Machine& machine, const Source& source, const char* code, int line, const std::string& text) {
    if (machine.notices.size() < most_notices) {
        machine.notices.push_back({code, std::string(source.name), line, as_utf8(text)});
    } else if (machine.notices.size() == most_notices) {
        machine.notices.push_back({"more", std::string(source.name), line, "more notices like these are left out"});
    }
}

void refuse(const Source& source, int line, const std::string& reason) {
    throw InputError(std::string(source.name), line, as_utf8(reason));
}

bool is_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        if (static_cast<unsigned char>(text[at]) < 0x80) {  // nearly all there is: worth a shorter way
            ++at;
            continue;
        }
        auto const length = character_length(text.substr(at));
        if (length == 0) {
            return false;
        }
        at += length;
    }
    return true;
}

std::string as_utf8(std::string_view text) {
    std::string out(text);
    for (std::size_t at = 0; at < out.size();) {
        if (static_cast<unsigned char>(out[at]) < 0x80) {
            ++at;
            continue;
        }
        auto const length = character_length(text.substr(at));
        if (length == 0) {
            out[at] = '?';
        }
        at += length == 0 ? 1 : length;
    }
    return out;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> result;
    std::size_t at = 0;
    while (at < text.size()) {
        if (is_blank(text[at])) {
            ++at;
            continue;
        }
        auto const start = at;
        while (at < text.size() && !is_blank(text[at])) {
            ++at;
        }
        result.push_back(text.substr(start, at - start));
    }
    return result;
}

std::vector<std::string_view> cells(std::string_view text, char separator) {
    std::vector<std::string_view> result;
    while (true) {
        auto const end = text.find(separator);
        result.push_back(trimmed(text.substr(0, end)));
        if (end == std::string_view::npos) {
            return result;
        }
        text.remove_prefix(end + 1);
    }
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), lower_char);
    return result;
}

bool same_word(std::string_view a, std::string_view b) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower_char(x) == lower_char(y); });
}

bool contains_word(std::string_view text, std::string_view lower_case_word) {
    return std::search(text.begin(), text.end(), lower_case_word.begin(), lower_case_word.end(),
                       [](char x, char y) { return lower_char(x) == y; }) != text.end();
}

bool all_digits(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<int> small_number(std::string_view text) {
    if (!all_digits(text) || text.size() > 9) {
        return std::nullopt;
    }
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

int line_at(std::string_view text, std::size_t offset) {
    offset = std::min(offset, text.size());
    return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

int LineCounter::line(std::size_t offset) {
    offset = std::min(offset, text_.size());
    if (offset < last_) {
        last_ = 0;
        line_ = 1;
    }
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(last_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
    last_ = offset;
    return line_;
}

std::optional<std::string> bus_address(std::string_view text) {
    auto const parts = cells(text, ':');
    if (parts.size() < 2 || parts.size() > 3) {
        return std::nullopt;
    }
    auto const last = cells(parts.back(), '.');
    if (last.size() > 2) {
        return std::nullopt;
    }
    auto const hex = [](std::string_view digits, std::uint64_t most) -> std::optional<std::uint64_t> {
        if (digits.substr(0, 2) == "0x" || digits.substr(0, 2) == "0X") {
            digits.remove_prefix(2);
        }
        std::uint64_t value = 0;
        auto const [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (digits.empty() || digits.size() > 8 || error != std::errc{} || rest != digits.data() + digits.size() ||
            value > most) {
            return std::nullopt;
        }
        return value;
    };
    auto const domain = parts.size() == 3 ? hex(parts[0], 0xffffffff) : std::optional<std::uint64_t>(0);
    auto const bus = hex(parts[parts.size() - 2], 0xff);
    auto const device = hex(last[0], 0x1f + 0xe0U);  // invented addresses go beyond the 32 slots of a real bus
    auto const function = last.size() == 2 ? hex(last[1], 0xf) : std::optional<std::uint64_t>(0);
    if (!domain || !bus || !device || !function) {
        return std::nullopt;
    }
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", *domain, *bus, *device, *function);
}

}  // namespace peerlane::read
