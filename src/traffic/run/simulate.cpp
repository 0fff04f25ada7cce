// Strategies, what relief would give, and placement.

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/simulation.hpp>
#include <peerlane/units.hpp>

#include "driver/sim/figures.hpp"
#include "traffic/run/alike.hpp"
#include "traffic/run/carry.hpp"
#include "traffic/run/page_lists.hpp"

namespace peerlane {
namespace {

using traffic::Plans;

/// Links this close to the most loaded one are relieved together with it: of equal ones, one alone gives nothing.
constexpr double as_loaded = 0.98;
constexpr double relief_factor = 2;
/// A plan that is better by less is not worth leaving the driver's way.
constexpr double worth = 1e-4;
/// More flows than this are not planned one by one, nor is relief tried.
constexpr std::size_t many_flows = 20'000;
/// The numbers and places of those that are under way stand in memory, 32 bytes each.
constexpr std::uint64_t most_pages = std::uint64_t{1} << 24;
constexpr std::size_t most_placement_devices = 16;

constexpr std::uint64_t seed = 1;

sim::Truth truth_of(const SimulatedMachine& machine, const std::vector<Fault>& faults) {
    return sim::make_truth(machine.machine(), machine.figures(), {.faults = faults, .seed = seed});
}

std::string name_of(const Machine& machine) {
    auto const& origin = machine.origin;
    return !origin.name.empty() ? origin.name : origin.files.empty() ? std::string() : origin.files.front();
}

void check_place(const SimulatedMachine& simulated, Place place, std::uint64_t bytes) {
    auto const& machine = simulated.machine();
    auto const refuse = [&](std::uint64_t room) {
        if (bytes > room) {
            throw std::invalid_argument(fmt::format("a flow of {}: more than the memory of {}, {}", size_text(bytes),
                                                    to_string(place), size_text(room)));
        }
    };
    if (place.is_host()) {
        refuse(static_cast<std::uint64_t>(simulated.figures().host_memory_bytes));
        return;
    }
    auto const* const device = machine.device(place.index);
    if (device == nullptr) {
        throw std::invalid_argument(
            fmt::format("this machine has no {}: it has {}", to_string(place), machine.devices.size()));
    }
    refuse(device->memory_bytes.value_or(static_cast<std::uint64_t>(simulated.figures().device_memory_bytes)));
}

void check(const SimulatedMachine& machine, const std::vector<Flow>& flows) {
    std::uint64_t pages = 0;
    for (auto const& flow : flows) {
        check_place(machine, flow.src, flow.bytes);
        check_place(machine, flow.dst, flow.bytes);
        if (flow.src.is_host() && flow.dst.is_host()) {
            throw std::invalid_argument("a flow from host to host: no device takes part");
        }
        if (flow.bytes == 0) {
            throw std::invalid_argument("a flow of 0 bytes: nothing to move");
        }
        if (flow.page != 0) {
            if (flow.bytes % flow.page != 0) {
                throw std::invalid_argument(fmt::format("a flow of {}: no whole number of pages of {}",
                                                        size_text(flow.bytes), size_text(flow.page)));
            }
            pages += flow.bytes / flow.page;
        }
    }
    if (pages > most_pages) {
        throw std::invalid_argument(fmt::format("{} pages in all: {} at most are simulated", pages, most_pages));
    }
}

struct Candidate {
    const char* words;
    Plans plans;
};

/// What our planner would try. It knows the machine as described, not what is wrong with it.
std::vector<Candidate> candidates(const SimulatedMachine& machine, const sim::Truth& described,
                                  const std::vector<Flow>& flows) {
    std::vector<Candidate> all;
    all.push_back({"each flow is the driver's copy: nothing else tried is faster", traffic::driver_plans(flows)});
    auto const lists = std::count_if(flows.begin(), flows.end(), [](const Flow& flow) { return flow.page != 0; });
    if (lists != 0) {
        all.push_back({"each list of pages by one kernel, other flows as the driver copies them",
                       traffic::with_lists(traffic::driver_plans(flows), described, flows)});
    }
    if (static_cast<std::size_t>(lists) == flows.size()) {
        return all;
    }
    if (machine.machine().devices.size() <= 64 && flows.size() <= many_flows) {
        all.push_back({"each flow planned as if alone", traffic::planned_alone(machine.machine(), flows)});
    }
    all.push_back({"each flow on the way that loads the links least", traffic::balanced_plans(described, flows, 1)});
    if (flows.size() <= many_flows / 8) {
        all.push_back(
            {"flows split over the ways that load the links least", traffic::balanced_plans(described, flows, 8)});
    }
    for (std::size_t i = 1; i < all.size() && lists != 0; ++i) {
        all[i].plans = traffic::with_lists(std::move(all[i].plans), described, flows);
    }
    return all;
}

traffic::Kept kept_by(const SimulationOptions& options) {
    return {options.loads, options.over_time};
}

Simulation carry_peerlane(const SimulatedMachine& machine, const sim::Truth& truth, const std::vector<Flow>& flows,
                          const SimulationOptions& options) {
    auto const described = truth_of(machine, {});
    auto all = candidates(machine, described, flows);
    std::size_t best = 0;
    auto least = 0.0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const tried = traffic::carry(described, flows, all[i].plans).makespan_s;
        if (i == 0 || tried < least * (1 - worth)) {
            least = tried;
            best = i;
        }
    }
    auto simulation = traffic::carry(truth, flows, all[best].plans, kept_by(options));
    simulation.note = all[best].words;
    return simulation;
}

Plans fixed_plans(const SimulatedMachine& machine, const std::vector<Flow>& flows, Strategy strategy) {
    return strategy == Strategy::library ? traffic::library_plans(machine.machine(), flows)
                                         : traffic::driver_plans(flows);
}

/// The plans that a simulation was carried out with.
Plans plans_of(const Simulation& simulation) {
    Plans plans{simulation.plans, {}};
    for (auto const& flow : simulation.flows) {
        plans.of_flow.push_back(flow.plan);
    }
    return plans;
}

std::optional<Relief> relief_of(const sim::Truth& truth, const std::vector<Flow>& flows, const Simulation& now) {
    if (now.bottleneck.empty() || !now.complete() || flows.size() > many_flows) {
        return std::nullopt;
    }
    double highest = 0;
    for (auto const& link : now.links) {
        highest = std::max(highest, link.utilization);
    }
    auto relieved = truth;
    auto const names = traffic::link_names(truth);
    Relief relief;
    for (auto const& link : now.links) {
        if (link.utilization >= highest * as_loaded) {
            relief.links.push_back(link.name);
            auto const found = std::find(names.begin(), names.end(), link.name) - names.begin();
            relieved.network.capacity[static_cast<std::size_t>(found)] *= relief_factor;
        }
    }
    relief.makespan_s = traffic::carry(relieved, flows, plans_of(now)).makespan_s;
    relief.gain = relief.makespan_s > 0 ? now.makespan_s / relief.makespan_s : 1;
    return relief;
}

Simulation simulate_on(const SimulatedMachine& machine, const sim::Truth& truth, const std::vector<Flow>& flows,
                       const SimulationOptions& options) {
    if (options.strategy == Strategy::library &&
        std::any_of(flows.begin(), flows.end(), [](const Flow& flow) { return flow.page != 0; })) {
        throw std::invalid_argument("the strategy library has no lists of pages: driver or peerlane");
    }
    auto simulation =
        options.strategy == Strategy::peerlane
            ? carry_peerlane(machine, truth, flows, options)
            : traffic::carry(truth, flows, fixed_plans(machine, flows, options.strategy), kept_by(options));
    simulation.strategy = options.strategy;
    simulation.machine = name_of(machine.machine());
    if (options.relief) {
        simulation.relief = relief_of(truth, flows, simulation);
    }
    return simulation;
}

/// The next set of `count` out of `total` in the order of numbers; false after the last.
bool next_set(std::vector<int>& chosen, int total) {
    auto const count = static_cast<int>(chosen.size());
    for (int i = count - 1; i >= 0; --i) {
        auto& slot = chosen[static_cast<std::size_t>(i)];
        if (slot < total - count + i) {
            ++slot;
            for (int j = i + 1; j < count; ++j) {
                chosen[static_cast<std::size_t>(j)] = slot + j - i;
            }
            return true;
        }
    }
    return false;
}

}  // namespace

std::optional<double> FlowResult::gbs() const {
    if (!end_s || *end_s <= start_s) {
        return std::nullopt;
    }
    return static_cast<double>(flow.bytes) / (*end_s - start_s) / 1e9;
}

void check_flows(const SimulatedMachine& machine, const std::vector<Flow>& flows) {
    check(machine, flows);
}

Simulation simulate(const SimulatedMachine& machine, const std::vector<Flow>& flows, const SimulationOptions& options) {
    check(machine, flows);
    return simulate_on(machine, truth_of(machine, options.faults), flows, options);
}

std::vector<Placement> rank_placements(const SimulatedMachine& machine, const std::vector<int>& devices, int count,
                                       const std::string& pattern, const PatternOptions& pattern_options,
                                       const SimulationOptions& options) {
    auto const total = static_cast<int>(devices.size());
    if (devices.size() > most_placement_devices) {
        throw std::invalid_argument(
            fmt::format("every set is tried: of {} devices at most, here are {}", most_placement_devices, total));
    }
    if (count < 2 || count > total) {
        throw std::invalid_argument(fmt::format("a set has 2 to {} devices, not {}", total, count));
    }
    auto const truth = truth_of(machine, options.faults);
    auto quick = options;
    quick.relief = quick.loads = quick.over_time = false;
    std::vector<Placement> ranked;
    std::vector<int> chosen(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        chosen[static_cast<std::size_t>(i)] = i;
    }
    auto const symmetric = options.symmetry && options.strategy != Strategy::peerlane && options.faults.empty();
    auto const names = traffic::link_names(truth);
    traffic::SetShapes shapes(truth);
    struct Known {
        Placement placement;
        std::string bottleneck;  ///< words of its shape
    };
    std::map<std::string, Known> known;
    do {
        Placement placement;
        for (auto const index : chosen) {
            placement.devices.push_back(devices[static_cast<std::size_t>(index)]);
        }
        auto const flows = pattern_flows(pattern, machine.machine(), placement.devices, pattern_options);
        check(machine, flows);
        auto const shape = symmetric ? shapes.of(placement.devices, flows) : traffic::SetShape{};
        if (auto const image = known.find(shape.key); !shape.key.empty() && image != known.end()) {
            auto const link = std::find(shape.links.begin(), shape.links.end(), image->second.bottleneck);
            auto set = std::move(placement.devices);
            placement = image->second.placement;
            placement.devices = std::move(set);
            placement.bottleneck = names[static_cast<std::size_t>(link - shape.links.begin())];
            ranked.push_back(std::move(placement));
            continue;
        }
        auto const simulation = simulate_on(machine, truth, flows, quick);
        placement.makespan_s = simulation.makespan_s;
        placement.gbs = simulation.gbs();
        placement.bottleneck = simulation.bottleneck;
        for (auto const& link : simulation.links) {
            placement.utilization = std::max(placement.utilization, link.utilization);
        }
        auto const bottleneck = std::find(names.begin(), names.end(), placement.bottleneck) - names.begin();
        if (!shape.key.empty() && !shape.links.at(static_cast<std::size_t>(bottleneck)).empty()) {
            known.emplace(shape.key, Known{placement, shape.links[static_cast<std::size_t>(bottleneck)]});
        }
        ranked.push_back(std::move(placement));
    } while (next_set(chosen, total));
    std::stable_sort(ranked.begin(), ranked.end(), [](const Placement& a, const Placement& b) {
        return std::llround(a.makespan_s * 1e12) <
               std::llround(b.makespan_s * 1e12);  // equal but for rounding: as it was
    });
    return ranked;
}

}  // namespace peerlane
