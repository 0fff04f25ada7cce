#pragma once
/// hwloc's XML, versions 2 and 3 (and 1, as far as it tells the same), read without hwloc: the installed library
/// refuses version 3.

#include "machine/read/reader.hpp"

namespace peerlane::read {

bool recognizes_hwloc_xml(std::string_view text);
/// GPUs are PCI devices of GPU makers; a server's display chip is none. Bridges, host bridges, NUMA nodes and NICs go
/// into the graph, a PCIe switch (one port up, several down) as one node. Bandwidth matrices of NVLink and xGMI become
/// links. GPU memory that the host sees as NUMA nodes is noted at its device and is no node of the host.
Machine read_hwloc_xml(const Source& source);

}  // namespace peerlane::read
