#pragma once
/// `nvidia-smi topo -m` and `-mp`: the matrix of path classes.

#include "machine/read/reader.hpp"

namespace peerlane::read {

bool is_topo_matrix(std::string_view text);

/// The first complete table of the text. Columns of other devices (NICs) may have any name and order. Throws InputError
/// with the line when a row of a GPU is missing, short or too long, a class is unknown, or two cells contradict each
/// other; what concerns only NICs becomes a notice.
Machine read_topo_matrix(const Source& source);

}  // namespace peerlane::read
