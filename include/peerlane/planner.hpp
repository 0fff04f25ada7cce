#pragma once
/// Which routes carry the bytes. Pure: a machine, verdicts and a request in, a choice with its reasons out.

#include <cstdint>
#include <optional>

#include <peerlane/machine.hpp>
#include <peerlane/plan.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

enum class RoutePolicy : std::uint8_t { automatic, direct, staged };

struct PlanOptions {
    RoutePolicy policy = RoutePolicy::automatic;
    /// nullptr: nothing was proven; then only what the driver claims, and only with trust_claimed.
    const Verdicts* verdicts = nullptr;
    bool trust_claimed = false;
    std::uint64_t staging_bytes = std::uint64_t{256} << 20;  ///< most that one staged route may hold in host memory
};

/// Rates come from what the machine's pairs measured where they did, else from nominal capacities times the usual
/// efficiency of the kind of link (src/plan/nominal_cost.hpp); `why` says which. Throws std::invalid_argument for a
/// place the machine does not have (the message names it), for bytes 0 and for from == to on the host.
Choice choose(const Machine& machine, Place from, Place to, std::uint64_t bytes, const PlanOptions& options = {});
Plan make_plan(const Machine& machine, const PlanRequest& request, const PlanOptions& options = {});

/// The document peerlane.plan/1.
std::string plan_json(const Plan& plan);

}  // namespace peerlane
