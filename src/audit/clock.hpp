#pragma once
/// Vector clocks. A chain is a host thread or a stream: what it does happens in the order of its ticks.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace peerlane::audit {

using Chain = std::uint32_t;
using Tick = std::uint32_t;  ///< from 1; 0 is "nothing of that chain"

/// For every chain, up to which tick its doings came before. Two kinds of before: *ordered* (data written then is
/// visible now) and *caused* (it did happen earlier, but perhaps only a relaxed flag says so). Ordered implies caused;
/// the second table exists only where the two differ, which is rare.
class Clock {
  public:
    [[nodiscard]] Tick ordered(Chain chain) const { return get(ordered_, chain); }
    [[nodiscard]] Tick caused(Chain chain) const { return get(apart_ ? caused_ : ordered_, chain); }

    void set(Chain chain, Tick tick) {
        put(ordered_, chain, tick);
        if (apart_) {
            put(caused_, chain, tick);
        }
    }
    /// Both now come after; true when this clock learned something.
    bool join(const Clock& other) {
        if (other.apart_ && !apart_) {
            split();
        }
        bool changed = raise(ordered_, other.ordered_);
        if (apart_) {
            changed = raise(caused_, other.apart_ ? other.caused_ : other.ordered_) || changed;
        }
        return changed;
    }
    /// What is before in both.
    void meet(const Clock& other) {
        if (other.apart_ && !apart_) {
            split();
        }
        lower(ordered_, other.ordered_);
        if (apart_) {
            lower(caused_, other.apart_ ? other.caused_ : other.ordered_);
        }
    }
    /// The same causes without any order: what a relaxed flag hands over.
    [[nodiscard]] Clock without_order() const {
        Clock c;
        c.apart_ = true;
        c.caused_ = apart_ ? caused_ : ordered_;
        return c;
    }

  private:
    using Table = std::vector<Tick>;
    static Tick get(const Table& table, Chain chain) { return chain < table.size() ? table[chain] : 0; }
    static void put(Table& table, Chain chain, Tick tick) {
        if (chain >= table.size()) {
            table.resize(chain + 1);
        }
        table[chain] = tick;
    }
    static bool raise(Table& to, const Table& from) {
        bool changed = false;
        if (to.size() < from.size()) {
            to.resize(from.size());
        }
        for (std::size_t i = 0; i < from.size(); ++i) {
            if (from[i] > to[i]) {
                to[i] = from[i];
                changed = true;
            }
        }
        return changed;
    }
    static void lower(Table& to, const Table& with) {
        if (to.size() > with.size()) {
            to.resize(with.size());
        }
        for (std::size_t i = 0; i < to.size(); ++i) {
            to[i] = std::min(to[i], with[i]);
        }
    }
    void split() {
        caused_ = ordered_;
        apart_ = true;
    }

    Table ordered_{}, caused_{};
    bool apart_ = false;
};

using Snapshot = std::shared_ptr<const Clock>;

}  // namespace peerlane::audit
