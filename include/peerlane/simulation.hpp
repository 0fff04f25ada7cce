#pragma once
/// How long a set of concurrent transfers takes on a machine, which link limits it, and what another way would give.
/// JSON form `peerlane.simulation/1`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <peerlane/fault.hpp>
#include <peerlane/plan.hpp>
#include <peerlane/simulated.hpp>
#include <peerlane/traffic.hpp>

namespace peerlane {

/// driver: each flow is one copy call of the runtime, with peer access enabled wherever it is claimed. library: peer
/// copies over a fabric or PCIe switches, else chunks through host memory. peerlane: our plans, each flow knowing of
/// the others; never worse than `driver` on the described machine.
enum class Strategy : std::uint8_t { driver, library, peerlane };
const char* to_string(Strategy strategy);
std::optional<Strategy> parse_strategy(const std::string& word);

struct FlowResult {
    Flow flow;
    double start_s = 0;               ///< submitted, from the start of the first phase
    std::optional<double> began_s{};  ///< first byte
    std::optional<double> end_s{};    ///< last byte; empty: it never ended (a fault of the machine)
    int plan = 0;                     ///< index into Simulation::plans
    /// Bytes over the time from submission to the end, GB/s.
    [[nodiscard]] std::optional<double> gbs() const;
};

/// Part of a link's capacity that is in use from this time on.
struct LoadStep {
    double time_s = 0;
    double fraction = 0;
    friend bool operator==(const LoadStep&, const LoadStep&) = default;
};

/// One direction of a link, or memory that flows share.
struct LinkLoad {
    std::string name;  ///< "gpu0>bridge:0000:07:00.0", "memory of gpu0"
    double bytes = 0;  ///< that crossed it; twice where a copy reads and writes the same memory
    double capacity_gbs = 0;
    double utilization = 0;  ///< bytes over what it could have carried during the makespan
    /// By time, from 0 on; 128 steps at most, of which short ones are means. Empty unless asked for.
    std::vector<LoadStep> over_time{};
    friend bool operator==(const LinkLoad&, const LinkLoad&) = default;
};

/// Load of a link from this time on.
struct LoadSample {
    double time_s = 0;
    int link = 0;  ///< index into Simulation::links
    double gbs = 0;
};

/// The same flows, were the links that limit them twice as fast.
struct Relief {
    std::vector<std::string> links;  ///< those as loaded as the bottleneck
    double makespan_s = 0;
    double gain = 0;  ///< makespan now over makespan then
};

struct Simulation {
    Strategy strategy = Strategy::driver;
    std::string machine;                    ///< its name, or the file it was read from
    std::string note;                       ///< how the strategy came to its plans; may be empty
    std::vector<std::vector<Route>> plans;  ///< ways that the flows take
    std::vector<FlowResult> flows;          ///< in the order given
    double makespan_s = 0;                  ///< from the first submission to the last byte
    double bytes = 0;                       ///< of all flows
    std::vector<LinkLoad> links;            ///< those that carried anything
    std::string bottleneck;                 ///< the link with the highest utilization; empty when nothing moved
    std::optional<Relief> relief{};
    std::vector<LoadSample> loads{};  ///< by time
    std::string failure;              ///< what went wrong, where a flow never ended
    std::uint64_t events = 0;         ///< transfers that the engine carried out (chunks count)
    [[nodiscard]] bool complete() const { return failure.empty(); }
    [[nodiscard]] double gbs() const { return makespan_s > 0 ? bytes / makespan_s / 1e9 : 0; }
};

struct SimulationOptions {
    Strategy strategy = Strategy::driver;
    std::vector<Fault> faults{};
    bool relief = true;
    bool symmetry = true;    ///< of placements: false simulates every set
    bool loads = false;      ///< keep samples of link loads
    bool over_time = false;  ///< keep the loads of each link over time
};

/// Throws what simulate() throws for flows.
void check_flows(const SimulatedMachine& machine, const std::vector<Flow>& flows);

/// Throws std::invalid_argument for a place that the machine does not have, for a flow without a device or without
/// bytes, and for one larger than the memory at either end.
Simulation simulate(const SimulatedMachine& machine, const std::vector<Flow>& flows,
                    const SimulationOptions& options = {});

/// The document; several strategies of the same flows: the first is the document, the others stand under `compared`.
std::string simulation_json(const std::vector<Simulation>& simulations, const std::string& traffic);
/// A row for each flow: src,dst,bytes,start_s,end_s,gbs and, of several simulations, strategy; cells of a flow that
/// never ended are empty. read_flows_csv reads the flows back (of the first strategy).
std::string simulation_csv(const std::vector<Simulation>& simulations);
/// For people: makespan, bottleneck, the most loaded links as bars, the slowest flows.
std::string simulation_text(const std::vector<Simulation>& simulations, bool markdown = false);
/// Chrome's trace event format (Perfetto opens it): a track for each device with its flows, a counter for each link.
std::string simulation_trace(const Simulation& simulation);

/// A set of devices and how long the pattern takes among them.
struct Placement {
    std::vector<int> devices;
    double makespan_s = 0;
    double gbs = 0;
    std::string bottleneck;
    double utilization = 0;
};

/// Every set of `count` of these devices, fastest first. Sets that are images of each other are simulated once, except
/// with faults and by our plans, which may lead over devices outside of the set; sets that take equally long stand in
/// the order of their numbers. Throws std::invalid_argument for a count below 2 or above the number of devices, more
/// than 16 devices, and what pattern_flows throws.
std::vector<Placement> rank_placements(const SimulatedMachine& machine, const std::vector<int>& devices, int count,
                                       const std::string& pattern, const PatternOptions& pattern_options,
                                       const SimulationOptions& options = {});
std::string placement_json(const std::vector<Placement>& ranked, const std::string& machine, const std::string& traffic,
                           Strategy strategy);
std::string placement_text(const std::vector<Placement>& ranked, const Machine& machine);

}  // namespace peerlane
