#pragma once
/// The documents of machines/, as the build wrote them into the library.

#include <cstddef>

namespace peerlane::named {

struct Embedded {
    const char* name;
    const char* document;
};

struct EmbeddedTable {
    const Embedded* entries;
    std::size_t count;
};

/// Sorted by name.
EmbeddedTable embedded_machines();

}  // namespace peerlane::named
