#pragma once
/// Ctrl-C, for commands that have something to give back.

namespace peerlane::cli {

/// While it lives, the first SIGINT or SIGTERM only sets a mark; the second ends the process as it would without us
/// (helpers end with it). One that is ignored stays ignored.
class StopSignals {
  public:
    StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    ~StopSignals();

    /// 0, or the number of the signal.
    [[nodiscard]] static int caught();
};

}  // namespace peerlane::cli
