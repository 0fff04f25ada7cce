#pragma once
/// The machine that this process runs on. Reads the system's files and asks the management library; changes nothing,
/// needs no root, decides nothing. Facts that cannot be read are empty, and a notice says so.

#include <memory>
#include <string>
#include <vector>

#include <peerlane/facts.hpp>
#include <peerlane/host_facts.hpp>
#include <peerlane/machine.hpp>
#include <peerlane/nvml_facts.hpp>

namespace peerlane {

/// Where the system's files lie: inputs, so that another machine's files can be read in place of this one's.
struct DiscoverRoots {
    std::string sysfs = "/sys";
    std::string proc = "/proc";
    std::string dev = "/dev";
    std::string packages = "/var/lib/dpkg/status";  ///< the list of installed packages
};

/// How long the management library may take, seconds. A call that exceeds its bound is given up
/// (`NvmlFacts::State::hung`); the thread that made it is left behind, since no call can be ended from outside.
/// Starting a driver that keeps no state takes seconds a device, hence the long first bound.
struct NvmlBounds {
    double start_s = 60;
    double call_s = 20;
    double total_s = 120;
};

struct Discovery {
    Machine machine;  ///< origin "live", devices in bus order
    HostFacts host;
    NvmlFacts nvml;
    ProcessFacts process;        ///< the environment too, as this process was started with it
    std::vector<Unread> unread;  ///< what could not be read, and whether root would help
    friend bool operator==(const Discovery&, const Discovery&) = default;
};

/// The management library as a table of functions (src/discover/nvml_api.hpp).
struct NvmlApi;

/// The real library, looked up at run time when it is first asked. Never null.
std::shared_ptr<const NvmlApi> system_nvml();

/// Never throws for what the machine is like. `nvml` may be null: then it is not asked. It is shared with a thread that
/// may outlive the call.
Discovery discover(const DiscoverRoots& roots, const std::shared_ptr<const NvmlApi>& nvml, NvmlBounds bounds = {});
/// This machine.
Discovery discover();

/// What was discovered, for diagnosis. What the runtime knows (its order, the code of its start) is the caller's to
/// add.
Facts facts_of(const Discovery& discovery);

/// Error counters of every function that has some, for a look before and after a run.
std::vector<PciErrors> read_pci_errors(const DiscoverRoots& roots = {});
/// Links of displays and accelerators as they are at this moment: called while a copy runs.
std::vector<LoadedLink> read_links(const DiscoverRoots& roots = {});
/// How busy each device is now, processes other than this one counted. Empty when the library does not answer.
std::vector<DeviceActivity> read_activity(const std::shared_ptr<const NvmlApi>& nvml, double seconds_after,
                                          NvmlBounds bounds = {});

/// Counters, temperature and clocks of each device that the library lists; read only.
std::vector<DeviceCounters> read_counters(const std::shared_ptr<const NvmlApi>& nvml, NvmlBounds bounds = {});
/// Lines of the kernel's log that concern devices, as `discover` keeps them; empty when this user may not read it.
std::optional<std::vector<std::string>> read_kernel_log(const DiscoverRoots& roots = {});

/// The second half of `discover`: facts in, machine out. Pure.
Machine machine_from(const HostFacts& host, const NvmlFacts& nvml);

/// What the system shows, for people: sockets, NUMA nodes, the PCI devices that matter, drivers. Ends with a line
/// break.
std::string system_text(const Discovery& discovery);

}  // namespace peerlane
