#pragma once
/// The machine that a command is about, and the driver that works on it.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <peerlane/discover.hpp>
#include <peerlane/driver.hpp>
#include <peerlane/named.hpp>
#include <peerlane/probe_host.hpp>
#include <peerlane/simulated.hpp>

#include "cli/globals.hpp"
#include "cli/numbering.hpp"

namespace peerlane::cli {

struct Target {
    std::optional<SimulatedMachine> simulated{};  ///< of --machine
    std::optional<Discovery> discovery{};         ///< without --machine
    Machine whole{};                              ///< numbered as people do
    Machine machine{};                            ///< the same without the devices that -i leaves out
    std::unique_ptr<Driver> driver{};             ///< null when there is no device
    std::string reason{};                         ///< why there is none, and what to do
    Numbering numbering{};
    std::uint64_t seed = 0;
};

/// What --machine or this system says. Throws UsageError for a fault, a fabric or an -i that does not fit the machine,
/// and what load_machines throws.
Target open_target(const Globals& globals);

/// Throws NothingRuns with the reason and what to type instead, when there is no driver.
void need_driver(const Target& target);

/// What watches over a proof.
struct Supervision {
    prove::Veto veto{};
    std::function<bool()> stopped{};
};

/// Steps in this process under simulation, else in the helper beside this executable. Both arguments are referred to
/// while it lives.
std::unique_ptr<prove::ProbeHost> prober_of(const Target& target, const Globals& globals,
                                            const Supervision& supervision = {});

/// Throws UsageError for a place that the machine does not have, that -i leaves out, or that this process does not see.
Place place_of(const Target& target, const std::string& argument, const std::string& word);

/// "Simulated machine dgx-1v, 8 devices." or "This machine: ...", with a line end.
std::string headline(const Target& target);
/// One line for each of these devices: number, bus address, model, and where it differs the CUDA ordinal.
std::string device_lines(const Target& target, const std::vector<int>& devices);

}  // namespace peerlane::cli
