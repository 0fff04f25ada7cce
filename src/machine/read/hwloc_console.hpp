#pragma once
/// The text that hwloc's lstopo prints with -v.

#include "machine/read/reader.hpp"

namespace peerlane::read {

bool recognizes_hwloc_console(std::string_view text);
/// Vendors may be erased here ("id=0000:0000"): then a display device is a GPU when a NUMA node of kind GPUMemory names
/// its address, or an NVML or CUDA device stands below it.
Machine read_hwloc_console(const Source& source);

}  // namespace peerlane::read
