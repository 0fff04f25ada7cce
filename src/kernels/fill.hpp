#pragma once
#include <cstdint>

#include <peerlane/pattern.hpp>
#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// Writes a pattern into a range of any alignment.
struct FillArguments {
    Address to;
    std::uint64_t bytes;
    Pattern pattern;
    unsigned width;  ///< widest store a thread makes: 4, 8 or 16 bytes
};
extern const Kernel fill_kernel;

}  // namespace peerlane
