// What simulating costs: flow events (each flow begins once and ends once) on 16 devices, and on a growing number of
// them. traffic_speed [RESULT.json] prints a table and writes peerlane.bench/1, where "us" is the CPU time of one event
// (all of it is one thread, so that others who use the machine do not count).

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <peerlane/cluster.hpp>
#include <peerlane/named.hpp>
#include <peerlane/simulation.hpp>
#include <peerlane/units.hpp>

#include "bench_report.hpp"

namespace {

using namespace peerlane;

struct Case {
    const char* machine;
    const char* traffic;
    int events;     ///< begun or ended flows
    int nodes = 0;  ///< 0: one machine
};

std::vector<Flow> flows_of(const Case& one, const Machine& machine) {
    std::vector<int> devices;
    for (auto const& device : machine.devices) {
        devices.push_back(device.id);
    }
    PatternOptions options{.bytes = 4 * MiB};
    auto const once = pattern_flows(one.traffic, machine, devices, options).size();
    auto const wanted = static_cast<std::size_t>(one.events / 2);
    options.phases = static_cast<int>((wanted + once - 1) / once);
    auto flows = pattern_flows(one.traffic, machine, devices, options);
    flows.resize(wanted);
    return flows;
}

bench::Row run(const Case& one) {
    auto const machine = load_machine(one.machine);
    auto const flows =
        flows_of(one, one.nodes == 0 ? machine.machine() : cluster_devices(machine.machine(), one.nodes));
    std::vector<double> seconds;
    for (int round = 0; round < (one.events < 150'000 ? 3 : 1); ++round) {
        auto const start = std::clock();
        auto const simulation =
            one.nodes == 0 ? simulate(machine, flows, {.relief = false}) : simulate_cluster(machine, one.nodes, flows);
        seconds.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
        if (!simulation.complete()) {
            throw std::runtime_error(simulation.failure);
        }
    }
    std::sort(seconds.begin(), seconds.end());
    auto const middle = seconds[seconds.size() / 2];
    auto const us = middle / one.events * 1e6;
    auto const name = one.nodes == 0 ? std::string(one.machine) : fmt::format("{} x {}", one.nodes, one.machine);
    std::printf("%-20s %-16s %9d events  %7.3f s  %7.3f us an event\n", name.c_str(), one.traffic, one.events, middle,
                us);
    bench::Row row;
    row.name = fmt::format("{} {}, {} events", name, one.traffic, one.events);
    row.ours = {0, us, (seconds.back() - seconds.front()) / middle};
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        bench::Report report;
        report.machine = "host only: " + std::to_string(std::max(1U, std::thread::hardware_concurrency())) + " cores";
        report.driver = "simulator, one thread; us is the CPU time of one event, gbs has no meaning here";
        report.command = argc > 1 ? fmt::format("traffic_speed {}", argv[1]) : "traffic_speed";
        for (auto const& one :
             {Case{"h200-pair", "ring", 100'000}, Case{"dgx-1v", "all-to-all", 100'000},
              Case{"dgx-2", "all-to-all", 10'000}, Case{"dgx-2", "all-to-all", 100'000},
              Case{"dgx-2", "all-to-all", 1'000'000}, Case{"dgx-2", "random:500000,1", 1'000'000},
              Case{"rtx4090-8-dual-epyc", "random:50000,1", 100'000}, Case{"azure-ndv5", "random:12500,1", 25'000, 16},
              Case{"azure-ndv5", "random:25000,1", 50'000, 32}, Case{"azure-ndv5", "random:50000,1", 100'000, 64},
              Case{"azure-ndv5", "random:100000,1", 200'000, 128}}) {
            report.rows.push_back(run(one));
        }
        if (argc > 1) {
            std::ofstream(argv[1]) << report.json();
        }
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "traffic_speed: %s\n", error.what());
        return 1;
    }
}
