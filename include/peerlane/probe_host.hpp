#pragma once
/// Where proofs run. Steps and a deadline in, outcomes out. Real ones start a helper executable, so that a step that
/// hangs or takes the driver down with it costs its process and not ours; simulated ones play freeze, wedge and reset.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <peerlane/driver.hpp>
#include <peerlane/fault.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane::prove {

/// One thing to find out. `control` steps move bytes source > destination through the host: accessor is then the
/// source. `self_test` steps plant wrong bytes in the memory of one device, accessor and owner alike, and ask whether
/// those that look find them. `ways` steps try the other mappings of a pair (pool, virtual memory). `group` steps move
/// bytes of all `pairs` at once (check push or pull), or map them all at once (check map); accessor and owner are those
/// of the first. `idle` steps ask whether a device (accessor and owner alike) takes work; hosts run them by themselves
/// after a hang.
struct ProbeStep {
    enum class Kind : std::uint8_t { check, control, self_test, ways, group, idle };
    Kind kind = Kind::check;
    Check check = Check::claim;  ///< of kind check; of kind group push, pull or map
    int accessor = 0;
    int owner = 0;
    std::vector<std::uint64_t> sizes{};  ///< ascending; empty for claim and map
    std::uint64_t seed = 0;
    std::vector<std::pair<int, int>> pairs{};  ///< of a group: accessor, owner
    std::string name{};                        ///< of a group: "all out of 0"
    double seconds = 0;                        ///< of a group: how long to keep moving, looking now and then; 0: once
    friend bool operator==(const ProbeStep&, const ProbeStep&) = default;
};

/// "0:1 push", "control 0>1", "self-test 0", "0:1 ways", "group all out of 0, pushed", "idle 0".
std::string describe(const ProbeStep& step);

struct ProbeOutcome {
    ProbeStep step;
    CheckResult result;
    friend bool operator==(const ProbeOutcome&, const ProbeOutcome&) = default;
};

using OnBegin = std::function<void(const ProbeStep&)>;
using OnEnd = std::function<void(const ProbeOutcome&)>;
/// Asked before each step: why it must not run (a device that is still busy, a step that once took the host down, the
/// user's Ctrl-C); empty when it may. Such a step is skipped with that reason: `begin` is not called, `end` is.
using Veto = std::function<std::string(const ProbeStep&)>;

class ProbeHost {
  public:
    virtual ~ProbeHost() = default;
    /// Runs the steps of one batch in order, calling `begin` before and `end` after each (a journal hangs there; either
    /// may be empty). A step that does not end within `seconds_per_step` is a hang; the steps after it still run, in a
    /// fresh process. Never throws for what a step does; throws Error when no prober can be started at all.
    virtual std::vector<ProbeOutcome> run(const std::vector<ProbeStep>& steps, double seconds_per_step,
                                          const OnBegin& begin, const OnEnd& end) = 0;
};

/// After a hang both hosts look, with a fresh prober, whether the devices of that step take work again. Where one does
/// not, nothing more is sent to it: later steps that concern it are skipped with the reason "device N is still busy
/// ...".

/// Runs steps in this process. For simulated machines: a real hang would take this process with it.
struct InProcessOptions {
    /// Called at first, and again after a step that left the driver unusable (a hang, a sticky error).
    std::function<std::unique_ptr<Driver>()> open;
    /// True for steps whose hang cannot be ended (the simulation's `freeze`), and for `idle` steps of a device that
    /// stays busy (`wedge`); may be empty.
    std::function<bool(const ProbeStep&)> freezes{};
    Veto veto{};
};
std::unique_ptr<ProbeHost> in_process_host(InProcessOptions options);
/// `freezes` of a simulation with these faults.
std::function<bool(const ProbeStep&)> freezes_of(std::vector<Fault> faults);

/// Runs steps in a helper executable, started anew after a step that had to be ended.
struct ChildOptions {
    std::string helper;  ///< path of peerlane-probe
    std::vector<std::string>
        arguments{};            ///< "--machine", FILE, "--fault", SPEC for a simulated machine; none for this one
    double start_seconds = 60;  ///< until the helper has opened its devices
    double end_seconds = 2;     ///< after asking it to end, and again after killing it, before it counts as frozen
    /// Sends a signal to the helper, true when sent; ::kill when empty. Tests play a process that does not die with it.
    std::function<bool(int process, int signal)> send_signal{};
    Veto veto{};
    /// Asked ten times a second while a step runs: true ends the step and its process at once; the step is then
    /// skipped.
    std::function<bool()> stopped{};
};
std::unique_ptr<ProbeHost> child_host(ChildOptions options);

}  // namespace peerlane::prove
