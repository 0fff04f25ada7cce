#pragma once
/// Small text files of the system: read whole, bounded, never throwing.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace peerlane::files {

/// Bytes of a regular file, at most `most` of them. Empty when it cannot be read.
std::optional<std::string> bytes(const std::string& path, std::size_t most = 4U << 20U);
/// The same without blanks and line breaks around it; "" when it cannot be read.
std::string text(const std::string& path);
/// Its first line, trimmed; "" when it cannot be read.
std::string first_line(const std::string& path);
/// A decimal or 0x number filling the file.
std::optional<std::int64_t> number(const std::string& path);
/// Names in a folder, sorted; empty when it cannot be read.
std::vector<std::string> names(const std::string& folder);
bool exists(const std::string& path);
/// Parts of the path that symbolic links lead to, "" parts left out. Empty when it does not exist.
std::vector<std::string> real_parts(const std::string& path);
/// Last part of what a symbolic link says, whether that exists or not; "" when it is no link.
std::string link_name(const std::string& path);

/// First number of a list like "0-15,32-47".
std::optional<int> first_of_list(std::string_view list);
/// The rest of the first line that begins with `key`, trimmed, a colon or equals sign after the key left out; "" when
/// none.
std::string value_of(std::string_view text, std::string_view key);

}  // namespace peerlane::files
