#pragma once
/// The same machine with other numbers for its devices.

#include <optional>
#include <vector>

#include <peerlane/machine.hpp>

namespace peerlane {

/// Device i becomes numbers[i]; those with -1 are left out, with their pairs and links.
Machine renumbered(const Machine& machine, const std::vector<int>& numbers);

/// Of each device of `part` its number in `whole`, by bus address, or by UUID where one has none. Empty when one is not
/// there, or two are the same.
std::optional<std::vector<int>> numbers_in(const Machine& whole, const Machine& part);

/// What is known of a machine as a driver sees it: the devices of `seen`, in its order and with what it says of them
/// and of their claims; links, switches, NUMA nodes and path classes from `known`. Empty when they do not join.
std::optional<Machine> as_seen(const Machine& known, const Machine& seen);

}  // namespace peerlane
