#pragma once
/// A machine that is not there: the same driver interface over a virtual clock.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peerlane/driver.hpp>
#include <peerlane/fault.hpp>
#include <peerlane/machine.hpp>

namespace peerlane {

namespace sim {
struct Figures;
}

/// A machine and the figures of its simulation (src/driver/sim/figures.hpp). A value.
class SimulatedMachine {
  public:
    /// Figures by default. The machine may lack a graph: a plausible one is made from its path classes.
    explicit SimulatedMachine(Machine machine);
    /// Figures from the key "simulation" of the machine's own document. Throws InputError that names `file`.
    SimulatedMachine(Machine machine, std::string_view machine_json, const std::string& file);
    [[nodiscard]] const Machine& machine() const { return machine_; }
    [[nodiscard]] const sim::Figures& figures() const { return *figures_; }

  private:
    Machine machine_;
    std::shared_ptr<const sim::Figures> figures_;
};

/// What the simulated hardware does beyond its description and beyond what any model above the seam knows: for tests
/// that measuring and planning must pass honestly. Nothing but measuring can see it.
struct SimEffects {
    double jitter = 0;             ///< part by which each transfer is longer or shorter, at most; drawn from the seed
    double arbitration = 0;        ///< part of its share that a copy loses beside another copy of the same device
    std::optional<int> engines{};  ///< copies that a device runs at once; it still claims all its engines
    struct SharedPort {
        std::vector<int> devices;
        double gbs = 0;  ///< all that leaves or enters any of them
    };
    std::vector<SharedPort> shared_ports{};
    struct SlowLink {
        std::string from, to;  ///< names of nodes of the graph
        double gbs = 0;
    };
    std::vector<SlowLink> slow_links{};
    /// Writes over PCIe of two devices below one root port towards two others share this, GB/s.
    std::optional<double> write_collapse_gbs{};
};

/// All of them at once, drawn from the seed: jitter of up to 5 %, two or three engines that are not served alike, two
/// devices behind a port that nobody told of, one direction of a device's fastest link at a third to two thirds, and,
/// on half of the machines, writes that collapse.
SimEffects hidden_effects(const Machine& machine, std::uint64_t seed);

/// When simulated devices work. Device times are the same in the first two; a program that is right gives the same
/// bytes in all three.
enum class SimProgress : std::uint8_t {
    when_waited,     ///< only inside a call that waits or asks: as late as can be
    as_time_passes,  ///< up to the caller's clock in every call
    /// The same with pauses of the host drawn from the seed, up to 2 ms before a call, so that work may be done before
    /// the next call comes.
    host_pauses,
};

struct SimOptions {
    std::vector<Fault> faults{};
    std::uint64_t seed = 1;  ///< of what memory holds before it is written, of jitter and of pauses
    SimEffects effects{};
    SimProgress progress = SimProgress::when_waited;
};

/// Throws std::invalid_argument for a machine without devices or a fault that names a device it lacks. Safe to use from
/// several threads, each with a clock of its own; with one thread, equal calls give equal results and times, bit for
/// bit. A wait that nothing can end throws Error 702 instead of hanging.
std::unique_ptr<Driver> open_simulated(const SimulatedMachine& machine, const SimOptions& options = {});

}  // namespace peerlane
