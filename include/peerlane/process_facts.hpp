#pragma once
/// What surrounds this process (settings, container, runtime, other processes), and what was read around a run of
/// tests. Unjudged plain values. Empty means "not there or not readable", never "no".

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <peerlane/host_facts.hpp>
#include <peerlane/nvml_facts.hpp>

namespace peerlane {

/// A name, its raw value, and where it was read: "environment", a file.
struct Setting {
    std::string name, value, origin;
    friend bool operator==(const Setting&, const Setting&) = default;
};

/// A process that uses a device, from the management library.
struct DeviceUser {
    std::string bus;
    int process = 0;
    std::string kind;  ///< "graphics", "compute"
    friend bool operator==(const DeviceUser&, const DeviceUser&) = default;
};

/// Another process of the same job, as it told us or as `<proc>/<pid>` shows it.
struct NeighbourProcess {
    std::string name;                                 ///< as the job calls it, or its id
    std::optional<bool> same_host;                    ///< empty: not told
    std::optional<std::vector<std::string>> visible;  ///< bus addresses of the devices that it sees
    std::optional<int> import_code;                   ///< of opening a handle that it exported
    std::vector<Setting> namespaces;                  ///< "ipc" -> "ipc:[4026531839]"
    std::string shm_device;                           ///< device number of its /dev/shm, "0:24"
    friend bool operator==(const NeighbourProcess&, const NeighbourProcess&) = default;
};

struct ProcessFacts {
    std::vector<Setting> settings;           ///< variables that hide, order or force something; only those set
    std::optional<int> init_code;            ///< of the runtime's start, 0 = success; empty: not tried
    std::vector<std::string> runtime_order;  ///< bus addresses by the runtime's ordinals; empty: not asked
    std::vector<std::string> driver_gpus;    ///< bus addresses in `<proc>/driver/nvidia/gpus`
    std::optional<std::vector<std::string>> device_files;  ///< "nvidia0", "nvidiactl", "nvidia-uvm" of `<dev>`
    std::optional<std::uint64_t> shm_bytes, shm_free_bytes;
    std::string shm_device;                  ///< device number of /dev/shm
    std::vector<Setting> namespaces;         ///< of this process: "ipc" -> "ipc:[4026531839]"
    std::optional<bool> sees_all_processes;  ///< not in a process namespace of its own
    std::string cgroup;                      ///< path of its control group
    std::optional<std::uint64_t> memory_limit_bytes;
    std::optional<std::vector<std::string>> kernel_log;  ///< lines that may concern devices; empty: not readable
    std::optional<bool> fabric_manager;                  ///< its process runs; empty: processes not visible
    std::string fabric_manager_version;
    std::optional<int> imex_channels;       ///< device files of channels
    std::optional<int> fabric_handle_code;  ///< of asking for a fabric handle; empty: not tried
    std::vector<DeviceUser> device_users;   ///< other processes on the devices
    std::vector<NeighbourProcess> neighbours;
    friend bool operator==(const ProcessFacts&, const ProcessFacts&) = default;
};

/// Error counters of one PCI function, sums over kinds.
struct PciErrors {
    std::string bus;
    std::optional<std::uint64_t> correctable, nonfatal, fatal;
    friend bool operator==(const PciErrors&, const PciErrors&) = default;
};

/// A link read while a copy ran over it.
struct LoadedLink {
    std::string bus;
    PciRate rate;
    friend bool operator==(const LoadedLink&, const LoadedLink&) = default;
};

/// One read of how busy a device is after all tests ended.
struct DeviceActivity {
    std::string bus;
    int busy_percent = 0;
    std::optional<double> watts;
    std::optional<int> processes;  ///< on it, ours not counted
    double seconds_after = 0;      ///< after the last prober ended
    friend bool operator==(const DeviceActivity&, const DeviceActivity&) = default;
};

/// The step that a former run had begun and never closed.
struct OpenStep {
    std::string file;               ///< the record it was read from
    std::string step;               ///< "0:1 store"
    int accessor = -1, owner = -1;  ///< -1 when the step concerns no pair
    std::string boot_id;            ///< of that run
    std::optional<bool> process_alive;
    friend bool operator==(const OpenStep&, const OpenStep&) = default;
};

/// What a verdict was taken under, and the same now. Names: "driver", "firmware", "machine", "boot", "kernel",
/// "kernel command line", "nvlink:BUS", "link:BUS".
struct VerdictKey {
    bool in_use = false;  ///< the verdict that this process goes by; false: one found in the cache
    std::vector<Setting> then, now;
    friend bool operator==(const VerdictKey&, const VerdictKey&) = default;
};

/// What an earlier record says it did.
struct FormerRun {
    std::string file, when;
    bool direct = false;  ///< the direct path was really used
    friend bool operator==(const FormerRun&, const FormerRun&) = default;
};

struct RunFacts {
    std::vector<PciErrors> errors_before, errors_after;
    std::vector<DeviceCounters> counters_before, counters_after;
    std::vector<LoadedLink> loaded;
    std::vector<DeviceActivity> activity;  ///< in the order of reading
    std::optional<OpenStep> open_step;
    std::optional<VerdictKey> key;
    std::vector<FormerRun> former_runs;
    friend bool operator==(const RunFacts&, const RunFacts&) = default;
};

}  // namespace peerlane
