#pragma once
/// Steps from facts to a machine, each a pure function.

#include <string>
#include <vector>

#include <peerlane/host_facts.hpp>
#include <peerlane/machine.hpp>
#include <peerlane/nvml_facts.hpp>

namespace peerlane {

/// One device and who told of it; either may be missing. The place in a list of these is the device's id.
struct Found {
    std::string bus;
    const PciFunction* function = nullptr;
    const NvmlDevice* managed = nullptr;
};

/// Of the link above a function: the generation that both of its ends can, and the lanes that it has now.
PciRate link_rate(const PciFunction& lower, const HostFacts& host);
/// The same of a device; what sysfs does not tell comes from the management library.
PciRate link_rate(const Found& device, const HostFacts& host);

/// Nodes and links of devices, RDMA adapters, switches, host bridges and NUMA nodes. A switch is one node, named after
/// its upstream port; its downstream ports, and a root port with one thing below it, are part of the links.
void add_nodes(const HostFacts& host, const std::vector<Found>& devices, Machine& machine);

/// NVLink and xGMI. Switches that reach the same devices are one node, for their links count together. Needs the nodes
/// of the devices and the claims of the pairs.
void add_fabric(const HostFacts& host, const std::vector<Found>& devices, Machine& machine);

}  // namespace peerlane
