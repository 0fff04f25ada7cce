#pragma once
#include <peerlane/discover.hpp>

namespace peerlane {

/// Everything that `roots` hold. Unreadable files are empty facts.
HostFacts read_host(const DiscoverRoots& roots);

/// The PCI tree alone, in bus order. `found` tells whether there is one.
std::vector<PciFunction> read_pci(const DiscoverRoots& roots, bool& found);

/// What surrounds this process. `unread` gets what could not be read.
ProcessFacts read_process(const DiscoverRoots& roots, const NvmlFacts& nvml, std::vector<Unread>& unread);
/// Number of this process.
int own_process();
/// Adds to `unread` what the other facts lack.
void note_unread(Discovery& discovery);

/// NUMA nodes that are online, ascending.
std::vector<NumaFacts> read_numa(const DiscoverRoots& roots);

/// Links of AMD's fabric, from the compute driver's topology.
std::vector<XgmiLink> read_xgmi(const DiscoverRoots& roots);

/// Order of bus addresses as numbers: domain, bus, device, function. Text that is no address comes last.
bool bus_less(const std::string& a, const std::string& b);

}  // namespace peerlane
