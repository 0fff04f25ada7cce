#pragma once
#include <cstdint>
#include <memory>

#include <peerlane/discover.hpp>

namespace peerlane {

/// activity: of each device only its address, how busy it is, and who uses it. counters: its address and counters.
enum class NvmlQuestions : std::uint8_t { everything, activity, counters };

/// Asks one table, in a thread of its own that is left behind when a call exceeds its bound.
NvmlFacts read_nvml(const std::shared_ptr<const NvmlApi>& api, NvmlBounds bounds,
                    NvmlQuestions what = NvmlQuestions::everything);

}  // namespace peerlane
