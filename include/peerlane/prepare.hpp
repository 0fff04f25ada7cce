#pragma once
/// What a mover has to know of its machine: read where it still holds, else proven and measured now, by one process
/// while the others that want the same wait for it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <peerlane/mover.hpp>
#include <peerlane/probe_host.hpp>
#include <peerlane/share.hpp>

namespace peerlane {

enum class Missing : std::uint8_t { refuse, prove };
enum class Measuring : std::uint8_t { none, quick, full };

struct PrepareProgress {
    bool waiting = false;  ///< another process is at work; else this one
    double seconds = 0;    ///< since prepare began
    std::string what{};    ///< "proving 0:1 push (3 of 24)", in the words of who is at work; numbers in bus order
};

struct PrepareOptions {
    std::string cache{};   ///< a folder, made where missing; empty: nothing is kept, and nothing shared with others
    std::string prober{};  ///< path of peerlane-probe; needed for real devices only
    Missing when_missing = Missing::prove;
    Measuring measure = Measuring::quick;  ///< a full profile that is stored stands for a quick one
    /// Devices of the machine that the processes of a job use together, where each sees only a part of them. Empty:
    /// those that this process sees. All processes that are to share one proof must name the same.
    std::vector<DeviceName> devices{};
    std::string depends_on{};  ///< what else changes verdicts: the faults of a simulation
    std::uint64_t seed = 1;
    double seconds_per_step = 10;
    double wait_s = 600;  ///< for another process that is at work
    std::function<void(const PrepareProgress&)> progress{};
    /// Where proofs run, instead of the prober. Called once a proof.
    std::function<std::unique_ptr<prove::ProbeHost>()> host{};
};

/// For `Mover`, and of the whole set of devices.
struct Prepared : Ready {
    Machine whole{};                     ///< the devices that were asked for, numbered in bus order
    Verdicts proven{};                   ///< of them
    bool from_cache = false;             ///< neither proven nor measured by this process
    bool waited = false;                 ///< for another process
    std::vector<std::string> notices{};  ///< why what was stored was not used, what could not be kept or measured
};

/// The driver's devices with what is known of the links between them, numbered as the driver does. Of real devices a
/// driver knows no more than their names: links, switches and NUMA nodes come from `discover`. Where what the system
/// shows does not hold all of them, and under simulation, it is what the driver says.
Machine known_machine(Driver& driver);

/// Verdicts and profile of the driver's devices, in the machine that known_machine gives. Proofs run in children on
/// real devices, and on the driver itself under simulation; measuring runs on the driver, and is left out, with a
/// notice, where it does not see all of the devices. Never trusts: what could not be told is an Error (code 999) for
/// each process that waited for it, too. Throws Error 600 where nothing is stored and proving was refused, and when
/// another process is at work for longer than wait_s; std::invalid_argument for real devices without a prober and for a
/// device that the machine does not have.
Prepared prepare(Driver& driver, const PrepareOptions& options = {});

}  // namespace peerlane
