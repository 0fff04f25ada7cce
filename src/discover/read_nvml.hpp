#pragma once
#include <memory>

#include <peerlane/discover.hpp>

namespace peerlane {

/// Asks everything of one table, in a thread of its own that is left behind when a call exceeds its bound.
NvmlFacts read_nvml(const std::shared_ptr<const NvmlApi>& api, NvmlBounds bounds);

}  // namespace peerlane
