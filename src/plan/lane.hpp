#pragma once
/// Ways that could carry bytes between two places, one at a time or together.

#include <optional>
#include <string>
#include <vector>

#include "plan/leg_costs.hpp"
#include "plan/load.hpp"
#include "plan/trust.hpp"

namespace peerlane::plan {

enum class LaneKind : std::uint8_t { direct, staged, relay };

/// One way from end to end.
struct Lane {
    LaneKind kind = LaneKind::direct;
    std::vector<Leg> legs{};
    std::vector<LegCost> costs{};  ///< one a leg; empty when the machine's graph has no such way
    Stream load{};                 ///< one a leg
    Trust trust{};
    bool any_stream = false;  ///< the caller's stream is one of the issuer's
    [[nodiscard]] bool usable() const { return trust.refusal.empty() && !costs.empty(); }
    [[nodiscard]] Basis basis() const;
    /// One leg that goes into the caller's stream, which is taken to be one of the source, or of the destination when
    /// the source is the host.
    [[nodiscard]] bool at_home() const;
    /// Slowest leg alone, bytes/s.
    [[nodiscard]] double rate() const;
};

struct LaneContext {
    const LegCosts& costs;
    const Load& load;
    const Verdicts& verdicts;
    bool trust_claimed = false;
    bool any_stream = false;
};

/// From these legs, with what they cost and whether they may be used. `any`: what memory of any node is taken to be;
/// one node for all legs, as it is in truth.
Lane make_lane(const LaneContext& context, LaneKind kind, std::vector<Leg> legs, Place any = host());

/// All of them, in the written order of ties: fewer legs, then copy engine before kernel, then the source's side, then
/// the lower device between. Between devices: direct by either engine from either side, staged in each useful NUMA
/// node, relayed over each other device. From and to the host: direct, and over each other device. A relay comes twice
/// where the device between may issue its first leg too: a device has few copy engines, and those of the source are
/// soon all at work.
std::vector<Lane> lanes_between(const LaneContext& context, Place from, Place to);

}  // namespace peerlane::plan
