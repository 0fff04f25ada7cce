#pragma once
/// nvbandwidth with --json.

#include "machine/read/reader.hpp"

namespace peerlane::read {

bool recognizes_nvbandwidth_json(std::string_view text);
Machine read_nvbandwidth_json(const Source& source);

}  // namespace peerlane::read
