#pragma once
/// Where a value of a JSON text stands: the parser keeps no lines, and who wrote a document by hand wants one. Pure.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace peerlane::measuring {

/// Into an object by key, into an array by index.
using JsonStep = std::variant<std::string, std::size_t>;

/// 1-based line on which the value at the end of the path begins; of a step that is not there, the line of what should
/// hold it. `text` must be JSON. Keys with escapes are not found.
int line_of(std::string_view text, std::span<const JsonStep> path);

/// 1-based line of a byte.
int line_at(std::string_view text, std::size_t offset);

}  // namespace peerlane::measuring
