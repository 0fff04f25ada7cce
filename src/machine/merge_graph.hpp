#pragma once
/// The graphs of two descriptions of one machine become one.

#include "machine/join.hpp"

namespace peerlane {

/// Takes the part's graph where the base has none. Where both have a PCIe tree the base's is kept, and a guest's yields
/// to a host's; a fabric that only the part tells is added, and pairs that it joins become NV or XGMI.
void merge_graph(Machine& base, const Machine& part, const Joining& joining);

/// A graph without any way to the host says nothing that the pairs do not say; routes could not be found in it, so it
/// is left out.
void drop_lone_fabric(Machine& machine);

}  // namespace peerlane
