#pragma once
/// Output of NVIDIA's p2pBandwidthLatencyTest, whole or in part: device list, answers to peer access, and its matrices.

#include "machine/read/reader.hpp"

namespace peerlane::read {

bool recognizes_p2p_bandwidth(std::string_view text);
/// Rows are the issuing device: writes go from row to column, reads come from column to row. Rates measured with peer
/// access "enabled" between devices that have none are those of a staged copy, and stored as such.
Machine read_p2p_bandwidth(const Source& source);

}  // namespace peerlane::read
