#pragma once
/// Words of patterns and tables.

#include <string_view>
#include <vector>

#include <peerlane/machine.hpp>
#include <peerlane/place.hpp>

namespace peerlane::traffic {

using Words = std::vector<std::string_view>;

/// At least one part; parts may be empty.
Words split(std::string_view text, char at);
std::string_view trimmed(std::string_view text);

/// Throws std::invalid_argument for a word that is no place, a device that is not among `devices`, and a NUMA node that
/// the machine does not have.
Place place_of(std::string_view word, const Machine& machine, const std::vector<int>& devices);

}  // namespace peerlane::traffic
