#pragma once
/// Shared by the writers of this folder.

#include <string>
#include <string_view>

#include <peerlane/simulation.hpp>

namespace peerlane::traffic {

/// A JSON string.
std::string quoted(std::string_view text);
/// What joins the devices of a set, as sentences: "Every pair is joined by NVLink."; empty where nothing is known.
std::string what_joins(const std::vector<int>& devices, const Machine& machine);
/// A line for each of the busiest links; empty where loads over time are not known.
std::string load_picture(const Simulation& simulation, bool markdown);

}  // namespace peerlane::traffic
