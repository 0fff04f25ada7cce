#include "cli/target.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include <sys/random.h>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/open.hpp>

#include "cli/helper.hpp"
#include "cli/status.hpp"

namespace peerlane::cli {
namespace {

constexpr std::uint64_t simulated_seed = 1;

std::uint64_t drawn_seed() {
    // Not std::random_device: the one that is linked statically into packages asks for a C library of 2.36.
    std::uint64_t seed = 0;
    while (::getrandom(&seed, sizeof seed, 0) != static_cast<ssize_t>(sizeof seed)) {
        if (errno != EINTR) {
            throw std::runtime_error("the kernel gives no random numbers");
        }
    }
    return seed;
}

std::unique_ptr<Driver> simulated_driver(const SimulatedMachine& machine, const Globals& globals, std::uint64_t seed) {
    return open_simulated(machine, {.faults = globals.faults, .seed = seed});
}

Machine limited(const Machine& machine, const std::vector<int>& devices) {
    try {
        return devices.empty() ? machine : limited_to(machine, devices);
    } catch (const std::out_of_range& error) {
        throw UsageError(fmt::format("-i: {}; the machine has {}", error.what(), machine.devices.size()));
    }
}

Target open_machine_files(const Globals& globals) {
    Target target;
    target.seed = globals.seed.value_or(simulated_seed);
    try {
        target.simulated = load_machines(globals.machines, globals.fabric);
        target.whole = target.simulated->machine();
        if (!target.whole.devices.empty()) {
            target.driver = simulated_driver(*target.simulated, globals, target.seed);
        }
    } catch (const std::invalid_argument& error) {  // of the fabric, of a fault
        throw UsageError(error.what());
    }
    target.reason = "the description has no devices";
    target.numbering = Numbering::same(static_cast<int>(target.whole.devices.size()));
    return target;
}

Target open_this_machine(const Globals& globals) {
    // Ordinals follow the bus as ours do, wherever the driver has a say in it, and in our helper too.
    ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    Target target;
    target.seed = globals.seed ? *globals.seed : drawn_seed();
    target.discovery = discover();
    target.whole = target.discovery->machine;
    auto const available = cuda_availability();
    target.reason = available.reason;
    if (available.devices == 0) {
        target.numbering = Numbering::same(static_cast<int>(target.whole.devices.size()));
        return target;
    }
    target.driver = open_cuda();
    auto const& seen = target.driver->machine();
    auto joined = Numbering::join(target.whole, seen);
    if (!joined) {  // the system hides what the driver shows: the driver's word then
        target.whole = seen;
        joined = Numbering::same(static_cast<int>(seen.devices.size()));
    }
    target.numbering = *std::move(joined);
    for (auto& pair : target.whole.pairs) {
        auto const accessor = target.numbering.ordinal(pair.accessor);
        auto const owner = target.numbering.ordinal(pair.owner);
        if (auto const* const claimed = seen.pair(accessor, owner)) {
            pair.claim = claimed->claim;
        }
    }
    return target;
}

std::string counted(std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

bool has_host_node(const Machine& machine, int node) {
    if (machine.graph.numa_node(node) >= 0) {
        return true;
    }
    return std::any_of(machine.devices.begin(), machine.devices.end(),
                       [node](const Device& device) { return device.numa == node; });
}

}  // namespace

Target open_target(const Globals& globals) {
    auto target = globals.simulated() ? open_machine_files(globals) : open_this_machine(globals);
    if (target.simulated && !globals.faults.empty() && target.driver) {
        for (auto& pair : target.whole.pairs) {
            pair.claim = target.driver->can_access(pair.accessor, pair.owner);
        }
    }
    target.machine = limited(target.whole, globals.devices);
    return target;
}

void need_driver(const Target& target) {
    if (!target.driver) {
        throw NothingRuns(fmt::format(
            "no device to work on: {}.\nTo try it on a simulated machine, add --machine h200-pair; peerlane topo "
            "--list names others.",
            target.reason));
    }
}

std::unique_ptr<prove::ProbeHost> prober_of(const Target& target, const Globals& globals,
                                            const Supervision& supervision) {
    if (!target.simulated || simulate_in_helper()) {
        auto options = helper_options();
        options.veto = supervision.veto;
        options.stopped = supervision.stopped;
        if (target.simulated) {
            for (auto const& machine : globals.machines) {
                options.arguments.insert(options.arguments.end(), {"--machine", machine});
            }
            for (auto const& fault : globals.faults) {
                options.arguments.insert(options.arguments.end(), {"--fault", to_string(fault)});
            }
        }
        return prove::child_host(std::move(options));
    }
    prove::InProcessOptions options;
    options.open = [&target, &globals] { return simulated_driver(*target.simulated, globals, target.seed); };
    options.freezes = prove::freezes_of(globals.faults);
    options.veto = supervision.veto;
    return prove::in_process_host(std::move(options));
}

Place place_of(const Target& target, const std::string& argument, const std::string& word) {
    auto const place = parse_place(word);
    if (!place) {
        throw UsageError(fmt::format("{} \"{}\" is no place; places are 0, gpu0, host, host:1", argument, word));
    }
    if (place->is_host()) {
        if (place->index != Place::any && !has_host_node(target.machine, place->index)) {
            throw UsageError(fmt::format("{} {}: the machine has no such NUMA node", argument, word));
        }
        return *place;
    }
    if (target.machine.device(place->index) == nullptr) {
        bool const left_out = place->index < static_cast<int>(target.numbering.ordinals().size());
        throw UsageError(left_out ? fmt::format("{} {}: -i leaves this device out", argument, word)
                                  : fmt::format("{} {}: the machine has {}, numbered from 0", argument, word,
                                                counted(target.numbering.ordinals().size(), "device")));
    }
    if (target.numbering.ordinal(place->index) < 0) {
        throw UsageError(fmt::format("{} {}: hidden from this process by CUDA_VISIBLE_DEVICES", argument, word));
    }
    return *place;
}

std::string headline(const Target& target) {
    auto const devices = counted(target.machine.devices.size(), "device");
    if (target.simulated) {
        auto const& origin = target.machine.origin;
        auto const name = !origin.name.empty()    ? " " + origin.name
                          : !origin.files.empty() ? fmt::format(" of {}", origin.files.front())
                                                  : std::string();
        return fmt::format("Simulated machine{}, {}. No real device is used.\n", name, devices);
    }
    return fmt::format("This machine, {}{}{}.\n", devices, target.driver ? "; " : "",
                       target.driver ? target.driver->description() : "");
}

std::string device_lines(const Target& target, const std::vector<int>& devices) {
    std::string lines;
    for (auto const number : devices) {
        auto const* const device = target.machine.device(number);
        auto const ordinal = target.numbering.ordinal(number);
        lines += fmt::format("  gpu{}  {}  {}{}\n", number, device->bus.value_or("bus address unknown"),
                             device->model.value_or("model unknown"),
                             ordinal == number ? "" : fmt::format("  (CUDA ordinal {})", ordinal));
    }
    return lines;
}

}  // namespace peerlane::cli
