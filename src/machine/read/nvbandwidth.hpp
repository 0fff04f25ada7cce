#pragma once
/// What the tests of nvbandwidth timed, whatever form they were printed in. Text and JSON readers collect cases and end
/// here.

#include <optional>
#include <string>
#include <vector>

#include "machine/read/reader.hpp"

namespace peerlane::read {

/// One printed matrix. The names of the benchmark say what was timed:
///  device_to_device_memcpy_read   the row's device issues and reads memory of the column's: data go column to row
///  device_to_device_memcpy_write  the row's device issues and writes into the column's memory: data go row to column
/// (the arrow that is printed beside them points the other way, so it is kept as text and never used),
///  ..._bidirectional_...          "Total", and the SM forms without a part's name, are sums of both directions; the
///  others are
///                                 one direction while the other one runs.
struct BenchmarkCase {
    std::string name;         ///< "device_to_device_memcpy_read_ce"
    std::string description;  ///< "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"
    std::vector<std::vector<std::optional<double>>> rows;
    std::optional<double> sum;
    int line = 0;
    bool waived = false;  ///< the benchmark found nothing to time
};

/// A device as the benchmark lists it: "NVIDIA H200 (00000000:00:06)"; older versions print no address.
Device listed_device(int id, std::string_view name_and_bus);

/// Puts the cases into the machine: directed rates by engine, loaded and unloaded host rates kept apart, claims from
/// cells that are N/A because the driver gave no access. Ends with complete pairs. Throws InputError when tables and
/// device list differ.
void apply_cases(const Source& source, const std::vector<BenchmarkCase>& cases, Machine& machine);

}  // namespace peerlane::read
