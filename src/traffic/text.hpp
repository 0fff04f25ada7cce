#pragma once
/// Shared by the writers of this folder.

#include <string>
#include <string_view>

namespace peerlane::traffic {

/// A JSON string.
std::string quoted(std::string_view text);

}  // namespace peerlane::traffic
