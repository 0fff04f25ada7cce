#pragma once
/// Topology XML as NCCL and RCCL dump and load it.

#include "machine/read/reader.hpp"

namespace peerlane::read {

/// Root `system`, or the roots that people mistake for it: those are refused by the reader, with the right word.
bool is_nccl_xml(std::string_view text);

/// GPUs are the PCI devices with a `gpu` element or with a class that only a GPU has; ids are the file's device numbers
/// where every GPU has one, else document order. Ids of switches are names and need not exist. Throws InputError for
/// broken XML, another root, or an address that two GPUs share.
Machine read_nccl_xml(const Source& source);

}  // namespace peerlane::read
