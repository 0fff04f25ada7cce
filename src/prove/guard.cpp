#include "prove/guard.hpp"

#include <fmt/format.h>

namespace peerlane::prove {

std::string Guard::veto(const ProbeStep& step) const {
    if (options_.stopped && options_.stopped()) {
        return "stopped before it ran";
    }
    if (auto const found = options_.forbidden.find(describe(step)); found != options_.forbidden.end()) {
        return found->second;
    }
    auto const asks_only = step.kind == ProbeStep::Kind::check && step.check == Check::claim;
    for (auto const device : {step.accessor, step.owner}) {
        if (auto const found = busy_.find(device); !asks_only && found != busy_.end()) {
            return fmt::format("device {} is still busy after its prober was ended", device);
        }
    }
    return {};
}

void Guard::saw(const ProbeOutcome& outcome) {
    if (outcome.result.result != Result::hang || !options_.busy) {
        return;
    }
    for (auto const device : {outcome.step.accessor, outcome.step.owner}) {
        if (busy_.count(device) > 0) {
            continue;
        }
        if (auto evidence = options_.busy(device); !evidence.empty()) {
            busy_.emplace(device, std::move(evidence));
        }
    }
}

}  // namespace peerlane::prove
