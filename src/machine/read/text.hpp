#pragma once
/// Pasted text made plain: lines with their original numbers, without escape codes, carriage returns, comment and quote
/// marks or Markdown pipes, and with a note of what was taken away. Shared by every reader of text tables.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/read/reader.hpp"

namespace peerlane::read {

struct Line {
    int number = 0;    ///< 1-based, in the original text
    std::string text;  ///< no trailing blanks; Markdown cell borders are tabs (an outer border is dropped)
    bool ansi = false, crlf = false, commented = false, markdown = false;  ///< what was taken away
    [[nodiscard]] bool blank() const { return text.empty(); }
};

/// One line after another, so that a recognizer can stop early and a large input is never held twice.
class LineScanner {
  public:
    /// Without `pipes`, Markdown borders are left as they are.
    explicit LineScanner(std::string_view text, bool pipes = true) : rest_(text), pipes_(pipes) {}
    /// False at the end of the text. `line` is reused: its buffer is kept.
    bool next(Line& line);

  private:
    std::string_view rest_;
    bool pipes_;
    int number_ = 0;
};

/// All lines. Throws InputError when there are more than a million: no table is that long.
std::vector<Line> plain_lines(const Source& source);

/// Notices ansi, crlf, commented and markdown for those of lines[first, last) that were wrapped, at most one of each.
void note_wrapping(const std::vector<Line>& lines, std::size_t first, std::size_t last, const Source& source,
                   Machine& machine);

/// After a thousand notices of one file a last one says that there were more.
void add_notice(Machine& machine, const Source& source, const char* code, int line, const std::string& text);
[[noreturn]] void refuse(const Source& source, int line, const std::string& reason);

/// True when every byte belongs to a whole UTF-8 character.
bool is_utf8(std::string_view text);
/// Each byte that belongs to no UTF-8 character becomes '?': columns stay where they are, and what is read has a JSON
/// form that reads back equal.
std::string as_utf8(std::string_view text);

std::string_view trimmed(std::string_view text);
/// Split at blanks and tabs, no empty parts.
std::vector<std::string_view> words(std::string_view text);
/// Split at every `separator`, parts trimmed, empty parts kept.
std::vector<std::string_view> cells(std::string_view text, char separator);
std::string lower(std::string_view text);
bool same_word(std::string_view a, std::string_view b);                       ///< ASCII case ignored
bool contains_word(std::string_view text, std::string_view lower_case_word);  ///< ASCII case of `text` ignored
/// All of `text` is decimal digits, at least one.
bool all_digits(std::string_view text);
/// A count or id of at most nine digits; empty otherwise. Never throws, never overflows.
std::optional<int> small_number(std::string_view text);
/// Line of a byte offset, 1-based.
int line_at(std::string_view text, std::size_t offset);

/// The same for many offsets that mostly grow: counts on from the last one.
class LineCounter {
  public:
    explicit LineCounter(std::string_view text) : text_(text) {}
    int line(std::size_t offset);

  private:
    std::string_view text_;
    std::size_t last_ = 0;
    int line_ = 1;
};

/// "00000000:1A:00.0", "0000:1a:00.0", "1a:00.0" or "0x..." -> "0000:1a:00.0"; a domain longer than four digits keeps
/// what it needs. Empty when it is no PCI address.
std::optional<std::string> bus_address(std::string_view text);

}  // namespace peerlane::read
