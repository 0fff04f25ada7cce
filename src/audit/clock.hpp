#pragma once
/// Vector clocks. A chain is a host thread or a stream: what it does happens in the order of its ticks.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace peerlane::audit {

using Chain = std::uint32_t;
using Tick = std::uint32_t;  ///< from 1; 0 is "nothing of that chain"

/// One tick for each chain; the few chains of most programs need no memory of their own.
class Ticks {
  public:
    [[nodiscard]] Tick get(Chain chain) const { return chain < size_ ? data()[chain] : 0; }
    void put(Chain chain, Tick tick) {
        grow(chain + 1);
        data()[chain] = tick;
    }
    /// The later of both, chain by chain; true when any grew.
    bool raise(const Ticks& from) {
        grow(from.size_);
        Tick* to = data();
        const Tick* with = from.data();
        bool changed = false;
        for (std::uint32_t i = 0; i < from.size_; ++i) {
            if (with[i] > to[i]) {
                to[i] = with[i];
                changed = true;
            }
        }
        return changed;
    }
    /// The earlier of both, chain by chain.
    void lower(const Ticks& with) {
        Tick* to = data();
        for (std::uint32_t i = 0; i < size_; ++i) {
            to[i] = std::min(to[i], with.get(i));
        }
    }

  private:
    static constexpr std::uint32_t inline_size = 10;
    [[nodiscard]] Tick* data() { return more_.empty() ? few_ : more_.data(); }
    [[nodiscard]] const Tick* data() const { return more_.empty() ? few_ : more_.data(); }
    void grow(std::uint32_t size) {
        if (size <= size_) {
            return;
        }
        if (size > inline_size) {
            if (more_.empty()) {
                more_.assign(few_, few_ + size_);
            }
            more_.resize(size);
        }
        size_ = size;  // what was not used yet is 0
    }
    std::uint32_t size_ = 0;
    Tick few_[inline_size] = {};
    std::vector<Tick> more_{};
};

/// For every chain, up to which tick its doings came before. Two kinds of before: *ordered* (data written then is
/// visible now) and *caused* (it did happen earlier, but perhaps only a relaxed flag says so). Ordered implies caused;
/// the second table exists only where the two differ, which is rare.
class Clock {
  public:
    Clock() = default;
    Clock(const Clock& other) : ordered_(other.ordered_), caused_(copy(other.caused_)) {}
    Clock(Clock&&) noexcept = default;
    Clock& operator=(const Clock& other) {
        ordered_ = other.ordered_;
        caused_ = copy(other.caused_);
        return *this;
    }
    Clock& operator=(Clock&&) noexcept = default;
    ~Clock() = default;

    [[nodiscard]] Tick ordered(Chain chain) const { return ordered_.get(chain); }
    [[nodiscard]] Tick caused(Chain chain) const { return causes().get(chain); }

    void set(Chain chain, Tick tick) {
        ordered_.put(chain, tick);
        if (caused_ != nullptr) {
            caused_->put(chain, tick);
        }
    }
    /// Both now come after; true when this clock learned something.
    bool join(const Clock& other) {
        if (other.caused_ != nullptr) {
            split();
        }
        const bool changed = ordered_.raise(other.ordered_);
        return (caused_ != nullptr && caused_->raise(other.causes())) || changed;
    }
    /// What is before in both.
    void meet(const Clock& other) {
        if (other.caused_ != nullptr) {
            split();
        }
        ordered_.lower(other.ordered_);
        if (caused_ != nullptr) {
            caused_->lower(other.causes());
        }
    }
    /// The same causes without any order: what a relaxed flag hands over.
    [[nodiscard]] Clock without_order() const {
        Clock c;
        c.caused_ = std::make_unique<Ticks>(causes());
        return c;
    }

  private:
    static std::unique_ptr<Ticks> copy(const std::unique_ptr<Ticks>& from) {
        return from == nullptr ? nullptr : std::make_unique<Ticks>(*from);
    }
    [[nodiscard]] const Ticks& causes() const { return caused_ == nullptr ? ordered_ : *caused_; }
    void split() {
        if (caused_ == nullptr) {
            caused_ = std::make_unique<Ticks>(ordered_);
        }
    }

    Ticks ordered_{};
    std::unique_ptr<Ticks> caused_{};
};

using Snapshot = std::shared_ptr<const Clock>;

}  // namespace peerlane::audit
