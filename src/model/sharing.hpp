#pragma once
/// Max-min fair sharing of directed links by flows with weights and rate caps (progressive filling), solved again only
/// for the flows that a change reaches.

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
    /// Fairness: rates grow in proportion to `share` until a link is full or the cap is reached. The id may be that of
    /// a removed flow. Uses may be empty when a cap is given.
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
    struct FlowUse {
        int link;
        double weight;
        std::uint32_t place;  ///< in LinkState::users
    };
    struct FlowState {
        std::vector<FlowUse> uses;
        double share = 1.0, cap = no_cap;
        double rate = 0.0;  ///< as published by the last solve()
        double next = 0.0;  ///< as found by the filling under way
        std::uint64_t seen = 0;
        bool alive = false, fresh = false, growing = false;
    };
    struct User {
        FlowId flow;
        std::uint32_t use;  ///< in FlowState::uses
        double weight;
    };
    struct LinkState {
        std::vector<User> users;
        double capacity = 0.0, load = 0.0;
        double left = 0.0;          ///< capacity not taken by flows whose rate is settled
        double growth = 0.0;        ///< capacity taken per unit of level by the flows that still grow
        double first_growth = 0.0;  ///< growth before any rate was settled
        double full_at = 0.0;       ///< level at which the link is full
        std::uint32_t growing = 0;
        std::uint64_t seen = 0;
    };

    std::vector<LinkState> links_;
    std::vector<FlowState> flows_;
    std::vector<FlowId> free_, dirty_flows_, changed_;
    std::vector<int> dirty_links_;
    // One connected component at a time; kept here so that a solve in the steady state allocates nothing.
    std::vector<FlowId> flows_here_, capped_;
    std::vector<int> links_here_, open_links_;
    std::uint64_t epoch_ = 0;

    const FlowState& alive(FlowId flow) const;
    std::size_t at(int link) const;
    void see_flow(FlowId flow);
    void see_link(int index);
    void collect_component();
    void start_filling();
    void fill();
    void settle(FlowState& flow, double rate);
    void refresh_growth(LinkState& link);
    void publish();
};

}  // namespace peerlane::model
