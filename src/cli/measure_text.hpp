#pragma once
/// A profile for people: one screen for two devices, a matrix for many.

#include <peerlane/profile.hpp>

#include "cli/page.hpp"

namespace peerlane::cli {

/// Sections of legs, legs at the same time, access in place and calls; what was not measured is left out.
void profile_page(Page& page, const Profile& profile);

}  // namespace peerlane::cli
