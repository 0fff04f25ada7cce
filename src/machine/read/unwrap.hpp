#pragma once
/// XML and JSON as they stand in tickets: quoted, commented out, in a code fence, with a prompt above.

#include <optional>
#include <string>

#include "machine/read/text.hpp"

namespace peerlane::read {

struct Unwrapped {
    std::string text;         ///< the document alone; every line keeps its number
    std::vector<Line> marks;  ///< of the document's lines: what was taken away, without their text
};

/// Empty when no line begins a document, when nothing was around it, or for more than 8 MiB.
std::optional<Unwrapped> unwrapped_document(const Source& source);

}  // namespace peerlane::read
