#pragma once
/// `nvidia-smi -L`: devices with model and UUID, and the MIG instances below them.

#include "machine/read/reader.hpp"

namespace peerlane::read {

bool recognizes_nvidia_smi_list(std::string_view text);
/// Notice mig-hidden where instances exist: no matrix of this tool shows them.
Machine read_nvidia_smi_list(const Source& source);

}  // namespace peerlane::read
