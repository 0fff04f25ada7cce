#pragma once
#include <cstdint>

#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;

/// Page from_index[i] of the source becomes page to_index[i] of the destination, for i < pages, in each of `layers`
/// pairs of bases. Page k of a base lies at base + k * pitch. No two destination pages may be the same.
struct PagesArguments {
    Address to, from;              ///< the bases where there is one layer; else arrays of `layers` 64-bit addresses
    Address to_index, from_index;  ///< arrays of `pages` indices; null: i itself
    std::uint64_t pages, layers;
    std::uint64_t page_bytes;
    std::uint64_t to_pitch, from_pitch;
    unsigned index_bytes;  ///< 4 or 8, signed
    unsigned unit;         ///< power of two that divides bases, pitches and page_bytes: 1, 2, 4, 8 or 16
    bool many_layers;      ///< to and from are arrays, whatever `layers` is
};
extern const Kernel pages_kernel;

}  // namespace peerlane
