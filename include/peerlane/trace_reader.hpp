#pragma once
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peerlane/error.hpp>
#include <peerlane/trace.hpp>

namespace peerlane::trace {

/// Reads `peerlane.trace/1` line by line. Keeps nothing but the names. Unknown keys are ignored; unknown ops, missing
/// or senseless values and anything that is no JSON object are refused.
class Reader {
  public:
    /// `file` is for messages; `symbols` receives the names and must outlive the reader.
    Reader(std::string file, Symbols& symbols);
    /// The event of the next line (with or without its end of line); empty for a blank line or one that only names the
    /// schema. The steps of the event stay valid until the next call. Throws InputError: file:line: reason.
    std::optional<Event> next(std::string_view line);
    [[nodiscard]] std::uint64_t line() const { return line_; }
    [[nodiscard]] const std::string& file() const { return file_; }
    /// An InputError for the line that was read last.
    [[nodiscard]] InputError error(const std::string& reason) const;

  private:
    std::string file_;
    Symbols& symbols_;
    std::uint64_t line_ = 0;
    std::vector<Step> steps_{};
};

}  // namespace peerlane::trace
