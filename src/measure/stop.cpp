#include "measure/stop.hpp"

#include <numeric>

#include "measure/statistics.hpp"

namespace peerlane::measuring {

bool enough(std::span<const double> samples, const StopRule& rule) {
    if (samples.size() >= rule.most) {
        return true;
    }
    if (samples.empty() || samples.size() < rule.least) {
        return false;
    }
    if (std::accumulate(samples.begin(), samples.end(), 0.0) >= rule.budget_s) {
        return true;
    }
    auto const interval = median_interval(samples);
    return interval && (interval->high - interval->low) / 2 <= rule.precision * summarize(samples).median;
}

}  // namespace peerlane::measuring
