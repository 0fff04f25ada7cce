#pragma once
/// Several descriptions of one machine become one.

#include <string_view>
#include <vector>

#include <peerlane/machine.hpp>

namespace peerlane {

/// Joins what the parts say. Devices are matched by UUID, else by PCI address, else by their number (notice
/// joined-by-index); numbers, and whatever two parts tell differently, are those of the first part with the most
/// devices. Every contradiction becomes a notice. A part with fewer devices is accepted when its devices can be matched
/// by identity, or when it says nothing about pairs. Call it for a single part too: contradictions inside one file are
/// found the same way. Throws InputError when the parts cannot be one machine, std::invalid_argument when there is
/// none.
Machine merge(std::vector<Machine> parts);

/// Adds the fabric that an input hides: "nvlink:18@26.56GB/s", 18 links of 26.56 GB/s a direction from every device
/// into one switch fabric; "xgmi:2@50GB/s", two links between each two devices. Without a rate that of the part is
/// taken where it is known. Throws std::invalid_argument, which names what is wrong, when `fabric` is not of that form.
Machine with_fabric(Machine machine, std::string_view fabric);

/// Adds notices for what a machine says against itself or against what is known of its parts: model-contradicts-matrix,
/// link-speed-contradicts-part, reading-below-measured, one-direction-measured. Notices that are there already are not
/// doubled.
void note_contradictions(Machine& machine);

}  // namespace peerlane
