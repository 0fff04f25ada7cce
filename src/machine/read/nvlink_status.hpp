#pragma once
/// `nvidia-smi nvlink -s`: rate or state of each link of each device. Four answers stay four: links with rates (some
/// perhaps inactive), all links inactive, refused because the device is partitioned, and no NVLink at all.

#include "machine/read/reader.hpp"

namespace peerlane::read {

bool recognizes_nvlink_status(std::string_view text);
Machine read_nvlink_status(const Source& source);

}  // namespace peerlane::read
