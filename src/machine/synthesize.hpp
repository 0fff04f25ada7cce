#pragma once
/// A graph where only the pairs are known.

#include <peerlane/machine.hpp>

namespace peerlane {

/// A graph that agrees with the path classes of the pairs and the NICs as far as they agree with each other, so that
/// something can be routed over it: every device has a PCIe way to a NUMA node. Devices joined by PIX share a bridge,
/// by PXB a bridge above theirs, by PHB a host bridge, by NODE a NUMA node. Where only NVLink is known between two
/// devices, their NICs and NUMA nodes decide, else they share the NUMA node. Fabric: direct links as counted, or one
/// switch when a device would need more links than it can have. Capacities are filled where a device tells its link or
/// a pair its nominal rate, and left empty otherwise. It is a guess, and whoever shows it says so. Returns
/// machine.graph itself when that is not empty.
Graph synthesize_graph(const Machine& machine);

}  // namespace peerlane
