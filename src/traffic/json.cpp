// Documents of simulations. Written by hand: a million flows as objects of a JSON library would not fit the memory.

#include <iterator>

#include <fmt/format.h>
#include <peerlane/simulation.hpp>

#include "traffic/text.hpp"

namespace peerlane {
namespace {

using traffic::quoted;
using Buffer = fmt::memory_buffer;

template <class... Args>
void put(Buffer& out, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

std::string number(std::optional<double> value) {
    return value ? fmt::format("{}", *value) : std::string("null");
}

/// Devices as their number, memory of the host as its name.
std::string place(Place place) {
    return place.is_device() ? fmt::format("{}", place.index) : quoted(to_string(place));
}

std::string ways(const std::vector<Route>& routes) {
    std::string text;
    for (auto const& route : routes) {
        text += fmt::format("{}{}{}", text.empty() ? "" : "; ",
                            routes.size() > 1 ? fmt::format("{:.0f} % ", route.share * 100) : "", describe(route));
    }
    return text;
}

template <class List, class Write>
void list(Buffer& out, const List& items, const std::string& indent, Write write) {
    put(out, "[");
    bool first = true;
    for (auto const& item : items) {
        put(out, "{}\n{}  ", first ? "" : ",", indent);
        first = false;
        write(item);
    }
    if (!first) {
        put(out, "\n{}", indent);
    }
    put(out, "]");
}

void over_time(Buffer& out, const std::vector<LoadStep>& steps) {
    if (steps.empty()) {
        put(out, "null");
        return;
    }
    auto const* before = "[";
    for (auto const& step : steps) {
        put(out, "{}[{}, {:.6g}]", before, step.time_s, step.fraction);
        before = ", ";
    }
    put(out, "]");
}

/// The keys of one simulation, without the braces around them.
void body(Buffer& out, const Simulation& simulation, const std::string& indent) {
    put(out, "{}\"strategy\": {},\n", indent, quoted(to_string(simulation.strategy)));
    put(out, "{}\"note\": {},\n", indent, quoted(simulation.note));
    put(out, "{}\"makespan_s\": {},\n", indent, simulation.complete() ? number(simulation.makespan_s) : "null");
    put(out, "{}\"bytes\": {:.0f},\n", indent, simulation.bytes);
    put(out, "{}\"gbs\": {},\n", indent, simulation.complete() ? number(simulation.gbs()) : "null");
    put(out, "{}\"bottleneck\": {},\n", indent, simulation.bottleneck.empty() ? "null" : quoted(simulation.bottleneck));
    put(out, "{}\"relief\": ", indent);
    if (simulation.relief) {
        std::string links;
        for (auto const& link : simulation.relief->links) {
            links += fmt::format("{}{}", links.empty() ? "" : ", ", quoted(link));
        }
        put(out, "{{\"links\": [{}], \"makespan_s\": {}, \"gain\": {}}},\n", links, simulation.relief->makespan_s,
            simulation.relief->gain);
    } else {
        put(out, "null,\n");
    }
    put(out, "{}\"failure\": {},\n", indent, simulation.complete() ? "null" : quoted(simulation.failure));
    put(out, "{}\"events\": {},\n", indent, simulation.events);
    put(out, "{}\"links\": ", indent);
    list(out, simulation.links, indent, [&](const LinkLoad& link) {
        put(out, "{{\"name\": {}, \"bytes\": {:.0f}, \"utilization\": {}, \"capacity_gbs\": {}, \"load_over_time\": ",
            quoted(link.name), link.bytes, link.utilization, link.capacity_gbs);
        over_time(out, link.over_time);
        put(out, "}}");
    });
    put(out, ",\n{}\"ways\": ", indent);
    list(out, simulation.plans, indent,
         [&](const std::vector<Route>& routes) { put(out, "{}", quoted(ways(routes))); });
    put(out, ",\n{}\"flows\": ", indent);
    list(out, simulation.flows, indent, [&](const FlowResult& result) {
        put(out,
            "{{\"src\": {}, \"dst\": {}, \"bytes\": {}, \"start_s\": {}, \"end_s\": {}, \"gbs\": {}, \"began_s\": {}, "
            "\"phase\": {}, \"way\": {}, \"page\": {}}}",
            place(result.flow.src), place(result.flow.dst), result.flow.bytes, result.start_s, number(result.end_s),
            number(result.gbs()), number(result.began_s), result.flow.phase, result.plan,
            result.flow.page == 0 ? std::string("null") : std::to_string(result.flow.page));
    });
}

}  // namespace

namespace traffic {

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (auto const c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
            out += c;
        }
    }
    return out + "\"";
}

}  // namespace traffic

std::string simulation_json(const std::vector<Simulation>& simulations, const std::string& traffic) {
    Buffer out;
    auto const& first = simulations.front();
    put(out, "{{\n  \"schema\": \"peerlane.simulation/1\",\n  \"simulated\": true,\n");
    put(out, "  \"machine\": {},\n  \"traffic\": {},\n", quoted(first.machine), quoted(traffic));
    body(out, first, "  ");
    put(out, ",\n  \"compared\": ");
    std::vector<const Simulation*> others;
    for (std::size_t i = 1; i < simulations.size(); ++i) {
        others.push_back(&simulations[i]);
    }
    list(out, others, "  ", [&](const Simulation* other) {
        put(out, "{{\n");
        body(out, *other, "      ");
        put(out, "\n    }}");
    });
    put(out, "\n}}\n");
    return fmt::to_string(out);
}

std::string placement_json(const std::vector<Placement>& ranked, const std::string& machine, const std::string& traffic,
                           Strategy strategy) {
    Buffer out;
    put(out, "{{\n  \"schema\": \"peerlane.placement/1\",\n  \"simulated\": true,\n");
    put(out, "  \"machine\": {},\n  \"traffic\": {},\n  \"strategy\": {},\n  \"placements\": ", quoted(machine),
        quoted(traffic), quoted(to_string(strategy)));
    list(out, ranked, "  ", [&](const Placement& placement) {
        put(out, "{{\"devices\": [{}], \"makespan_s\": {}, \"gbs\": {}, \"bottleneck\": {}, \"utilization\": {}}}",
            fmt::join(placement.devices, ", "), placement.makespan_s, placement.gbs, quoted(placement.bottleneck),
            placement.utilization);
    });
    put(out, "\n}}\n");
    return fmt::to_string(out);
}

}  // namespace peerlane
