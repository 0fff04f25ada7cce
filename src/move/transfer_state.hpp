#pragma once
/// What a transfer knows.

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

#include <peerlane/moving.hpp>

#include "move/driven_way.hpp"
#include "move/mover_state.hpp"

namespace peerlane {

struct Transfer::State {
    State(Mover::State& mover, Location to, Location from, std::uint64_t bytes, const Choice& choice,
          const TransferOptions& options);
    ~State();

    TransferProgress::State step(double seconds);
    /// A device error with what the mover did last.
    TransferProgress::State told_step(double seconds);
    [[nodiscard]] TransferProgress progress() const;
    std::atomic<bool> cancel_asked = false;

  private:
    void open(const Route& route);
    void open_spares();
    void take_in();
    void hand_out();
    void wait_for_one(double seconds);
    [[nodiscard]] std::optional<move::Range> next_range(const move::DrivenWay& way);
    [[nodiscard]] bool nothing_under_way() const;
    void conclude();

    Mover::State& mover_;
    Location to_, from_;
    std::uint64_t total_;
    std::optional<double> limit_;
    double start_s_, end_s_ = 0;
    mutable std::mutex mutex_;
    TransferProgress::State state_ = TransferProgress::State::running;
    std::deque<std::unique_ptr<move::DrivenWay>> ways_{};
    std::vector<double> planned_gbs_{};  ///< of the ways, before they have shown anything
    std::vector<Route> spares_{};
    std::vector<bool> told_{};
    std::optional<Event> begin_{};
    std::deque<move::Range> again_{};
    std::uint64_t given_ = 0, arrived_ = 0;
    double predicted_rate_ = 0;
    std::vector<Finding> findings_{};
    std::vector<Leg> bad_legs_{};
};

}  // namespace peerlane
