#pragma once
/// `nvidia-smi topo -p2p r|w|n|a|p`: the driver's status word for each directed pair.

#include "machine/read/reader.hpp"

namespace peerlane::read {

bool recognizes_topo_p2p(std::string_view text);
/// The tables do not say their option; a command line pasted above one does. Without it a table is taken as the one for
/// reading, but for one that answers NS everywhere: the option p does that on healthy machines, so it says nothing
/// about peer access. Throws InputError with the line for a short row, a missing row, an unknown word or a cell too
/// many.
Machine read_topo_p2p(const Source& source);

}  // namespace peerlane::read
