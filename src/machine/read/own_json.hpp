#pragma once
/// Our own document, `peerlane.machine/1`.

#include "machine/read/reader.hpp"

namespace peerlane::read {

bool is_own_json(std::string_view text);

/// Keys that are not known are passed over (additions are free), a known key of the wrong type or out of range is
/// refused. Pairs that the file leaves out are UNKNOWN, or follow from its graph when it has one and lists no pair.
/// `measured` may be one number: the rate of a write.
Machine read_own_json(const Source& source);

}  // namespace peerlane::read
