#pragma once
/// A plan for people.

#include <string>
#include <vector>

#include <peerlane/planner.hpp>

#include "cli/page.hpp"

namespace peerlane::cli {

/// A table of the sizes with runner-up and margin, the reasons, what was rejected, and all sizes.
void plan_page(Page& page, const PlanRecord& record);

}  // namespace peerlane::cli
