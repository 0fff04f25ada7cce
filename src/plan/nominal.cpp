#include "plan/nominal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "machine/nominal.hpp"
#include "machine/paths.hpp"
#include "machine/synthesize.hpp"

namespace peerlane::plan {
namespace {

constexpr double giga = 1e9;

// Efficiency of a DMA engine over signalling less line coding: h200-pair reaches 0.83 over NVLink 4 and 0.88 over PCIe
// 5; V100 0.97 over NVLink 2, 4090 0.82 over PCIe 4 (docs/architecture.md).
constexpr double fabric_efficiency = 0.83;
constexpr double pcie_efficiency = 0.87;
constexpr double kernel_efficiency = 0.93;  ///< of the copy engine: packets of 128 bytes instead of 256

// One copy, issued and waited for (h200-pair, "By size"). A kernel is not put below a pulled copy before somebody
// measured it.
constexpr double push_s = 11e-6, pull_s = 14e-6, kernel_s = 14e-6, host_leg_s = 12e-6, local_s = 10e-6;
constexpr double queued_s = 4e-6;        ///< the same behind others: h200-pair, 4.4 us a chunk
constexpr double local_gbs = 1500;       ///< read plus write of device memory, halved: one byte copied is two accesses
constexpr double local_read_gbs = 3300;  ///< of the parts of 2020 to 2023, 1555 to 4800 by their data sheets
constexpr double local_load_s = 149e-9, remote_load_s = 860e-9;  ///< h200-pair, dependent loads
constexpr double kernel_step_s = 6e-6;                           ///< a kernel behind another one

std::optional<NominalLeg> leg_of(double gbs, double fixed_s, Basis basis) {
    return NominalLeg{fixed_s, 1.0 / (gbs * giga), basis};
}

double narrowest_gbs(const Graph& graph, const std::vector<int>& way, bool& assumed) {
    auto gbs = std::numeric_limits<double>::infinity();
    for (auto const index : way) {
        auto const& link = graph.links[static_cast<std::size_t>(index)];
        assumed |= link.kind == LinkKind::pcie && !link.capacity_gbs;
        gbs = std::min(gbs, assumed_gbs(link) * (link.kind == LinkKind::pcie ? pcie_efficiency : 1.0));
    }
    return gbs;
}

}  // namespace

NominalCosts::NominalCosts(const Machine& machine) : machine_(machine) {
    if (machine_.graph.empty()) {
        machine_.graph = synthesize_graph(machine_);
    }
}

std::optional<NominalLeg> NominalCosts::leg(const Leg& leg) const {
    if (leg.from.is_device() && leg.to.is_device()) {
        return leg.from == leg.to ? leg_of(local_gbs, local_s, Basis::assumed) : peer_leg(leg);
    }
    return host_leg(leg);
}

std::optional<NominalLeg> NominalCosts::peer_leg(const Leg& leg) const {
    auto const source = leg.from.index;
    auto const destination = leg.to.index;
    auto const pushed = leg.issuer == leg.from;
    auto const kernel = leg.engine == Engine::kernel;
    auto const fixed = kernel ? kernel_s : pushed ? push_s : pull_s;
    auto const* forward = machine_.pair(source, destination);
    auto const* backward = machine_.pair(destination, source);
    if (forward == nullptr || backward == nullptr) {
        return std::nullopt;
    }
    // The rate of this side and engine if somebody measured it, else of the other side, else of the other engine.
    auto const& write = kernel ? forward->measured.write_sm_gbs : forward->measured.write_gbs;
    auto const& read = kernel ? backward->measured.read_sm_gbs : backward->measured.read_gbs;
    auto measured = pushed ? (write ? write : read) : (read ? read : write);
    auto scale = 1.0;
    if (!measured && kernel) {
        measured = forward->measured.write_gbs ? forward->measured.write_gbs : backward->measured.read_gbs;
        scale = kernel_efficiency;
    }
    if (measured && *measured > 0) {
        return leg_of(*measured * scale, fixed, Basis::measured);
    }
    scale = kernel ? kernel_efficiency : 1.0;
    auto const fabric = forward->path == PathClass::nv || forward->path == PathClass::xgmi;
    if (fabric) {
        auto const from = machine_.graph.device_node(source);
        auto const to = machine_.graph.device_node(destination);
        auto const known = forward->nominal_gbs ? forward->nominal_gbs : fabric_gbs(machine_.graph, from, to);
        auto const gbs =
            known ? *known : 25.0 * forward->nvlinks.value_or(1);  // the rate of an NVLink of generation 2 and 3
        return leg_of(gbs * fabric_efficiency * scale, fixed, known ? Basis::nominal : Basis::assumed);
    }
    auto assumed = false;
    auto const way =
        host_way(machine_.graph, machine_.graph.device_node(source), machine_.graph.device_node(destination));
    if (way.empty()) {
        return std::nullopt;
    }
    return leg_of(narrowest_gbs(machine_.graph, way, assumed) * scale, fixed,
                  assumed ? Basis::assumed : Basis::nominal);
}

std::optional<NominalLeg> NominalCosts::host_leg(const Leg& leg) const {
    auto const into_device = leg.to.is_device();
    auto const device = into_device ? leg.to.index : leg.from.index;
    auto const numa = into_device ? leg.from.index : leg.to.index;
    for (auto const& rates : machine_.host) {
        auto const& measured = into_device ? rates.to_device_gbs : rates.from_device_gbs;
        if (rates.device == device && measured && *measured > 0) {
            return leg_of(*measured, host_leg_s, Basis::measured);
        }
    }
    std::optional<NominalLeg> best;
    auto const& graph = machine_.graph;
    for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
        if (graph.nodes[node].kind != NodeKind::numa || (numa != Place::any && graph.nodes[node].index != numa)) {
            continue;
        }
        auto const at = static_cast<int>(node);
        auto const way = into_device ? host_way(graph, at, graph.device_node(device))
                                     : host_way(graph, graph.device_node(device), at);
        if (way.empty()) {
            continue;
        }
        auto assumed = false;
        auto const gbs = narrowest_gbs(graph, way, assumed);
        if (!best || 1.0 / (gbs * giga) < best->s_per_byte) {
            best = leg_of(gbs, host_leg_s, assumed ? Basis::assumed : Basis::nominal);
        }
    }
    return best;
}

std::vector<Place> NominalCosts::staging_places(int source, int destination) const {
    std::vector<Place> places;
    for (auto const device : {source, destination}) {
        auto nearest = Place::any;
        std::size_t length = 0;
        auto const& graph = machine_.graph;
        for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
            if (graph.nodes[node].kind != NodeKind::numa) {
                continue;
            }
            auto const way = host_way(graph, graph.device_node(device), static_cast<int>(node));
            if (!way.empty() && (nearest == Place::any || way.size() < length)) {
                nearest = graph.nodes[node].index;
                length = way.size();
            }
        }
        auto const place = host(nearest);
        if (std::find(places.begin(), places.end(), place) == places.end()) {
            places.push_back(place);
        }
    }
    return places;
}

LegCurve NominalCosts::curve(const Leg& leg, const NominalLeg& cost) {
    // Straight in bytes: the two ends say all.
    LegCurve curve{leg, cost.basis, {}, {}};
    for (auto const bytes : {std::uint64_t{256}, std::uint64_t{1} << 30}) {
        auto const moving = static_cast<double>(bytes) * cost.s_per_byte;
        curve.curve.points.push_back({bytes, cost.fixed_s + moving, -1});
        curve.queued.points.push_back({bytes, std::min(cost.fixed_s, queued_s) + moving, -1});
    }
    return curve;
}

std::optional<AccessCosts> NominalCosts::access(int accessor, Place place) const {
    AccessCosts costs{accessor, place, {}, {}, {}, {}, {}, {}, {}};
    auto s_per_byte = 0.0;
    if (place == gpu(accessor)) {
        costs.load_s = local_load_s;
        s_per_byte = 1 / (local_read_gbs * giga);
    } else {
        auto const found = leg({place, gpu(accessor), Engine::kernel, gpu(accessor)});
        if (!found) {
            return std::nullopt;
        }
        costs.load_s = remote_load_s;
        s_per_byte = found->s_per_byte;
    }
    for (auto const bytes : {std::uint64_t{4096}, std::uint64_t{1} << 30}) {
        costs.touches.push_back({bytes, kernel_step_s + static_cast<double>(bytes) * s_per_byte, -1});
    }
    for (auto const width : {4u, 16u}) {
        for (auto const stride : {width, 32u, 4096u}) {
            auto const moved = stride == width ? width : 32.0;
            // Scattered sectors: each packet brings 32 bytes instead of 128, local memory 64 at least.
            auto const waste = stride != 4096u ? 1.0 : place == gpu(accessor) ? 2.0 : 1.4;
            costs.reads.push_back({width, stride, width / (moved * waste * s_per_byte * giga)});
        }
    }
    return costs;
}

}  // namespace peerlane::plan

namespace peerlane {

Profile nominal_profile(const Machine& machine) {
    plan::NominalCosts const costs(machine);
    Profile profile;
    auto const add = [&](const Leg& leg) {
        if (auto const cost = costs.leg(leg)) {
            profile.legs.push_back(plan::NominalCosts::curve(leg, *cost));
        }
    };
    auto const devices = static_cast<int>(machine.devices.size());
    std::vector<Place> hosts{host()};
    for (auto const& node : costs.machine().graph.nodes) {
        if (node.kind == NodeKind::numa) {
            hosts.push_back(host(node.index));
        }
    }
    for (int a = 0; a < devices; ++a) {
        auto const near = [&](Place place) {
            if (auto access = costs.access(a, place)) {
                profile.access.push_back(*std::move(access));
            }
        };
        near(gpu(a));
        for (int b = 0; b < devices; ++b) {
            if (a == b) {
                continue;
            }
            for (auto const engine : {Engine::copy, Engine::kernel}) {
                add({gpu(a), gpu(b), engine, gpu(a)});
                add({gpu(a), gpu(b), engine, gpu(b)});
            }
            near(gpu(b));
        }
        for (auto const place : hosts) {
            add({gpu(a), place, Engine::copy, gpu(a)});
            add({place, gpu(a), Engine::copy, gpu(a)});
            near(place);
        }
    }
    return profile;
}

}  // namespace peerlane
