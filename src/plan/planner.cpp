#include <peerlane/planner.hpp>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/units.hpp>

#include "plan/planner_state.hpp"

namespace peerlane {
namespace {

void require_place(const Machine& machine, Place place) {
    if (place.is_device()) {
        if (place.index < 0 || place.index >= static_cast<int>(machine.devices.size())) {
            throw std::invalid_argument(fmt::format("this machine has no {}: it has {} device{}", to_string(place),
                                                    machine.devices.size(), machine.devices.size() == 1 ? "" : "s"));
        }
        return;
    }
    auto known = place.index == Place::any || machine.graph.numa_node(place.index) >= 0;
    for (auto const& device : machine.devices) {
        known = known || (device.numa && *device.numa == place.index);
    }
    if (!known) {
        throw std::invalid_argument(
            fmt::format("this machine has no {}: no such NUMA node is known", to_string(place)));
    }
}

}  // namespace

Planner::State::State(Machine m, Verdicts v, Profile p, PlannerOptions o)
    : machine(std::move(m)),
      verdicts(std::move(v)),
      profile(std::move(p)),
      options(std::move(o)),
      costs(machine, profile),
      load(costs, options.busy),
      scorer(costs, load, options.staging_bytes) {
    auto numa = -1;
    for (auto const& node : costs.machine().graph.nodes) {
        numa = node.kind == NodeKind::numa ? std::max(numa, node.index) : numa;
    }
    for (auto const& device : machine.devices) {
        numa = std::max(numa, device.numa.value_or(-1));
    }
    places = machine.devices.size() + 2 + static_cast<std::size_t>(numa);
    tables = std::vector<std::atomic<const plan::Table*>>(places * places);
}

Planner::State::~State() {
    for (auto& table : tables) {
        delete table.load();
    }
}

std::size_t Planner::State::slot(Place place) const {
    return place.is_device() ? static_cast<std::size_t>(place.index)
                             : machine.devices.size() + 1 + static_cast<std::size_t>(place.index);  // any is -1
}

void Planner::State::require(Place from, Place to) const {
    require_place(machine, from);
    require_place(machine, to);
    if (from.is_host() && to.is_host()) {
        throw std::invalid_argument("from host to host: no device takes part");
    }
}

std::vector<plan::Lane> Planner::State::lanes(Place from, Place to) const {
    return plan::lanes_between({costs, load, verdicts, options.trust_claimed, options.any_stream}, from, to);
}

const plan::Table& Planner::State::table(Place from, Place to) const {
    auto const known = [&](Place place) {
        return place.is_device() ? place.index >= 0 && place.index < static_cast<int>(machine.devices.size())
                                 : place.index >= -1 && slot(place) < places;
    };
    if (!known(from) || !known(to) || (from.is_host() && to.is_host())) {
        require(from, to);
    }
    auto& entry = tables[slot(from) * places + slot(to)];
    if (auto const* const found = entry.load(std::memory_order_acquire)) {
        return *found;
    }
    require(from, to);
    auto made = std::make_unique<const plan::Table>(scorer, lanes(from, to));
    const plan::Table* expected = nullptr;
    if (entry.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) {
        return *made.release();
    }
    return *expected;  // another thread was first
}

Planner::Planner(Machine machine, Verdicts verdicts, Profile profile, PlannerOptions options)
    : state_(std::make_unique<State>(std::move(machine), std::move(verdicts), std::move(profile), std::move(options))) {
}
Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;
Planner::~Planner() = default;

const Choice& Planner::choose(Place from, Place to, std::uint64_t bytes) const {
    return state_->table(from, to).at(bytes);
}

Plan Planner::plan(const PlanRequest& request) const {
    Plan plan{request, {}};
    for (auto const bytes : request.sizes) {
        plan.choices.push_back(explain(request.from, request.to, bytes));
    }
    return plan;
}

std::vector<PlanRange> Planner::ranges(Place from, Place to) const {
    std::vector<PlanRange> ranges;
    for (auto const& row : state_->table(from, to).rows()) {
        if (ranges.empty() || !plan::alike(ranges.back().choice.routes, row.routes)) {
            ranges.push_back({ranges.empty() ? 0 : row.bytes, row});
        }
    }
    return ranges;
}

std::optional<double> Planner::predict(const std::vector<Route>& routes, std::uint64_t bytes) const {
    std::vector<plan::Lane> lanes;
    for (auto const& route : routes) {
        lanes.push_back(
            plan::make_lane({state_->costs, state_->load, state_->verdicts, true, state_->options.any_stream},
                            plan::LaneKind::direct, route.legs));
        if (lanes.back().costs.empty()) {
            return std::nullopt;
        }
    }
    return routes.empty() ? std::nullopt : std::optional(state_->scorer.given(lanes, routes, bytes));
}

const Machine& Planner::machine() const {
    return state_->machine;
}

const Profile& Planner::profile() const {
    return state_->profile;
}

Choice choose(const Machine& machine, Place from, Place to, std::uint64_t bytes, const PlanOptions& options) {
    return make_plan(machine, {from, to, {bytes}}, options).choices.front();
}

Plan make_plan(const Machine& machine, const PlanRequest& request, const PlanOptions& options) {
    Planner const planner(machine, options.verdicts != nullptr ? *options.verdicts : Verdicts{},
                          options.profile != nullptr ? *options.profile : Profile{},
                          {options.trust_claimed, options.staging_bytes, {}, false});
    Plan plan{request, {}};
    for (auto const bytes : request.sizes) {
        plan.choices.push_back(planner.explain(request.from, request.to, bytes, options.policy));
    }
    return plan;
}

}  // namespace peerlane
