#pragma once
/// The one table of nominal rates. GB/s = 1e9 bytes/s of one direction: raw signalling less line coding, before
/// protocol overhead. None of them is a measurement, and wherever one is shown it is called nominal.

#include <optional>
#include <string>

#include <peerlane/machine.hpp>

namespace peerlane {

/// Of "16 GT/s", "32.0 GT/s PCIe", "2.5GT/s": the PCIe generation of that signalling rate. Empty for "", "Unknown" and
/// odd rates.
std::optional<int> pcie_generation(const std::string& speed_text);
/// Signalling rate as NCCL writes it, "16.0 GT/s PCIe". Generation 1 to 7.
std::string pcie_speed_text(int generation);
/// Empty when the generation is not 1 to 7 or the width not 1 to 32 lanes.
std::optional<double> pcie_gbs(std::optional<int> generation, std::optional<int> width);

/// What is known of the vendor's fabric of a part.
struct FabricPart {
    int generation = 0;   ///< of NVLink
    int links = 0;        ///< a device has; 0: the part has no such fabric
    double link_gbs = 0;  ///< of one link, one direction
};
/// By model name, else by compute capability. Empty when neither is known to the table: then nothing is claimed.
std::optional<FabricPart> nvlink_part(const Device& device);
/// Rate of one xGMI link by the architecture's name ("gfx90a", or RCCL's older "910"). Empty when not known.
std::optional<double> xgmi_link_gbs(const std::string& architecture);
/// The same by the architecture that the device tells, else by its model name ("AMD Instinct MI300X").
std::optional<double> xgmi_link_gbs(const Device& device);

/// From the links of a fabric path, or the narrowest PCIe link on the way whose rate is known at both devices; empty
/// when not known. An upper bound where the way crosses a host (a processor's own interconnect is not in the table).
std::optional<double> nominal_gbs(const Machine& machine, const Pair& pair);
/// Fills nominal_gbs of every pair that has none, where it can be known.
void fill_nominal(Machine& machine);

/// Rate of a link for a simulator: its capacity, else its generation and width, else the middle of the field (PCIe 4
/// x16, NVLink 25 a link, xGMI 50 a link, interconnect 40, memory 200, network 12.5): assumed, and to be said so.
double assumed_gbs(const Link& link);

}  // namespace peerlane
