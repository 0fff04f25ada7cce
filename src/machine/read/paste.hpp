#pragma once
/// One paste often holds the outputs of several commands about one machine: a matrix, a list of devices, link states.

#include "machine/read/reader.hpp"

namespace peerlane::read {

/// Reads what else the text holds for readers that take part (`Reader::in_pastes`) and merges it into `machine`, which
/// `first` read. What cannot be read or joined becomes a notice; it never spoils what was read.
Machine with_other_outputs(const Source& source, const Reader& first, Machine machine);

}  // namespace peerlane::read
