#pragma once
/// One large movement that the host drives chunk by chunk: it can be looked at, ended early and bounded in time, and a
/// way that fails or turns slow costs time, never bytes.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <peerlane/driver/order_types.hpp>
#include <peerlane/plan.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

struct TransferOptions {
    std::optional<double> seconds_limit{};  ///< from the start on; empty: none
    std::optional<StreamView> after{};      ///< begins when this stream has done what it holds
};

struct TransferProgress {
    enum class State : std::uint8_t { running, done, cancelled, late, failed };
    struct Way {
        Route route{};  ///< `share` as planned
        std::uint64_t bytes = 0;
        std::optional<double> gbs{};  ///< of its latest chunks; empty before the first
        bool dropped = false;
    };
    State state = State::running;
    std::uint64_t bytes = 0;  ///< that have arrived
    std::uint64_t total = 0;
    double seconds = 0;  ///< from the start to now, or to the end
    std::vector<Way> ways{};
    std::vector<Finding> findings{};  ///< route-failed: why a way was dropped
};
const char* to_string(TransferProgress::State state);

/// Made by Mover::transfer. Each way takes its next chunk when it has done one, sized by the rate that was seen, so
/// that shares follow the ways at every chunk. Chunks of a way that failed go other ways, once nothing of it is under
/// way. `cancel` and `progress` may be called from other threads while one drives. Must not outlive its mover; the
/// destructor cancels and waits for the chunks under way.
class Transfer {
  public:
    Transfer(Transfer&&) noexcept;
    Transfer& operator=(Transfer&&) noexcept;
    ~Transfer();
    /// Takes in what is done and submits what may be next; waits at most `seconds` for a chunk. Throws Error, sticky,
    /// when the devices are gone.
    TransferProgress::State step(double seconds = 0);
    /// Steps until it is no longer running: done, cancelled, late (the limit has passed; chunks may still be under way
    /// then) or failed (no way is left).
    TransferProgress::State wait();
    /// No further chunk is submitted; the state becomes `cancelled` when those under way are done.
    void cancel();
    [[nodiscard]] TransferProgress progress() const;

  private:
    friend class Mover;
    struct State;
    explicit Transfer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace peerlane
