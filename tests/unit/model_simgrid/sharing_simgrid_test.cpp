// SimGrid as an oracle: flows of equal share over links, with caps, in 1,000 systems that share nothing.
//
// Its solver's headers are not installed, so the flows run on a platform of its own: constant bandwidth, no latency, no
// corrections for TCP. What a flow has moved after one second is its rate. It knows no weights and no shares; those
// have the oracle of unit/model.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <simgrid/s4u.hpp>

#include "model/sharing.hpp"

namespace peerlane::model {
namespace {

namespace s4u = simgrid::s4u;

constexpr int systems = 1000;
/// Rates here are bytes/s and of this order, so that SimGrid's absolute thresholds do not matter.
constexpr double unit = 1e9;
constexpr double plenty = 1e15;

struct Flow {
    std::vector<int> links;
    double cap = Sharing::no_cap;
    double expected = 0.0;
    s4u::CommPtr comm{};
};

struct System {
    std::vector<double> capacity;
    std::vector<Flow> flows;
};

System random_system(std::uint32_t seed) {
    std::mt19937 random(seed);
    auto const between = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    };
    System system;
    auto const links = 1 + random() % 10, flows = 1 + random() % 15;
    for (std::size_t i = 0; i < links; ++i)
        system.capacity.push_back((random() % 2 ? 10.0 : between(1.0, 50.0)) * unit);
    for (std::size_t i = 0; i < flows; ++i) {
        Flow flow;
        for (std::size_t link = 0; link < links; ++link) {
            if (random() % 3 == 0)
                flow.links.push_back(static_cast<int>(link));
        }
        if (flow.links.empty())
            flow.links.push_back(static_cast<int>(random() % links));
        if (random() % 3 == 0)
            flow.cap = between(0.1, 5.0) * unit;
        system.flows.push_back(flow);
    }
    return system;
}

/// A sender and a receiver for each flow, and the links between them.
void add_platform(s4u::NetZone* root, const System& system, int number) {
    auto const prefix = "s" + std::to_string(number) + "_";
    auto* const zone = s4u::create_full_zone(prefix)->set_parent(root);
    std::vector<s4u::Link*> links;
    for (std::size_t i = 0; i < system.capacity.size(); ++i) {
        links.push_back(
            zone->create_link(prefix + "l" + std::to_string(i), system.capacity[i])->set_latency(0)->seal());
    }
    for (std::size_t i = 0; i < system.flows.size(); ++i) {
        auto* const from = zone->create_host(prefix + "f" + std::to_string(i), 1e9)->seal();
        auto* const to = zone->create_host(prefix + "t" + std::to_string(i), 1e9)->seal();
        std::vector<s4u::LinkInRoute> route;
        for (int const link : system.flows[i].links)
            route.emplace_back(links[static_cast<std::size_t>(link)]);
        // A rate set on such a transfer is ignored by SimGrid 3.32: a cap is a link of its own there.
        if (system.flows[i].cap != Sharing::no_cap) {
            route.emplace_back(
                zone->create_link(prefix + "c" + std::to_string(i), system.flows[i].cap)->set_latency(0)->seal());
        }
        zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
    }
    zone->seal();
}

void solve_ours(System& system) {
    Sharing sharing(system.capacity);
    std::vector<FlowId> ids;
    for (Flow const& flow : system.flows) {
        std::vector<Use> uses;
        for (int const link : flow.links)
            uses.push_back({link});
        ids.push_back(sharing.add(uses, 1.0, flow.cap));
    }
    sharing.solve();
    for (std::size_t i = 0; i < ids.size(); ++i)
        system.flows[i].expected = sharing.rate(ids[i]);
}

void run_and_compare(std::vector<System>& all) {
    for (std::size_t s = 0; s < all.size(); ++s) {
        auto const prefix = "s" + std::to_string(s) + "_";
        for (std::size_t i = 0; i < all[s].flows.size(); ++i) {
            auto& flow = all[s].flows[i];
            // It starts by itself once both ends are known.
            flow.comm = s4u::Comm::sendto_init();
            flow.comm->set_payload_size(static_cast<std::uint64_t>(plenty));
            flow.comm->set_source(s4u::Host::by_name(prefix + "f" + std::to_string(i)));
            flow.comm->set_destination(s4u::Host::by_name(prefix + "t" + std::to_string(i)));
        }
    }
    s4u::this_actor::sleep_for(1.0);
    std::vector<double> before;
    for (auto const& system : all) {
        for (auto const& flow : system.flows)
            before.push_back(flow.comm->get_remaining());
    }
    s4u::this_actor::sleep_for(1.0);
    std::size_t at = 0;
    for (std::size_t s = 0; s < all.size(); ++s) {
        for (std::size_t i = 0; i < all[s].flows.size(); ++i) {
            auto const& flow = all[s].flows[i];
            double const moved = before[at++] - flow.comm->get_remaining();
            EXPECT_NEAR(flow.expected, moved, 1e-6 * std::max(flow.expected, moved))
                << "seed " << s + 1 << ", flow " << i;
        }
    }
    for (auto& system : all) {
        for (auto& flow : system.flows)
            flow.comm->cancel();
    }
}

TEST(SharingAgainstSimGrid, RatesAgreeOnAThousandSystems) {
    std::vector<std::string> arguments{"test",
                                       "--cfg=network/model:CM02",
                                       "--cfg=network/crosstraffic:0",
                                       "--cfg=network/TCP-gamma:0",
                                       "--cfg=network/weight-S:0",
                                       "--cfg=network/bandwidth-factor:1",
                                       "--cfg=network/latency-factor:1",
                                       "--cfg=maxmin/precision:1e-9",
                                       "--log=root.thresh:critical"};
    std::vector<char*> pointers;
    for (auto& argument : arguments)
        pointers.push_back(argument.data());
    int count = static_cast<int>(pointers.size());
    s4u::Engine engine(&count, pointers.data());
    auto* const root = s4u::create_full_zone("root");
    std::vector<System> all;
    for (int s = 0; s < systems; ++s) {
        all.push_back(random_system(static_cast<std::uint32_t>(s) + 1));
        add_platform(root, all.back(), s);
        solve_ours(all.back());
    }
    root->seal();
    s4u::Actor::create("runner", s4u::Host::by_name("s0_f0"), [&all] { run_and_compare(all); });
    engine.run();
    EXPECT_GE(s4u::Engine::get_clock(), 2.0) << "the flows were not run";
}

}  // namespace
}  // namespace peerlane::model
