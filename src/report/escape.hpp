#pragma once
/// Strings from outside, made harmless: device names, findings and paths may hold anything.

#include <string>
#include <string_view>

namespace peerlane::report {

/// As text or as the value of a quoted attribute of HTML. Bytes that are no UTF-8, control characters and characters
/// that turn the direction of writing come out as U+FFFD; a line end and a tab stay.
std::string escaped(std::string_view text);

/// As a string of JSON, quotes and all, that may stand inside a script element: no `<`, `>` or `&` is left in it.
std::string json_string(std::string_view text);

}  // namespace peerlane::report
