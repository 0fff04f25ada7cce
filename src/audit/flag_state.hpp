#pragma once
#include <cstdint>
#include <vector>

#include "audit/deed.hpp"

namespace peerlane::audit {

/// One store to a flag that has happened.
struct Sent {
    Chain chain = 0;
    Tick tick = 0;
    std::uint64_t value = 0;
    Snapshot clock{};  ///< what came before it, itself included
    trace::Scope scope = trace::Scope::system;
    trace::Order order = trace::Order::release;
    Doing doing{};
};

/// Which stores a wait may have been met by. Stores of one chain follow each other; stores of different chains are
/// ordered only as far as their clocks say.
class FlagState {
  public:
    void add(Sent sent);

    struct Answer {
        bool initial = false;  ///< the 0 that a flag starts with may be what the wait saw
        std::vector<const Sent*>
            seen{};  ///< stores that may have met it; of alike ones of a chain the earliest; valid until `add`
        [[nodiscard]] bool met() const { return initial || !seen.empty(); }
    };
    /// What may have met the wait of somebody who knows `clock`.
    [[nodiscard]] Answer ask(const Deed& wait, const Clock& clock) const;

    /// A store that leaves the wait unmet and that no store which meets it is known to follow: the wait may come too
    /// late.
    [[nodiscard]] const Sent* may_hide(const Deed& wait) const;
    /// The last store that would have met the wait, seen or not; nullptr when there was none.
    [[nodiscard]] const Sent* last_meeting(const Deed& wait) const;
    /// The store after `sent` in its chain; nullptr when there is none.
    [[nodiscard]] const Sent* next(const Sent& sent) const;
    [[nodiscard]] std::uint64_t highest() const { return highest_; }
    [[nodiscard]] bool any() const { return !lanes_.empty(); }
    /// True when the chain stored a value that meets the wait and that it has not replaced by one that does not.
    [[nodiscard]] bool holds(const Deed& wait, Chain chain) const;
    /// A waiter on this chain knows `clock` now: what it cannot see any more is dropped once every waiter is past it.
    /// `seen`: the first tick of the chain after it saw a store, 0 when it saw the initial value.
    void learned(Chain chain, const Clock& clock, Tick seen);
    [[nodiscard]] bool saw_store(Chain chain) const;

  private:
    struct Lane {
        Chain chain = 0;
        bool rising = true;  ///< values never fell
        bool alike = true;   ///< all of one order and scope
        std::vector<Sent> sent{};
        Tick dropped = 0;  ///< of the last store that was dropped
    };
    struct Waiter {
        Chain chain = 0;
        Clock clock{};
        Tick seen = 0;
    };
    /// Index of the first store of the lane that `clock` does not prove to be replaced.
    [[nodiscard]] std::size_t first_open(const Lane& lane, const Clock& clock) const;
    void trim(Lane& lane);

    std::vector<Lane> lanes_{};
    std::vector<Waiter> waiters_{};
    std::uint64_t highest_ = 0;
};

}  // namespace peerlane::audit
