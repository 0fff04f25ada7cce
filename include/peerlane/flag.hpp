#pragma once
/// A 32-bit value that streams, kernels and the host set and wait for, seen by every device of the machine. How
/// pipeline stages talk: `{.then_set = flag, .value = v}` of a copy, a list or a message, and a wait on the other side.

#include <cstdint>
#include <memory>
#include <optional>

#include <peerlane/driver/owned.hpp>

namespace peerlane {

/// A stream's wait with a budget. A value; must not outlive its flag. Holds for the next 255 waits of the flag.
class FlagWait {
  public:
    FlagWait() = default;
    /// Empty until the stream is past it. False when the budget was over first; the first call that finds that tells
    /// the driver (Driver::expired).
    [[nodiscard]] std::optional<bool> met() const;

  private:
    friend class Flag;
    struct State;
    std::shared_ptr<State> state_;
};

/// Lies in memory of a device, where its waiters are, or pinned; alone in its line. 0 at first. Values are compared
/// modulo 2^32: a wait is met by what is at most 2^31 - 1 ahead. Moves, does not copy; the driver must outlive it, and
/// nothing may use it any more when it goes. Safe to use from several threads, but for waits with a budget in streams,
/// which one thread at a time queues.
class Flag {
  public:
    /// Waits until it is 0.
    Flag(Driver& driver, Place place);
    [[nodiscard]] Location location() const { return memory_.location(); }
    operator Location() const { return location(); }
    /// For kernels (peerlane/device.cuh).
    [[nodiscard]] std::uint32_t* pointer() const { return static_cast<std::uint32_t*>(pointer_to(memory_.address())); }

    /// When all that came before in the stream, of any device, is done and visible.
    void set(StreamView stream, std::uint32_t value);
    /// The stream waits, without a limit. One of the flag's own device; of any where the flag is pinned
    /// (std::invalid_argument otherwise: put the flag where it is waited for).
    void wait(StreamView stream, std::uint32_t at_least);
    /// The stream waits, at most about so long, and goes on in any case: by a kernel of one thread. Seconds up to 3600.
    [[nodiscard]] FlagWait wait(StreamView stream, std::uint32_t at_least, double budget_s);

    // The host's side, of a pinned flag only: std::invalid_argument otherwise.
    void set(std::uint32_t value);
    [[nodiscard]] std::uint32_t read() const;
    /// Polls, at most so long. False when it was not met, which the driver is told.
    [[nodiscard]] bool wait(std::uint32_t at_least, double budget_s) const;

  private:
    void require_near(StreamView stream) const;
    void require_pinned() const;
    Driver* driver_;
    Allocation memory_;
    Stream helper_{};  ///< of the flag's device, for streams of others
    std::shared_ptr<Allocation> results_{};
    std::uint32_t waits_ = 0;
};

}  // namespace peerlane
