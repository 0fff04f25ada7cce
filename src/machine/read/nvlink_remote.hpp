#pragma once
/// `nvidia-smi nvlink -R`: the far end of each link of each device, as a PCI address and a link number.

#include "machine/read/reader.hpp"

namespace peerlane::read {

bool recognizes_nvlink_remote(std::string_view text);
/// The far ends become nodes of the graph: an NVSwitch where the link number or the number of links is more than a GPU
/// has, a node of unknown kind otherwise (merging with a file that knows addresses tells which are devices).
Machine read_nvlink_remote(const Source& source);

}  // namespace peerlane::read
