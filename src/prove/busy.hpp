#pragma once
/// Devices that did not come back after a step had to be ended. Nothing more is sent to them.

#include <functional>
#include <map>
#include <set>
#include <string>

#include <peerlane/probe_host.hpp>

namespace peerlane::prove {

/// Devices that a step concerns.
std::set<int> devices_of(const ProbeStep& step);

class Busy {
  public:
    /// Why a step must not run; empty when it may.
    [[nodiscard]] std::string reason(const ProbeStep& step) const;
    /// After a hang: runs an `idle` step for each device of it and keeps those that hang again.
    void look_after(const ProbeStep& hung, const std::function<CheckResult(const ProbeStep&)>& run);

  private:
    std::map<int, std::string> left_by_;  ///< device -> the step that left it busy
};

}  // namespace peerlane::prove
