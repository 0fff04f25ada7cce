#pragma once
/// What of a machine's facts nodes that should be alike have in common.

#include <map>
#include <string>

#include <peerlane/facts.hpp>

namespace peerlane {

/// "driver", "kernel", "system", "processor", "lanes to the host", "NVLinks up"; what is not known is left out.
std::map<std::string, std::string> traits_of(const Facts& facts);

}  // namespace peerlane
