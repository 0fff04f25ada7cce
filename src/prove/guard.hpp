#pragma once
/// What must not run any more: steps that once took the host down, anything on a device that stays busy after its
/// prober was ended, everything once somebody asked to stop. The answers of a `Veto`.

#include <functional>
#include <map>
#include <set>
#include <string>

#include <peerlane/probe_host.hpp>

namespace peerlane::prove {

struct GuardOptions {
    std::map<std::string, std::string> forbidden{};  ///< what `describe` says of a step, and why it must not run
    /// Asked for both devices of a step that hung, once its prober is gone: what shows that the device is still busy;
    /// empty when it is idle. May be empty: then nothing is known of it.
    std::function<std::string(int device)> busy{};
    std::function<bool()> stopped{};  ///< may be empty
};

class Guard {
  public:
    explicit Guard(GuardOptions options) : options_(std::move(options)) {}
    [[nodiscard]] std::string veto(const ProbeStep& step) const;
    void saw(const ProbeOutcome& outcome);
    /// Devices that stay busy, with what shows it.
    [[nodiscard]] const std::map<int, std::string>& busy() const { return busy_; }

  private:
    GuardOptions options_;
    std::map<int, std::string> busy_;
};

}  // namespace peerlane::prove
