#pragma once
/// nvbandwidth as it prints to a terminal.

#include "machine/read/reader.hpp"

namespace peerlane::read {

bool recognizes_nvbandwidth_text(std::string_view text);
Machine read_nvbandwidth_text(const Source& source);

}  // namespace peerlane::read
