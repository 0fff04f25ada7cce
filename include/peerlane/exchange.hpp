#pragma once
/// Many copies at once, ordered and routed so that they do not fight over links.

#include <cstdint>
#include <memory>
#include <vector>

#include <peerlane/plan.hpp>

namespace peerlane {

/// As for Mover::copy. No destination may overlap another copy's destination or source.
struct ExchangeCopy {
    void* to = nullptr;
    const void* from = nullptr;
    std::uint64_t bytes = 0;
};

/// When one copy of an exchange is planned to run, from the exchange's start on, and the way it takes.
struct PlannedCopy {
    double start_s = 0, end_s = 0;
    Route route{};
};

/// What became of one Mover::exchange. Must not outlive its mover.
class Exchange {
  public:
    Exchange(Exchange&&) noexcept;
    Exchange& operator=(Exchange&&) noexcept;
    ~Exchange();
    /// Makespan by the plan.
    [[nodiscard]] double predicted_s() const;
    /// In the order given.
    [[nodiscard]] const std::vector<PlannedCopy>& plan() const;
    /// True when all of it is done. Never blocks. Throws Error of the work.
    [[nodiscard]] bool done() const;
    /// Blocks until it is; the makespan achieved, by the device's clock.
    double wait() const;

  private:
    friend class Mover;
    struct State;
    explicit Exchange(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace peerlane
