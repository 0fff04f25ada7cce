#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <peerlane/named.hpp>
#include <peerlane/simulation.hpp>
#include <peerlane/units.hpp>

namespace peerlane {
namespace {

using Json = nlohmann::json;

std::vector<Simulation> two_strategies() {
    auto const machine = load_machine("dgx-1v");
    auto const flows = pattern_flows("shift:3", machine.machine(), {0, 1, 2, 3, 4, 5, 6, 7}, {.bytes = 4 * MiB});
    return {simulate(machine, flows, {.strategy = Strategy::driver, .loads = true}),
            simulate(machine, flows, {.strategy = Strategy::peerlane, .relief = false})};
}

TEST(SimulationJson, HasWhatTheDesignNames) {
    auto const simulations = two_strategies();
    auto const document = Json::parse(simulation_json(simulations, "shift \"3\"\n"));
    EXPECT_EQ(document["schema"], "peerlane.simulation/1");
    EXPECT_EQ(document["simulated"], true);
    EXPECT_EQ(document["machine"], "dgx-1v");
    EXPECT_EQ(document["traffic"], "shift \"3\"\n");
    EXPECT_EQ(document["strategy"], "driver");
    EXPECT_EQ(document["makespan_s"].get<double>(), simulations[0].makespan_s);
    ASSERT_EQ(document["flows"].size(), 8U);
    auto const& flow = document["flows"][2];
    EXPECT_EQ(flow["src"], 2);
    EXPECT_EQ(flow["dst"], 5);
    EXPECT_EQ(flow["bytes"], 4 * MiB);
    EXPECT_EQ(flow["start_s"], 0.0);
    EXPECT_EQ(flow["end_s"].get<double>(), *simulations[0].flows[2].end_s);
    EXPECT_NEAR(flow["gbs"].get<double>() * flow["end_s"].get<double>() * 1e9, 4.0 * MiB, 1);
    ASSERT_EQ(document["links"].size(), simulations[0].links.size());
    std::set<std::string> names;
    for (auto const& link : document["links"]) {
        EXPECT_TRUE(names.insert(link["name"]).second) << link["name"];
        EXPECT_GT(link["bytes"].get<double>(), 0);
        EXPECT_LE(link["utilization"].get<double>(), 1 + 1e-9);
    }
    EXPECT_EQ(names.count(document["bottleneck"]), 1U);
    EXPECT_GE(document["relief"]["gain"].get<double>(), 1.0);
    ASSERT_EQ(document["compared"].size(), 1U);
    EXPECT_EQ(document["compared"][0]["strategy"], "peerlane");
    EXPECT_EQ(document["compared"][0]["flows"].size(), 8U);
    EXPECT_TRUE(document["compared"][0]["relief"].is_null());
}

TEST(SimulationJson, AFlowThatNeverEndsIsNull) {
    auto const machine = load_machine("h200-pair");
    auto const simulation = simulate(machine, {{host(0), gpu(1), 4096}, {gpu(0), gpu(1), 4096}},
                                     {.faults = {parse_fault("push:0:1=hang")}});
    auto const document = Json::parse(simulation_json({simulation}, "t"));
    EXPECT_EQ(document["flows"][0]["src"], "host:0");
    EXPECT_TRUE(document["flows"][1]["end_s"].is_null());
    EXPECT_TRUE(document["flows"][1]["gbs"].is_null());
    EXPECT_TRUE(document["makespan_s"].is_null());
    EXPECT_FALSE(document["failure"].is_null());
}

TEST(SimulationTrace, SlicesOfATrackFollowEachOtherAndCountersAreLinks) {
    auto const simulation = two_strategies().front();
    auto const document = Json::parse(simulation_trace(simulation));
    std::map<int, std::string> tracks;
    std::map<int, double> free_at;
    std::set<std::string> counters;
    int slices = 0;
    for (auto const& event : document["traceEvents"]) {
        auto const phase = event["ph"].get<std::string>();
        if (phase == "M" && event["name"] == "thread_name") {
            tracks[event["tid"]] = event["args"]["name"];
        } else if (phase == "X") {
            ++slices;
            EXPECT_EQ(tracks.count(event["tid"]), 1U);
            EXPECT_GE(event["ts"].get<double>(), free_at[event["tid"]] - 1e-6);
            EXPECT_GT(event["dur"].get<double>(), 0);
            free_at[event["tid"]] = event["ts"].get<double>() + event["dur"].get<double>();
        } else if (phase == "C") {
            counters.insert(event["name"]);
            EXPECT_GE(event["args"]["GB/s"].get<double>(), 0);
        }
    }
    EXPECT_EQ(slices, 8);
    std::set<std::string> links;
    for (auto const& link : simulation.links) {
        links.insert(link.name);
    }
    EXPECT_EQ(counters, links) << "one counter for each link that carried something";
}

TEST(SimulationTrace, LoadsOverTimeAddUpToBytes) {
    auto const simulation = two_strategies().front();
    std::vector<double> since(simulation.links.size(), 0), rate(since), bytes(since);
    for (auto const& sample : simulation.loads) {
        auto const link = static_cast<std::size_t>(sample.link);
        bytes[link] += rate[link] * 1e9 * (sample.time_s - since[link]);
        since[link] = sample.time_s;
        rate[link] = sample.gbs;
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        EXPECT_EQ(rate[i], 0) << "nothing flows at the end: " << simulation.links[i].name;
        EXPECT_NEAR(bytes[i], simulation.links[i].bytes, 1e-6 * bytes[i]) << simulation.links[i].name;
    }
}

TEST(LoadOverTime, AddsUpToUtilizationInBoundedSteps) {
    auto const machine = load_machine("dgx-1v");
    auto const flows =
        pattern_flows("random:400,5", machine.machine(), {0, 1, 2, 3, 4, 5, 6, 7}, {.bytes = 1 * MiB, .step_s = 7e-6});
    auto const simulation = simulate(machine, flows, {.over_time = true});
    auto const document = Json::parse(simulation_json({simulation}, "t"));
    std::size_t most = 0;
    for (auto const& link : document["links"]) {
        auto const& steps = link["load_over_time"];
        most = std::max(most, steps.size());
        ASSERT_LE(steps.size(), 128U) << link["name"];
        EXPECT_EQ(steps[0][0], 0.0);
        EXPECT_EQ(steps.back()[1], 0.0) << "nothing flows at the end";
        double area = 0;
        for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
            auto const lasts = steps[i + 1][0].get<double>() - steps[i][0].get<double>();
            EXPECT_GT(lasts, 0);
            EXPECT_LE(steps[i][1].get<double>(), 1 + 1e-6);
            area += lasts * steps[i][1].get<double>();
        }
        EXPECT_NEAR(area, link["utilization"].get<double>() * simulation.makespan_s, 1e-5 * simulation.makespan_s);
    }
    EXPECT_GT(most, 32U) << "more changes than steps fit, so some were joined";
    EXPECT_TRUE(Json::parse(simulation_json({simulate(machine, flows)}, "t"))["links"][0]["load_over_time"].is_null());
}

TEST(LoadOverTime, TwoPhasesApartShowTheGap) {
    // 0>1 is loaded in the first and in the last part of the time and by nothing in between.
    auto const machine = load_machine("h200-pair");
    auto const one = simulate(machine, {{gpu(0), gpu(1), 256 * MiB}}).makespan_s;
    auto const simulation =
        simulate(machine, {{gpu(0), gpu(1), 256 * MiB, 0}, {gpu(0), gpu(1), 256 * MiB, 3 * one}}, {.over_time = true});
    auto const text = simulation_text({simulation});
    auto const line = text.substr(text.find("Load of the busiest links"));
    auto const begin = line.find('|'), end = line.find('|', begin + 1);
    auto const picture = line.substr(begin + 1, end - begin - 1);
    EXPECT_EQ(picture.substr(3, 3), "\u2588") << text;
    EXPECT_EQ(picture.substr(picture.size() - 6, 3), "\u2588") << text;
    EXPECT_EQ(static_cast<int>(std::count(picture.begin(), picture.end(), ' ')), 29) << text;
    EXPECT_NE(simulation_text({simulation}, true).find("```\n"), std::string::npos);
}

TEST(SimulationText, ComparesStrategiesAndNamesTheBottleneck) {
    auto const simulations = two_strategies();
    auto const text = simulation_text(simulations);
    EXPECT_NE(text.find("strategy"), std::string::npos);
    EXPECT_NE(text.find("Bottleneck: " + simulations[0].bottleneck), std::string::npos) << text;
    EXPECT_NE(text.find("####"), std::string::npos) << text;
}

TEST(PlacementText, SaysWhyOnMachinesOfTwoKinds) {
    auto const text = [](const char* name) {
        auto const machine = load_machine(name);
        auto const ranked =
            rank_placements(machine, {0, 1, 2, 3, 4, 5, 6, 7}, 4, "all-to-all", {.bytes = 64 * MiB}, {});
        return placement_text(ranked, machine.machine());
    };
    auto const mesh = text("dgx-1v"), sockets = text("rtx4090-8-dual-epyc");
    EXPECT_NE(mesh.find("100 % busy. Each of the 6 pairs is joined by a fabric.\nWorst: "), std::string::npos) << mesh;
    EXPECT_NE(mesh.find("4 of 6 pairs have no peer access and go through host memory."), std::string::npos) << mesh;
    EXPECT_NE(sockets.find("All of them hang on socket 0: nothing crosses to another.\nWorst: "), std::string::npos)
        << sockets;
    EXPECT_NE(sockets.find("of 6 pairs cross from one socket to another.\n"), std::string::npos) << sockets;
}

TEST(PlacementText, ExplainsBestAndWorst) {
    auto const machine = load_machine("dgx-1v");
    auto const ranked = rank_placements(machine, {0, 1, 2, 3, 4, 5, 6, 7}, 2, "ring", {.bytes = 16 * MiB}, {});
    auto const text = placement_text(ranked, machine.machine());
    EXPECT_NE(text.find("28 sets of 2 devices"), std::string::npos) << text;
    EXPECT_NE(text.find("Best: "), std::string::npos) << text;
    EXPECT_NE(text.find("1 pair NV2"), std::string::npos) << text;
    auto const document = Json::parse(placement_json(ranked, "dgx-1v", "ring", Strategy::driver));
    EXPECT_EQ(document["placements"].size(), 28U);
    EXPECT_EQ(document["placements"][0]["devices"], Json(ranked[0].devices));
}

}  // namespace
}  // namespace peerlane
