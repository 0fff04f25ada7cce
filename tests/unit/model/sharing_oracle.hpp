#pragma once
/// Random systems, and max-min rates found the slow way: one constraint at a time, everything summed anew at each step.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "model/sharing.hpp"

namespace peerlane::model {

struct OracleFlow {
    std::vector<Use> uses;
    double share = 1.0;
    double cap = Sharing::no_cap;
};

struct RandomSystem {
    std::vector<double> capacity;
    std::vector<OracleFlow> flows;
};

inline double between(std::mt19937& random, double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
}

inline OracleFlow random_flow(std::mt19937& random, int links) {
    OracleFlow flow;
    auto const uses = 1 + random() % 4;
    for (std::size_t i = 0; i < uses; ++i) {
        // Whole numbers now and then, so that links fill at the same level.
        double const weight = random() % 2 ? 1.0 : between(random, 0.1, 3.0);
        flow.uses.push_back({static_cast<int>(random() % static_cast<unsigned>(links)), weight});
    }
    if (random() % 2)
        flow.share = between(random, 0.1, 10.0);
    if (random() % 3 == 0)
        flow.cap = between(random, 0.0, 5.0);
    return flow;
}

inline RandomSystem random_system(std::uint32_t seed) {
    std::mt19937 random(seed);
    RandomSystem system;
    auto const links = 1 + random() % 12, flows = 1 + random() % 30;
    for (std::size_t i = 0; i < links; ++i) {
        system.capacity.push_back(random() % 10 == 0 ? 0.0 : random() % 2 ? 10.0 : between(random, 0.5, 50.0));
    }
    for (std::size_t i = 0; i < flows; ++i)
        system.flows.push_back(random_flow(random, static_cast<int>(links)));
    return system;
}

/// The level of every flow that still grows rises until the first constraint (link or cap) binds; every growing flow
/// under a binding constraint stops there. The cap of a flow is a link of its own that nobody else uses.
inline std::vector<double> naive_max_min(std::vector<double> capacity, std::vector<OracleFlow> flows) {
    for (OracleFlow& flow : flows) {
        if (flow.cap == Sharing::no_cap)
            continue;
        flow.uses.push_back({static_cast<int>(capacity.size()), 1.0});
        capacity.push_back(flow.cap);
    }
    std::vector<double> rate(flows.size(), 0.0);
    std::vector<bool> growing(flows.size(), true);
    double level = 0.0;
    while (std::find(growing.begin(), growing.end(), true) != growing.end()) {
        std::vector<double> growth(capacity.size(), 0.0), taken(capacity.size(), 0.0);
        for (std::size_t f = 0; f < flows.size(); ++f) {
            for (Use const& use : flows[f].uses) {
                auto const link = static_cast<std::size_t>(use.link);
                if (growing[f])
                    growth[link] += use.weight * flows[f].share;
                taken[link] += use.weight * rate[f];
            }
        }
        std::size_t first = capacity.size();
        double step = std::numeric_limits<double>::infinity();
        for (std::size_t link = 0; link < capacity.size(); ++link) {
            if (growth[link] == 0.0)
                continue;
            double const room = std::max(0.0, capacity[link] - taken[link]) / growth[link];
            if (room < step) {
                step = room;
                first = link;
            }
        }
        level += step;
        for (std::size_t f = 0; f < flows.size(); ++f) {
            if (growing[f])
                rate[f] = level * flows[f].share;
        }
        for (std::size_t f = 0; f < flows.size(); ++f) {
            for (Use const& use : flows[f].uses) {
                if (static_cast<std::size_t>(use.link) == first)
                    growing[f] = false;
            }
        }
    }
    return rate;
}

}  // namespace peerlane::model
