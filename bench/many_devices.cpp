// Everything that two to many devices do for each other, in one interleaved run within a bounded time: pairs direct and
// staged, relays, splits, host memory over the links of helpers, patterns of many copies; beside the runtime's own
// calls and NCCL, with what the planner and a simulated machine foretell.
//
//   many_devices [--machine NAME|FILE] [--topology FILE --verdicts FILE --profile FILE | --prober FILE] [--twin
//   NAME|FILE|none]
//                [--seconds N] [--rounds N] [--full] [--small] [--as-seen] [OUT.json]
//
// Without --machine on the devices of this one: as `peerlane topo`, `doctor` and `measure` saved them (--save), where
// CUDA numbers them in bus order too; else proven and measured now. Exit status: 0; 2 wrong bytes; 3 no device, or one;
// 64 usage; 65, 66 input; 70.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <peerlane/error.hpp>
#include <peerlane/measure.hpp>
#include <peerlane/named.hpp>
#include <peerlane/open.hpp>
#include <peerlane/prepare.hpp>
#include <peerlane/units.hpp>

#include "many_run.hpp"

namespace {

using namespace peerlane;

struct Arguments {
    std::string command = "many_devices", machine, twin, prober, topology, verdicts, profile, out;
    bench::RunOptions run;
    bool small = false;    ///< fewer pages
    bool full = false;     ///< a quick profile is not enough
    bool as_seen = false;  ///< simulated devices are planned for with what CUDA tells of real ones, and no more
};

class Usage : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

double positive(const std::string& option, const std::string& text) {
    auto const number = parse_number(text);
    if (!number || *number <= 0) {
        throw Usage(fmt::format("{}: \"{}\" is no positive number", option, text));
    }
    return *number;
}

Arguments read(int argc, char** argv) {
    Arguments all;
    for (int i = 1; i < argc; ++i) {
        std::string const word = argv[i];
        all.command += " " + word;
        auto const next = [&] {
            if (i + 1 >= argc) {
                throw Usage(word + " needs a value");
            }
            all.command.append(" ").append(argv[i + 1]);
            return std::string(argv[++i]);
        };
        if (word == "--machine") {
            all.machine = next();
        } else if (word == "--twin") {
            all.twin = next();
        } else if (word == "--topology") {
            all.topology = next();
        } else if (word == "--verdicts") {
            all.verdicts = next();
        } else if (word == "--profile") {
            all.profile = next();
        } else if (word == "--prober") {
            all.prober = next();
        } else if (word == "--seconds") {
            all.run.seconds = positive(word, next());
        } else if (word == "--rounds") {
            all.run.rounds = static_cast<int>(positive(word, next()));
        } else if (word == "--small") {
            all.small = true;
        } else if (word == "--full") {
            all.full = true;
        } else if (word == "--as-seen") {
            all.as_seen = true;
        } else if (word.rfind("--", 0) == 0 || !all.out.empty()) {
            throw Usage("unknown: " + word);
        } else {
            all.out = word;
        }
    }
    auto const given = {all.topology.empty(), all.verdicts.empty(), all.profile.empty()};
    if (std::count(given.begin(), given.end(), true) % 3 != 0) {
        throw Usage("--topology, --verdicts and --profile belong together");
    }
    return all;
}

/// What the command found out of these devices.
Ready saved(const Driver& driver, const Arguments& arguments) {
    Ready ready{load_machine(arguments.topology).machine(),
                read_verdicts(read_input(arguments.verdicts), arguments.verdicts), false,
                read_profile_json(read_input(arguments.profile), arguments.profile)};
    if (static_cast<int>(ready.machine.devices.size()) != driver.device_count()) {
        throw std::runtime_error(fmt::format("{} is of {} devices, here are {}", arguments.topology,
                                             ready.machine.devices.size(), driver.device_count()));
    }
    for (auto const& device : ready.machine.devices) {
        auto const& here = driver.machine().devices[static_cast<std::size_t>(device.id)];
        if (device.bus && here.bus && *device.bus != *here.bus) {
            throw std::runtime_error("the devices are not in bus order: set CUDA_DEVICE_ORDER=PCI_BUS_ID");
        }
    }
    std::printf("read: %zu legs, %zu groups%s\n", ready.profile.legs.size(), ready.profile.loaded.size(),
                ready.profile.quick ? ", quick" : "");
    return ready;
}

/// What CUDA tells of a machine: devices and claims, neither links nor nodes.
Machine as_seen(const Machine& machine) {
    Machine seen;
    seen.origin = machine.origin;
    for (auto const& device : machine.devices) {
        auto& one = seen.devices.emplace_back();
        one.id = device.id;
        one.model = device.model;
        one.bus = device.bus;
        one.compute_capability = device.compute_capability;
        one.memory_bytes = device.memory_bytes;
    }
    for (auto const& pair : machine.pairs) {
        auto& one = seen.pairs.emplace_back();
        one.accessor = pair.accessor;
        one.owner = pair.owner;
        one.claim = pair.claim;
    }
    return seen;
}

/// Its profile: all of the host's memory is one place.
Profile measured_as_seen(Driver& driver, const Verdicts& verdicts, bool quick) {
    MeasureOptions options;
    options.verdicts = &verdicts;
    options.quick = quick;
    options.access = false;
    options.nodes = {driver.machine().devices.front().numa.value_or(0)};
    auto profile = measure(driver, options);
    auto const forget = [](Leg& leg) {
        leg.from = leg.from.is_host() ? host() : leg.from;
        leg.to = leg.to.is_host() ? host() : leg.to;
    };
    for (auto& curve : profile.legs) {
        forget(curve.leg);
    }
    for (auto& group : profile.loaded) {
        for (auto& one : group.legs) {
            forget(one.leg);
        }
    }
    return profile;
}

/// The machine of this kind and size that ships with the product; else the description of the devices themselves.
SimulatedMachine twin_of(const Driver& driver, const std::string& asked, std::string& name) {
    auto const& machine = driver.machine();
    auto const model = machine.devices.front().model.value_or("");
    name = asked;
    if (asked.empty() && model.find("H200") != std::string::npos) {
        auto const count = driver.device_count();
        name = count == 2 ? "h200-pair" : count == 4 || count == 8 ? fmt::format("h200-{}", count) : "";
    }
    if (!name.empty()) {
        return load_machine(name);
    }
    name = "its description, at nominal rates";
    return SimulatedMachine(machine);
}

Ready ready_for(Driver& driver, const Arguments& arguments) {
    PrepareOptions options;
    options.prober = arguments.prober;
    options.measure = arguments.full ? Measuring::full : Measuring::quick;
    options.measure = arguments.as_seen ? Measuring::none : options.measure;
    auto const start = driver.now();
    auto prepared = prepare(driver, options);
    std::printf("proven and measured in %.1f s: %zu legs, %zu groups%s\n", driver.now() - start,
                prepared.profile.legs.size(), prepared.profile.loaded.size(), prepared.profile.quick ? ", quick" : "");
    for (auto const& notice : prepared.notices) {
        std::printf("notice: %s\n", notice.c_str());
    }
    Ready ready = prepared;
    if (arguments.as_seen) {
        ready.machine = as_seen(ready.machine);
        ready.profile = measured_as_seen(driver, ready.verdicts, !arguments.full);
    }
    return ready;
}

int run(const Arguments& arguments) {
    auto const driver = arguments.machine.empty() ? open_cuda() : open_simulated(load_machine(arguments.machine));
    if (driver->device_count() < 2) {
        std::fputs("many_devices: two devices are needed\n", stderr);
        return 3;
    }
    auto const ready = arguments.topology.empty() ? ready_for(*driver, arguments) : saved(*driver, arguments);
    auto const room = bench::bytes_a_device(driver->device_count());
    bench::Rig rig(*driver, ready, room);
    std::unique_ptr<Driver> twin_driver;
    std::optional<bench::Rig> twin;
    std::string twin_name;
    if (!driver->simulated() && arguments.twin != "none") {
        twin_driver = open_simulated(twin_of(*driver, arguments.twin, twin_name));
        if (twin_driver->device_count() == driver->device_count()) {
            auto const there = twin_driver->machine().graph.numa_node(rig.home().index) >= 0;
            twin.emplace(*twin_driver, ready, room, there ? rig.home() : host());
        } else {
            std::printf("notice: %s has %d devices: nothing is simulated beside\n", twin_name.c_str(),
                        twin_driver->device_count());
        }
    }
    bench::CaseOptions cases;
    cases.small = arguments.small;
    std::unique_ptr<bench::NcclGroup> nccl;
    if (!driver->simulated()) {
        cases.nccl = [&](std::string& why) {
            nccl = bench::NcclGroup::open(driver->device_count(), why);
            std::printf("NCCL: %s\n", nccl ? fmt::format("{}", nccl->version()).c_str() : why.c_str());
            return nccl.get();
        };
    }
    bench::Run bench_run(rig, twin ? &*twin : nullptr, arguments.run);
    auto report = bench_run.result(bench::many_parts(rig, cases));
    report.driver = driver->description();
    report.machine = fmt::format("{} x {}", driver->device_count(),
                                 driver->machine().devices.front().model.value_or("unknown device"));
    report.command = arguments.command;
    report.simulated = driver->simulated();
    report.twin = twin ? twin_name : "";
    std::fputs(report.table().c_str(), stdout);
    for (auto const& finding : rig.mover().findings()) {
        std::printf("finding %s: %s\n", finding.code.c_str(),
                    finding.evidence.empty() ? "" : finding.evidence.front().c_str());
    }
    if (!arguments.out.empty() && !(std::ofstream(arguments.out) << report.json())) {
        throw std::runtime_error("cannot write " + arguments.out);
    }
    return bench_run.wrong() > 0 ? 2 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    auto const failed = [](const char* what, int status) {
        std::fprintf(stderr, "many_devices: %s\n", what);
        return status;
    };
    try {
        return run(read(argc, argv));
    } catch (const Usage& error) {
        return failed(error.what(), 64);
    } catch (const peerlane::InputError& error) {
        return failed(error.what(), 65);
    } catch (const peerlane::NoSuchMachine& error) {
        return failed(error.what(), 66);
    } catch (const peerlane::Error& error) {
        return failed(error.what(), error.code() == 100 ? 3 : 70);
    } catch (const std::exception& error) {
        return failed(error.what(), 70);
    }
}
