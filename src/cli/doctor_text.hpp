#pragma once
/// Pieces of the doctor's page that other ways of showing it use, too.

#include <string>
#include <vector>

#include "cli/doctor.hpp"
#include "cli/page.hpp"

namespace peerlane::cli {

/// "h200-pair, 2 x NVIDIA H200, NV18".
std::string machine_line(const Examination& found);

/// What kind of run it was: "SIMULATED, no real device is used", "seed 1", "quick".
std::vector<std::string> marks_of(const Examination& found);

/// Everything but head, verdict, matrix and causes.
void details_page(Page& page, const Examination& found);

}  // namespace peerlane::cli
