#pragma once
/// Rates of what the doctor proved, for people.

#include <string>

#include "cli/doctor.hpp"
#include "cli/page.hpp"

namespace peerlane::cli {

/// "NV18", "PHB".
std::string path_word(const Pair& pair);

/// For each class of paths, one transfer alone at the largest size that was right, and what pairs reach together.
/// Nothing where no route was rated.
void rates_of_paths(Page& page, const Examination& found);

}  // namespace peerlane::cli
