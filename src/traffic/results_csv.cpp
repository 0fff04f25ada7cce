// Results of flows as a table, which read_flows_csv reads back.

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <peerlane/simulation.hpp>

namespace peerlane {
namespace {

std::string place(Place place) {
    return place.is_device() ? std::to_string(place.index) : to_string(place);
}

std::string number(std::optional<double> value) {
    return value ? fmt::format("{}", *value) : std::string();
}

}  // namespace

std::string simulation_csv(const std::vector<Simulation>& simulations) {
    auto const several = simulations.size() > 1;
    fmt::memory_buffer out;
    auto const to = std::back_inserter(out);
    auto const paged = std::any_of(simulations.front().flows.begin(), simulations.front().flows.end(),
                                   [](const FlowResult& result) { return result.flow.page != 0; });
    fmt::format_to(to, "src,dst,bytes,start_s,end_s,gbs{}{}\n", several ? ",strategy" : "", paged ? ",page" : "");
    for (auto const& simulation : simulations) {
        for (auto const& result : simulation.flows) {
            fmt::format_to(to, "{},{},{},{},{},{}", place(result.flow.src), place(result.flow.dst), result.flow.bytes,
                           result.start_s, number(result.end_s), number(result.gbs()));
            fmt::format_to(to, "{}{}", several ? "," : "", several ? to_string(simulation.strategy) : "");
            fmt::format_to(to, "{}{}\n", paged ? "," : "", paged ? std::to_string(result.flow.page) : "");
        }
    }
    return fmt::to_string(out);
}

}  // namespace peerlane
