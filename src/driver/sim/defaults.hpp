#pragma once
/// What links of a kind and generation carry where a machine's document says nothing: parts of the nominal rate, from
/// published machines and from the pair that the project was measured on. docs/validation.md shows how far each holds.

#include <optional>
#include <vector>

#include <peerlane/graph.hpp>

#include "driver/sim/figures.hpp"

namespace peerlane::sim {

/// Effective part of a link's nominal rate, one direction alone. `switched`: one end is a switch, of PCIe or of the
/// fabric.
double link_efficiency(const Figures& figures, const Link& link, bool switched);
/// Part of that which each direction keeps when both are full.
double link_duplex(const Figures& figures, const Link& link, bool switched);
/// The same for transfers from and to host memory at a root port of this generation.
double host_port_duplex(const Figures& figures, int generation);
/// Most that peer traffic of one root port carries to other root ports, GB/s; empty: no less than the link itself.
/// `switched`: a switch hangs on the port.
std::optional<double> crossing_gbs(const Figures& figures, const Link& uplink, bool switched, bool other_socket);
/// Part of a PCIe leg's nominal rate that one copy staged by the driver reaches.
double staged_part(int generation);
/// What all copies that the driver stages from and to one device reach together, to one of them.
double staged_duplex(const Figures& figures, const Graph& graph, int generation);
/// Rules of peer traffic between root ports for a machine of this kind.
std::vector<InterferenceFigure> interference(const Graph& graph);

}  // namespace peerlane::sim
