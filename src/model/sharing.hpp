#pragma once
/// Max-min fair sharing of directed links by flows with weights and rate caps (progressive filling), solved again only for the
/// flows that a change reaches.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace peerlane::model {

using FlowId = std::uint32_t;

/// A flow of rate x takes `weight` * x of the capacity of `link`.
struct Use {
    int link = 0;
    double weight = 1.0;
};

class Sharing {
  public:
    static constexpr double no_cap = std::numeric_limits<double>::infinity();

    explicit Sharing(std::vector<double> capacity);
    /// Fairness: rates grow in proportion to `share` until a link is full or the cap is reached. The id may be that of a removed
    /// flow. Uses may be empty when a cap is given.
    FlowId add(std::span<const Use> uses, double share = 1.0, double cap = no_cap);
    void remove(FlowId flow);
    void set_capacity(int link, double capacity);
    void set_cap(FlowId flow, double cap);
    /// Brings rates up to date. Returns the flows whose rate changed since the last call, new ones among them.
    std::span<const FlowId> solve();
    /// As of the last solve().
    [[nodiscard]] double rate(FlowId flow) const;
    [[nodiscard]] double load(int link) const;  ///< capacity in use as of the last solve()
    [[nodiscard]] std::size_t links() const;

  private:
    struct Flow;
    // Implementation state is the author's business: see sharing.cpp.
};

}  // namespace peerlane::model
