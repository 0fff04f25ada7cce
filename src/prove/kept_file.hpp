#pragma once
/// Files that outlive a run and that several processes may write.

#include <string>
#include <string_view>

namespace peerlane::prove {

/// Puts the text in the place of what was there, whole or not at all; one writer at a time, the others wait up to two
/// seconds. Makes missing folders, and a lock beside the file. Empty when done, else why not.
std::string replace_kept_file(const std::string& path, std::string_view text);

}  // namespace peerlane::prove
