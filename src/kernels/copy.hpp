#pragma once
#include <cstdint>

#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// Copies a range by threads of the issuing device. Any alignment; ranges must not overlap.
struct CopyArguments {
    Address to;
    Address from;
    std::uint64_t bytes;
    unsigned width;  ///< widest access a thread makes: 4, 8 or 16 bytes
};
extern const Kernel copy_kernel;

}  // namespace peerlane
