#include "prove/busy.hpp"

#include <fmt/format.h>

namespace peerlane::prove {

std::set<int> devices_of(const ProbeStep& step) {
    std::set<int> devices{step.accessor, step.owner};
    for (auto const& pair : step.pairs) {
        devices.insert({pair.first, pair.second});
    }
    return devices;
}

std::string Busy::reason(const ProbeStep& step) const {
    for (auto const device : devices_of(step)) {
        if (auto const found = left_by_.find(device); found != left_by_.end()) {
            return fmt::format("device {} is still busy with what {} left running", device, found->second);
        }
    }
    return {};
}

void Busy::look_after(const ProbeStep& hung, const std::function<CheckResult(const ProbeStep&)>& run) {
    for (auto const device : devices_of(hung)) {
        if (left_by_.count(device) != 0) {
            continue;
        }
        ProbeStep const idle{ProbeStep::Kind::idle, Check::claim, device, device, {}, hung.seed};
        if (run(idle).result == Result::hang) {
            left_by_[device] = describe(hung);
        }
    }
}

}  // namespace peerlane::prove
