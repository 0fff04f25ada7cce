// Effects that nobody told of, drawn from a seed.

#include <algorithm>
#include <random>
#include <stdexcept>

#include <peerlane/simulated.hpp>

#include "machine/nominal.hpp"
#include "machine/synthesize.hpp"

namespace peerlane {
namespace {

/// The same on every platform, which the distributions of <random> are not.
class Draw {
  public:
    explicit Draw(std::uint64_t seed) : engine_(seed) {}
    double between(double low, double high) {
        return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
    }
    int below(int count) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(count)); }

  private:
    std::mt19937_64 engine_;
};

/// Of those that leave a device.
const Link* fastest_link(const Graph& graph, int device) {
    auto const node = graph.device_node(device);
    const Link* best = nullptr;
    for (auto const& link : graph.links) {
        if (link.from == node && (best == nullptr || assumed_gbs(link) > assumed_gbs(*best))) {
            best = &link;
        }
    }
    return best;
}

}  // namespace

SimEffects hidden_effects(const Machine& machine, std::uint64_t seed) {
    auto const devices = static_cast<int>(machine.devices.size());
    if (devices == 0) {
        throw std::invalid_argument("hidden_effects: the machine has no devices");
    }
    auto const graph = machine.graph.empty() ? synthesize_graph(machine) : machine.graph;
    Draw draw(seed);
    SimEffects effects;
    effects.jitter = draw.between(0.01, 0.05);
    effects.arbitration = draw.between(0.1, 0.5);
    effects.engines = 2 + draw.below(2);
    auto const first = draw.below(devices);
    if (auto const* const link = fastest_link(graph, first); link != nullptr && devices > 1) {
        auto const second = (first + 1 + draw.below(devices - 1)) % devices;
        effects.shared_ports.push_back({{first, second}, draw.between(0.9, 1.4) * assumed_gbs(*link)});
    }
    if (auto const* const link = fastest_link(graph, draw.below(devices))) {
        auto const& nodes = graph.nodes;
        effects.slow_links.push_back({nodes[static_cast<std::size_t>(link->from)].name,
                                      nodes[static_cast<std::size_t>(link->to)].name,
                                      draw.between(0.33, 0.67) * assumed_gbs(*link)});
    }
    if (draw.below(2) == 0) {
        effects.write_collapse_gbs = draw.between(2.0, 15.0);
    }
    return effects;
}

}  // namespace peerlane
