#pragma once
/// One route of a transfer that the host drives: a few chunks under way, each in a buffer of its own.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <peerlane/driver/owned.hpp>
#include <peerlane/error.hpp>
#include <peerlane/plan.hpp>

#include "move/resources.hpp"

namespace peerlane::move {

struct Range {
    std::uint64_t begin = 0, bytes = 0;
};

class DrivenWay {
  public:
    /// Takes rings; `usable()` is false when there are none.
    DrivenWay(Driver& driver, Resources& resources, const Route& route);
    DrivenWay(const DrivenWay&) = delete;
    DrivenWay& operator=(const DrivenWay&) = delete;
    /// Gives the rings back. Nothing may be under way. The mover's lock is held.
    void give_back(Resources& resources);

    [[nodiscard]] const Route& route() const { return route_; }
    [[nodiscard]] bool usable() const { return usable_; }
    [[nodiscard]] bool has_room() const { return usable_ && !failure_ && under_way_.size() < depth_; }
    [[nodiscard]] bool idle() const { return under_way_.empty(); }
    [[nodiscard]] std::uint64_t most_chunk() const { return chunk_; }
    [[nodiscard]] double rate() const { return rate_; }  ///< bytes/s of the latest chunks; 0: none done
    [[nodiscard]] std::uint64_t bytes_done() const { return done_; }
    [[nodiscard]] bool failed() const { return failure_.has_value(); }
    [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

    /// All work comes after the event.
    void after(EventView event);
    void submit(Range range, Location to, Location from);
    /// Waits at most `seconds` for the oldest chunk; true when it arrived or failed.
    bool wait(double seconds);
    /// Bytes that arrived since the last call. A failure of any leg is kept; what was under way with it counts as not
    /// arrived.
    std::uint64_t reap();
    /// After a failure: ranges that have to go another way, once nothing of them is under way any more.
    std::optional<std::vector<Range>> lost();

  private:
    struct Chunk {
        Range range{};
        std::size_t slot = 0;
        double start_s = 0;
    };
    /// True when the event is reached, or the stream's error was taken.
    bool reached(std::size_t leg, EventView event, double seconds);

    Driver& driver_;
    Route route_;
    bool usable_ = false;
    std::vector<Stream> streams_{};
    std::vector<Ring*> rings_{};
    std::vector<std::vector<Event>> events_{};  ///< [slot][leg]
    std::uint64_t chunk_ = 0;
    std::size_t depth_ = 0;
    std::deque<Chunk> under_way_{};
    std::size_t next_slot_ = 0;
    std::optional<Failure> failure_{};
    double rate_ = 0, latest_end_s_ = 0;
    std::uint64_t done_ = 0;
};

}  // namespace peerlane::move
