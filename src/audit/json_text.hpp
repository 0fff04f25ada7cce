#pragma once
#include <string>
#include <string_view>

namespace peerlane::audit {

/// The text as a JSON string with its quotes. Bytes that are no UTF-8 come out as U+FFFD.
std::string quoted(std::string_view text);

}  // namespace peerlane::audit
