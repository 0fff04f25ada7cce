// Load for a long time, and proofs in between.
#include <algorithm>
#include <set>

#include <peerlane/prove.hpp>

namespace peerlane::prove {
namespace {

/// Kernels of one device, into and out of every other that is right.
void add_kernels(const Verdicts& verdicts, int accessor, std::uint64_t seed, std::vector<ProbeStep>& steps) {
    for (auto const& pair : verdicts.pairs) {
        for (auto const check : {Check::store, Check::load}) {
            if (pair.accessor == accessor && pair[check].result == Result::ok) {
                steps.push_back({ProbeStep::Kind::check, check, pair.accessor, pair.owner, {512 * KiB + 4}, seed});
            }
        }
    }
}

}  // namespace

std::vector<ProbeStep> soak_steps(const Verdicts& verdicts, double seconds, double at_once_s, std::uint64_t seed) {
    std::vector<ProbeStep> loads;
    std::set<int> accessors;
    for (auto& step : group_steps(verdicts, seed)) {
        // The last of the patterns has every pair in it; of two devices it is the only one.
        if (step.check != Check::map) {
            auto const same_way = std::find_if(loads.begin(), loads.end(),
                                               [&](const ProbeStep& other) { return other.check == step.check; });
            if (same_way == loads.end()) {
                loads.push_back(std::move(step));
            } else if (step.pairs.size() > same_way->pairs.size()) {
                *same_way = std::move(step);
            }
        }
    }
    for (auto const& pair : verdicts.pairs) {
        accessors.insert(pair.accessor);
    }
    std::vector<ProbeStep> steps;
    auto next = accessors.begin();
    for (double loaded = 0; !loads.empty() && loaded < seconds;) {
        for (auto& load : loads) {
            load.name = "soak, all at once";
            load.seconds = std::min(at_once_s, seconds - loaded);
            if (load.seconds <= 0) {
                break;
            }
            loaded += load.seconds;
            steps.push_back(load);
        }
        add_kernels(verdicts, *next, seed, steps);
        next = std::next(next) == accessors.end() ? accessors.begin() : std::next(next);
    }
    return steps;
}

}  // namespace peerlane::prove
