#pragma once
/// The way of each copy of an exchange, and when it comes. Not thread-safe: the mover's lock is held.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <peerlane/exchange.hpp>

#include "move/router.hpp"
#include "move/schedule.hpp"

namespace peerlane::move {

struct Flow {
    Place from, to;
    std::uint64_t bytes = 0;
    friend bool operator==(const Flow&, const Flow&) = default;
};

struct Order {
    std::vector<PlannedCopy> plan{};
    std::vector<Placed> placed{};
    std::vector<std::size_t> by_start{};  ///< numbers of the flows, soonest first
    double makespan_s = 0;
};

class Orders {
  public:
    Orders(const Driver& driver, const Planner& planner) : router_(driver, planner) {}
    /// Programs repeat themselves: what was asked lately is a lookup. The reference holds until the next call. Throws
    /// std::invalid_argument when one of the flows has no way that may be trusted.
    const Order& of(const std::vector<Flow>& flows);

  private:
    static constexpr std::size_t most_known = 8;
    struct Known {
        std::vector<Flow> flows{};
        Order order{};
    };
    [[nodiscard]] Order best(const std::vector<Flow>& flows);
    Router router_;
    std::deque<Known> known_{};  ///< latest first
};

}  // namespace peerlane::move
