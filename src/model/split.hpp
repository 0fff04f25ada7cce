#pragma once
/// Bytes over several ways that all end together.

#include <span>
#include <vector>

namespace peerlane::model {

/// A way that takes fixed_s + bytes * s_per_byte. s_per_byte > 0.
struct Finisher {
    double fixed_s = 0;
    double s_per_byte = 0;
};

struct EqualFinish {
    std::vector<double> bytes{};  ///< of each way; 0 where its fixed time alone is longer
    double seconds = 0;
};

/// The least time at which the ways have moved all bytes. Throws std::invalid_argument for no way.
EqualFinish equal_finish(std::span<const Finisher> ways, double bytes);

}  // namespace peerlane::model
