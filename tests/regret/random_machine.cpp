#include <random>

#include <fmt/format.h>
#include <peerlane/named.hpp>

#include "regret/regret.hpp"

namespace peerlane::regret {
namespace {

/// The same numbers wherever this is compiled: the distributions of the standard library are not specified that far.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15ULL + 1) {}
    std::size_t below(std::size_t n) { return engine_() % n; }
    bool chance(double part) { return real() < part; }
    double between(double low, double high) { return low + (high - low) * real(); }
    template <class T, std::size_t N>
    const T& of(const T (&values)[N]) {
        return values[below(N)];
    }

  private:
    double real() { return static_cast<double>(engine_() >> 11) / 9007199254740992.0; }
    std::mt19937_64 engine_;
};

std::string description(Dice& dice) {
    constexpr int counts[] = {2, 2, 4, 4, 8};
    auto const gpus = dice.of(counts);
    auto const sockets = gpus > 2 && dice.chance(0.5) ? 2 : 1;
    auto const generation = 3 + static_cast<int>(dice.below(3));
    auto text = fmt::format("sim:gpu={},socket={}", gpus, sockets);
    if (dice.chance(0.5)) {
        text += fmt::format(",host={}", sockets * 2);
    }
    if (gpus > 2 && dice.chance(0.4)) {
        text += fmt::format(",switch={}", sockets * 2);
    }
    text += fmt::format(",link=gen{}x{}", generation, dice.chance(0.8) ? 16 : 8);
    constexpr double rates[] = {25, 25, 26.5, 50};
    auto const rate = dice.of(rates);
    switch (dice.below(6)) {
        case 0:
            text += fmt::format(",nvlink=pairs:{}@{}GB/s", 1 + dice.below(4), rate);
            break;
        case 1:
            text += fmt::format(",nvlink={}:{}@{}GB/s", gpus > 2 ? "ring" : "mesh", 1 + dice.below(2), rate);
            break;
        case 2:
            text += fmt::format(",nvlink=mesh:{}@{}GB/s", 1 + dice.below(2), rate);
            break;
        case 3:
            text += fmt::format(",nvlink=switch:{}@{}GB/s", 6 + 6 * dice.below(3), rate);
            break;
        case 4:
            text += gpus == 8 ? fmt::format(",nvlink=cube:1@{}GB/s", rate) : ",xgmi=mesh:1@64GB/s";
            break;
        default:
            break;
    }
    if (dice.chance(0.15)) {
        text += ",p2p=no";
    }
    return text;
}

}  // namespace

Trial random_trial(std::uint64_t seed) {
    Dice dice(seed);
    auto const text = description(dice);
    Trial trial{fmt::format("{} seed {}", text, seed), load_machine(text), {}};
    trial.options.seed = seed;
    auto& effects = trial.options.effects;
    effects.jitter = dice.between(0, 0.02);
    effects.arbitration = dice.chance(0.5) ? dice.between(0, 0.08) : 0;
    auto const& machine = trial.machine.machine();
    auto const devices = static_cast<int>(machine.devices.size());
    if (dice.chance(0.3)) {
        auto const first = static_cast<int>(dice.below(static_cast<std::size_t>(devices / 2))) * 2;
        effects.shared_ports.push_back({{first, first + 1}, dice.between(8, 80)});
    }
    if (!machine.graph.links.empty() && dice.chance(0.3)) {
        auto const& link = machine.graph.links[dice.below(machine.graph.links.size())];
        auto const capacity = link.capacity_gbs.value_or(30);
        effects.slow_links.push_back({machine.graph.nodes[static_cast<std::size_t>(link.from)].name,
                                      machine.graph.nodes[static_cast<std::size_t>(link.to)].name,
                                      capacity * dice.between(0.2, 0.7)});
    }
    if (dice.chance(0.2)) {
        effects.write_collapse_gbs = dice.between(1, 10);
    }
    return trial;
}

}  // namespace peerlane::regret
