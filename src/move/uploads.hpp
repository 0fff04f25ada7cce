#pragma once
/// Lists of the host on their way to a device: pinned and device memory in pairs, used again once the work that read
/// them is done.

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include <peerlane/driver/owned.hpp>

namespace peerlane::move {

class Uploads {
  public:
    struct Slot {
        Allocation pinned, device;
        Event used;             ///< behind the latest work that reads `device`
        bool in_graph = false;  ///< a captured graph reads it as often as it is launched: never used again
        bool taken = false;     ///< from `take` until `used`: its event says nothing of it yet
    };

    explicit Uploads(Driver& driver) : driver_(driver) {}
    /// Room for `bytes` on the stream's device: the oldest of its size when that is idle, else new; past `most_slots`
    /// of a size the oldest is waited for.
    Slot& take(StreamView stream, std::uint64_t bytes);
    /// The first `bytes` of `pinned` go to `device`, in order of the stream.
    void send(Slot& slot, StreamView stream, std::uint64_t bytes);
    /// After the last work that reads the slot was submitted; once for each `take`.
    void used(Slot& slot, StreamView stream);

  private:
    static constexpr std::size_t most_slots = 64;
    struct Ring {
        std::deque<Slot> slots{};  ///< they stay where they are
        std::size_t next = 0;      ///< the oldest
    };
    Driver& driver_;
    std::map<std::pair<int, std::uint64_t>, Ring> rings_;  ///< by device and size
    std::deque<Slot> in_graphs_;
};

}  // namespace peerlane::move
