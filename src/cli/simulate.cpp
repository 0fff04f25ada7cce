/// peerlane simulate: how long a set of concurrent transfers takes, which link limits it, what another way would give.

#include <algorithm>

#include <fmt/format.h>

#include <peerlane/cluster.hpp>
#include <peerlane/error.hpp>
#include <peerlane/simulation.hpp>
#include <peerlane/units.hpp>

#include "cli/command.hpp"
#include "cli/status.hpp"
#include "cli/target.hpp"

namespace peerlane::cli {
namespace {

constexpr std::uint64_t most_phases = 10'000;
constexpr std::uint64_t most_nodes = 1024;

struct Asked {
    std::string pattern;  ///< empty: a table
    std::string csv;
    PatternOptions options{};
    std::vector<Strategy> strategies{};
    std::string trace;
    int place = 0;  ///< 0: no ranking of sets
    int nodes = 0;  ///< 0: one machine; else so many of them, joined by their network adapters
};

std::vector<Strategy> strategies_of(const std::string& words) {
    std::vector<Strategy> strategies;
    for (std::size_t begin = 0; begin <= words.size();) {
        auto const end = std::min(words.find(',', begin), words.size());
        auto const word = words.substr(begin, end - begin);
        auto const strategy = parse_strategy(word);
        if (!strategy) {
            throw UsageError(
                fmt::format("--strategy \"{}\": driver, library or peerlane, or several with commas", word));
        }
        if (std::find(strategies.begin(), strategies.end(), *strategy) != strategies.end()) {
            throw UsageError(fmt::format("--strategy \"{}\": {} stands there twice", words, word));
        }
        strategies.push_back(*strategy);
        begin = end + 1;
    }
    return strategies;
}

Asked understand_asked(const Given& given, Format given_format) {
    Asked asked;
    asked.pattern = given.one("--pattern").value_or("");
    asked.csv = given.one("--csv").value_or("");
    if (given.has("--pattern") == given.has("--csv")) {
        std::string known;
        for (auto const& [form, meaning] : traffic_patterns()) {
            known += fmt::format("\n  {:<18} {}", form, meaning);
        }
        throw UsageError((given.has("--csv") ? "--pattern and --csv: one of them, not both"
                                             : "--pattern P or --csv FILE says what moves; the patterns:" + known));
    }
    auto const size = given.one("--bytes");
    if (asked.csv.empty()) {
        if (!size) {
            throw UsageError("--bytes N is missing: the size of each flow, as --bytes 64MiB");
        }
        auto const bytes = parse_size(*size);
        if (!bytes || *bytes == 0) {
            throw UsageError(fmt::format("--bytes \"{}\" is no size above 0; sizes are 4096, 64MiB, 1GB", *size));
        }
        asked.options.bytes = *bytes;
    }
    for (auto const* option : {"--bytes", "--start", "--phases", "--place", "--page-size"}) {
        if (!asked.csv.empty() && given.has(option)) {
            throw UsageError(fmt::format("{} goes with --pattern; the table of --csv says it all", option));
        }
    }
    if (auto const word = given.one("--page-size")) {
        auto const bytes = parse_size(*word);
        if (!bytes || *bytes == 0) {
            throw UsageError(fmt::format("--page-size \"{}\" is no size above 0; sizes are 4096, 64KiB", *word));
        }
        asked.options.page = *bytes;
    }
    if (auto const word = given.one("--start")) {
        auto const number = parse_number(*word);
        auto const time = number ? number : parse_seconds(*word);
        if (!time || *time < 0) {
            throw UsageError(fmt::format("--start \"{}\" is no time; times are seconds (0.001) or 1ms, 20us", *word));
        }
        asked.options.step_s = *time;
    }
    asked.options.phases =
        static_cast<int>(whole_number("--phases", given.one("--phases").value_or("1"), 1, most_phases));
    asked.strategies = strategies_of(given.one("--strategy").value_or("driver"));
    asked.trace = given.one("--trace").value_or("");
    if (given.has("--place")) {
        asked.place = static_cast<int>(whole_number("--place", given.one("--place").value_or(""), 2, 16));
        if (given_format == Format::csv) {
            throw UsageError("--format csv is a row for each flow; --place has table, json or markdown");
        }
        if (asked.strategies.size() > 1 || !asked.trace.empty()) {
            throw UsageError("--place ranks sets of devices: it goes with one --strategy and without --trace");
        }
    }
    if (given.has("--nodes")) {
        asked.nodes = static_cast<int>(whole_number("--nodes", given.one("--nodes").value_or(""), 1, most_nodes));
        if (asked.place != 0 || asked.strategies != std::vector{Strategy::driver}) {
            throw UsageError("--nodes goes with --strategy driver and without --place");
        }
    }
    if (!asked.trace.empty() && asked.strategies.size() > 1) {
        throw UsageError("--trace goes with one --strategy");
    }
    return asked;
}

std::vector<int> devices_of(const Target& target) {
    std::vector<int> devices;
    for (auto const& device : target.machine.devices) {
        devices.push_back(device.id);
    }
    return devices;
}

/// Of --machine; else this machine's description with nominal rates.
SimulatedMachine machine_of(const Target& target) {
    if (target.simulated) {
        return *target.simulated;
    }
    if (target.whole.devices.empty()) {
        need_driver(target);
        throw NothingRuns("this machine shows no device: name one with --machine; peerlane topo --list names some");
    }
    return SimulatedMachine(target.whole);
}

std::string opening(const Target& target) {
    if (target.simulated) {
        return headline(target);
    }
    return fmt::format(
        "Simulated from the description of this machine, {} device{}, at nominal rates. No device is "
        "used.\n",
        target.machine.devices.size(), target.machine.devices.size() == 1 ? "" : "s");
}

std::vector<Flow> flows_of(const Asked& asked, const Machine& machine, const std::vector<int>& devices) {
    if (asked.csv.empty()) {
        return pattern_flows(asked.pattern, machine, devices, asked.options);
    }
    try {
        return read_flows_csv(read_input(asked.csv), asked.csv, machine, devices);
    } catch (const NoSuchMachine&) {
        throw NoSuchFile(asked.csv);
    }
}

std::string traffic_words(const Asked& asked, const std::vector<Flow>& flows) {
    double bytes = 0;
    for (auto const& flow : flows) {
        bytes += static_cast<double>(flow.bytes);
    }
    auto const what = asked.csv.empty() ? asked.pattern : "flows of " + asked.csv;
    auto const each =
        asked.csv.empty()
            ? fmt::format(" of {}", size_text(asked.options.bytes)) +
                  (asked.options.page != 0 ? fmt::format(" in pages of {}", size_text(asked.options.page)) : "")
            : std::string();
    return fmt::format("{}: {} flow{}{}{}, {:.3f} GB", what, flows.size(), flows.size() == 1 ? "" : "s", each,
                       asked.options.phases > 1 ? fmt::format(" in {} phases", asked.options.phases) : "", bytes / 1e9);
}

void show(Context& context, const std::string& text, const std::string& document) {
    context.out.print(context.globals.format == Format::json ? document : text);
    context.out.save(document);
}

void show_simulations(Context& context, const std::vector<Simulation>& simulations, const std::string& head,
                      const std::string& traffic) {
    auto const format = context.globals.format;
    auto const markdown = format == Format::markdown;
    show(context,
         format == Format::json ? std::string()
         : format == Format::csv
             ? simulation_csv(simulations)
             : head + (markdown ? "\n" : "") + traffic + ".\n\n" + simulation_text(simulations, markdown),
         format == Format::json || context.out.saving() ? simulation_json(simulations, traffic) : std::string());
}

Status rank(Context& context, const Target& target, const SimulatedMachine& machine, const Asked& asked) {
    SimulationOptions options;
    options.strategy = asked.strategies.front();
    options.faults = context.globals.faults;
    auto const ranked =
        rank_placements(machine, devices_of(target), asked.place, asked.pattern, asked.options, options);
    auto const traffic = fmt::format("{}, {} each", asked.pattern, size_text(asked.options.bytes));
    show(context,
         opening(target) + fmt::format("{}, strategy {}.\n", traffic, to_string(options.strategy)) + "\n" +
             placement_text(ranked, machine.machine()),
         placement_json(ranked, machine.machine().origin.name, traffic, options.strategy));
    return good;
}

Status simulate_flows(Context& context, const Target& target, const SimulatedMachine& machine, const Asked& asked) {
    auto const flows = flows_of(asked, machine.machine(), devices_of(target));
    if (!asked.csv.empty()) {  // what the machine cannot hold is not known to the reader of tables
        try {
            check_flows(machine, flows);
        } catch (const std::invalid_argument& error) {
            throw InputError(asked.csv, 0, error.what());
        }
    }
    std::optional<SaveFile> trace;
    if (!asked.trace.empty()) {
        trace.emplace(asked.trace);  // before the work: a folder that is not there is told at once
    }
    std::vector<Simulation> simulations;
    for (auto const strategy : asked.strategies) {
        SimulationOptions options;
        options.strategy = strategy;
        options.faults = context.globals.faults;
        options.loads = trace.has_value();
        options.over_time = context.globals.format != Format::csv || context.out.saving();
        context.out.progress(fmt::format("simulating {}", to_string(strategy)));
        simulations.push_back(simulate(machine, flows, options));
    }
    context.out.progress("");
    auto const traffic = traffic_words(asked, flows);
    show_simulations(context, simulations, opening(target), traffic);
    if (trace) {
        trace->write(simulation_trace(simulations.front()));
    }
    auto const all_good = std::all_of(simulations.begin(), simulations.end(), [](auto& s) { return s.complete(); });
    return all_good ? good : broken;
}

/// The same for many equal machines.
Status simulate_nodes(Context& context, const Target& target, const SimulatedMachine& machine, const Asked& asked) {
    if (!context.globals.faults.empty() || !context.globals.devices.empty()) {
        throw UsageError("--nodes: --fault and -i have no meaning for many machines");
    }
    auto const all = cluster_devices(machine.machine(), asked.nodes);
    std::vector<int> devices;
    for (auto const& device : all.devices) {
        devices.push_back(device.id);
    }
    auto const flows = flows_of(asked, all, devices);
    std::optional<SaveFile> trace;
    if (!asked.trace.empty()) {
        trace.emplace(asked.trace);
    }
    context.out.progress("simulating");
    std::vector<Simulation> const simulations{simulate_cluster(machine, asked.nodes, flows)};
    context.out.progress("");
    auto const traffic = traffic_words(asked, flows);
    show_simulations(context, simulations,
                     opening(target) + fmt::format("{} such nodes, {} devices, joined by their network adapters.\n",
                                                   asked.nodes, devices.size()),
                     traffic);
    if (trace) {
        trace->write(simulation_trace(simulations.front()));
    }
    return simulations.front().complete() ? good : broken;
}

Status run(Context& context) {
    auto const asked = understand_asked(context.given, context.globals.format);
    auto const target = open_target(context.globals);
    auto const machine = machine_of(target);
    try {
        return asked.nodes != 0   ? simulate_nodes(context, target, machine, asked)
               : asked.place != 0 ? rank(context, target, machine, asked)
                                  : simulate_flows(context, target, machine, asked);
    } catch (const std::invalid_argument& error) {
        throw UsageError(error.what());
    }
}

}  // namespace

Command simulate_command() {
    return {
        "simulate",
        "how long concurrent transfers take on a machine, which link limits them, what other ways would give",
        {},
        {{"--pattern", "P",
          "what moves: pair:A:B, one-to-all:A, all-to-one:A, shift:D, ring, halo, all-to-all, permutation:SEED, "
          "random:N,SEED, host-to-all, all-to-host"},
         {"--csv", "FILE", "what moves, as a table of src,dst,bytes,start; - is standard input"},
         {"--bytes", "N", "size of each flow of a pattern"},
         {"--page-size", "SIZE", "each flow is a list of scattered pages of this size"},
         {"--start", "TIME", "each flow is submitted so much later than the one before"},
         {"--phases", "N", "the pattern N times, each time when the one before is done"},
         {"--strategy", "S", "driver, library, peerlane; several with commas are compared"},
         {"--trace", "FILE", "writes what happened for Perfetto and chrome://tracing"},
         {"--nodes", "N", "N such machines, joined by their network adapters; devices are numbered node after node"},
         {"--place", "N", "ranks all sets of N devices by how long the pattern takes among them"}},
        {Format::table, Format::json, Format::markdown, Format::csv},
        run};
}

}  // namespace peerlane::cli
