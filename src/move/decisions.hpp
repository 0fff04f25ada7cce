#pragma once
/// What a copy of some size between two places does, looked up without a lock and made once for each class of sizes
/// (four an octave, planned at its lower end).

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <peerlane/machine.hpp>
#include <peerlane/plan.hpp>

#include "move/adapt.hpp"

namespace peerlane::move {

struct Decision {
    Choice choice{};  ///< as planned
    bool single = false;
    /// One leg: who issues it, by the device of the caller's stream. Both ends may where the other is not slower than
    /// going to another stream and back.
    struct Side {
        std::optional<Leg> behind{};  ///< behind other work of the stream: by copy engine
        std::optional<Leg> idle{};    ///< on an idle stream by kernel, where that starts sooner
    };
    std::optional<Side> from_side{}, to_side{};
    Leg leg{};  ///< for streams of other devices
    /// Several legs: what is carried out now, under the mover's lock.
    std::unique_ptr<Adaptation> adaptation{};
    /// The same for streams of the destination, where its single legs may be issued there: going to another stream and
    /// back costs more than pulling does.
    std::unique_ptr<Adaptation> to_adaptation{};
    [[nodiscard]] Adaptation& adaptation_for(bool stream_of_destination) const {
        return stream_of_destination && to_adaptation ? *to_adaptation : *adaptation;
    }
};

class Decisions {
  public:
    static constexpr std::size_t classes = 256;
    using Make = std::function<std::unique_ptr<Decision>(Place from, Place to, std::uint64_t bytes)>;

    Decisions(const Machine& machine, Make make);
    Decisions(const Decisions&) = delete;
    Decisions& operator=(const Decisions&) = delete;
    ~Decisions();
    /// Throws std::invalid_argument for places that the machine lacks.
    Decision& find(Place from, Place to, std::uint64_t bytes) {
        auto const row = row_of(from, to);
        if (row < rows_) {
            if (auto* const known = table_[row * classes + class_of(bytes)].load(std::memory_order_acquire)) {
                return *known;
            }
        }
        return make(from, to, bytes);
    }
    /// All that were made so far.
    void for_each(const std::function<void(Decision&)>& visit);

    static std::size_t class_of(std::uint64_t bytes);
    /// Smallest size of the class.
    static std::uint64_t least_of(std::size_t of);

  private:
    [[nodiscard]] std::size_t number_of(Place place) const {
        if (place.is_device()) {
            return place.index >= 0 && place.index < devices_ ? static_cast<std::size_t>(place.index) : places_;
        }
        auto const node = place.index + 1;  // `any` is -1
        return node >= 0 && node < nodes_ ? static_cast<std::size_t>(devices_ + node) : places_;
    }
    [[nodiscard]] std::size_t row_of(Place from, Place to) const {
        auto const a = number_of(from), b = number_of(to);
        return a < places_ && b < places_ ? a * places_ + b : rows_;
    }
    Decision& make(Place from, Place to, std::uint64_t bytes);

    Make make_;
    int devices_ = 0, nodes_ = 1;
    std::size_t places_ = 0, rows_ = 0;
    std::unique_ptr<std::atomic<Decision*>[]> table_;
    std::mutex mutex_;
    std::deque<std::unique_ptr<Decision>> made_;
};

}  // namespace peerlane::move
