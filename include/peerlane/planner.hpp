#pragma once
/// Which routes carry the bytes. Pure: a machine, verdicts, a profile and a request in; a choice with its reasons out.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <peerlane/machine.hpp>
#include <peerlane/plan.hpp>
#include <peerlane/profile.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

/// Legs of a machine that nobody measured, as a profile: what its pairs measured where the description brings it, else
/// nominal capacities times the usual efficiency of the kind of link (docs/architecture.md, "Nominal costs").
Profile nominal_profile(const Machine& machine);

enum class RoutePolicy : std::uint8_t { automatic, direct, staged, relay, split };

struct PlannerOptions {
    /// Takes the driver's word where nothing was proven.
    bool trust_claimed = false;
    std::uint64_t staging_bytes = std::uint64_t{128} << 20;  ///< most that a route's buffers at one place may hold
    /// Ways of data on which something else moves all the time.
    std::vector<std::pair<Place, Place>> busy{};
    /// The caller submits to a stream of whichever device issues the first leg. Else its stream is taken to be one of
    /// the source, or of the destination where the source is the host, and joining another costs.
    bool any_stream = false;
};

/// Sizes that are moved alike: bytes >= from, and below the `from` of the range behind.
struct PlanRange {
    std::uint64_t from = 0;
    Choice choice{};
};

/// Memory at `owner` that kernels of device `accessor` read.
struct AccessRequest {
    int accessor = 0;
    Place owner;
    std::uint64_t bytes = 0;
    int touches = 1;                                ///< times that each byte is read
    std::uint32_t scattered_bytes = 0;              ///< pieces anywhere; 0: in order
    std::optional<std::uint64_t> capacity_bytes{};  ///< room for a local copy; empty: no limit is known
};

/// Everything about moving bytes on one machine that can be decided beforehand. Safe to use from several threads.
class Planner {
  public:
    /// Legs that the profile does not hold cost what nominal_profile says; an empty profile is a nominal one.
    Planner(Machine machine, Verdicts verdicts, Profile profile, PlannerOptions options = {});
    Planner(Planner&&) noexcept;
    Planner& operator=(Planner&&) noexcept;
    ~Planner();

    /// A lookup: the prepared choice of the range that `bytes` lies in, whose routes, shares and chunks hold for
    /// `bytes` (its own `bytes` and predicted_s are those of the range's begin). No allocation, except that the first
    /// question about two places makes their table. Without routes where nothing may be trusted. The reference lives as
    /// long as the planner. Throws std::invalid_argument for a place the machine does not have.
    const Choice& choose(Place from, Place to, std::uint64_t bytes) const;
    /// The choice for exactly these bytes, with its reasons, its margin and what it beat. Throws std::invalid_argument
    /// for a place the machine does not have (the message names it), for bytes 0 and for from == to on the host.
    /// `relay_over`: the device, with RoutePolicy::relay; the best one when empty.
    Choice explain(Place from, Place to, std::uint64_t bytes, RoutePolicy policy = RoutePolicy::automatic,
                   std::optional<int> relay_over = {}) const;
    Plan plan(const PlanRequest& request) const;
    /// All sizes, neighbours of the same kind as one range.
    std::vector<PlanRange> ranges(Place from, Place to) const;
    /// Whether a kernel should read in place (`access` "remote"), copy first ("copy"), or copy and keep the copy
    /// because it fits ("keep"). The choice is that of the copy; predicted_s is that of the answer.
    Choice access(const AccessRequest& request) const;
    /// Seconds that these routes take together, by the model. Empty when a leg has no way.
    std::optional<double> predict(const std::vector<Route>& routes, std::uint64_t bytes) const;
    [[nodiscard]] const Machine& machine() const;
    [[nodiscard]] const Profile& profile() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// One question, without a planner kept.
struct PlanOptions {
    RoutePolicy policy = RoutePolicy::automatic;
    /// nullptr: nothing was proven; then only what the driver claims, and only with trust_claimed.
    const Verdicts* verdicts = nullptr;
    bool trust_claimed = false;
    std::uint64_t staging_bytes = std::uint64_t{128} << 20;  ///< most that a route's buffers at one place may hold
    const Profile* profile = nullptr;                        ///< nullptr: nominal
};

/// As Planner::explain.
Choice choose(const Machine& machine, Place from, Place to, std::uint64_t bytes, const PlanOptions& options = {});
Plan make_plan(const Machine& machine, const PlanRequest& request, const PlanOptions& options = {});

/// Verdicts that say of each leg which the profile measured that it was right: only proven legs are measured.
Verdicts proven_by(const Profile& profile);

/// A plan with what it was made from.
struct PlanRecord {
    Plan plan{};
    bool simulated = false;
    std::string machine{};
    std::string costs{};        ///< "measured", "stored", "given", "nominal"
    std::string profile_key{};  ///< empty: none
    bool trust_claimed = false;
    std::vector<std::pair<Place, Place>> busy{};
    std::optional<AccessRequest> access{};  ///< when that was asked
    std::vector<PlanRange> ranges{};        ///< all sizes; empty where they were not asked for
};

/// The document peerlane.plan/1.
std::string plan_json(const PlanRecord& record);
std::string plan_json(const Plan& plan);

}  // namespace peerlane
