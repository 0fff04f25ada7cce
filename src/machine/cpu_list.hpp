#pragma once
/// Sets of CPUs as the tools print them: a list "0-23,48-71", or the kernel's mask "000000ff,ffff0000".

#include <optional>
#include <string>
#include <string_view>

namespace peerlane {

/// Mask to list. Empty when the text is no mask or no CPU is in it.
std::optional<std::string> cpu_list_of_mask(std::string_view mask);
/// List to mask, groups of 32 bits. Empty when the text is no list, or names a CPU beyond 8191.
std::optional<std::string> cpu_mask_of_list(std::string_view list);

}  // namespace peerlane
