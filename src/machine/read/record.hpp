#pragma once
/// The machine in a record of a doctor's run, `peerlane.record/1`: one JSON object a line.

#include "machine/read/reader.hpp"

namespace peerlane::read {

/// True for a text that opens with this schema, sound or not.
bool is_record(std::string_view text);

Machine read_recorded_machine(const Source& source);

}  // namespace peerlane::read
