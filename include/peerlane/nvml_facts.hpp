#pragma once
/// What NVIDIA's management library answered, unjudged. A plain value.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <peerlane/host_facts.hpp>
#include <peerlane/machine.hpp>

namespace peerlane {

/// One question to the library. `device`: its index there, -1 for questions about the system.
struct NvmlCall {
    std::string name;
    int device = -1;
    double seconds = 0;
    friend bool operator==(const NvmlCall&, const NvmlCall&) = default;
};

struct NvmlLink {
    enum class Remote : std::uint8_t { unknown, device, cpu, nvswitch };
    int number = 0;
    bool active = false;
    std::optional<int> generation;  ///< of NVLink
    std::optional<double> gbs;      ///< one direction, raw
    Remote remote = Remote::unknown;
    std::string remote_bus;  ///< empty: the far end has no address here (a switch that a guest cannot see)
    friend bool operator==(const NvmlLink&, const NvmlLink&) = default;
};

/// A process that uses a device, ours among them.
struct NvmlUser {
    int process = 0;
    std::string kind;  ///< "graphics", "compute"
    friend bool operator==(const NvmlUser&, const NvmlUser&) = default;
};

struct NvmlDevice {
    int index = 0;  ///< in the library's order
    std::string bus, uuid, name;
    std::optional<std::uint64_t> memory_bytes, window_bytes;  ///< of the device; of its BAR1
    std::optional<int> compute_capability;                    ///< major * 10 + minor
    PciRate current, most;
    std::optional<bool> mig;
    int mig_instances = 0;
    std::optional<int> fabric_state;   ///< 0 not supported, 1 not started, 2 in progress, 3 completed
    std::optional<int> fabric_status;  ///< the library's code of the fabric's registration, once completed
    std::optional<bool> display_attached, display_active;  ///< a screen is plugged in; something draws on the device
    std::optional<std::uint64_t> window_used_bytes;        ///< of its BAR1, at rest
    std::optional<int> busy_percent;                       ///< over the library's last period, a second at most
    std::optional<double> watts;
    std::optional<std::vector<NvmlUser>> users;  ///< empty: not told (a process namespace of its own)
    std::optional<int> virtualization;           ///< 0 none, 1 passed through, 2 vGPU, 3 host of vGPUs, 4 host of vSGAs
    std::optional<int> links_code;  ///< the library's answer where it would not list links (3: not supported)
    std::vector<NvmlLink> links;    ///< those that the device has, by number
    friend bool operator==(const NvmlDevice&, const NvmlDevice&) = default;
};

/// Counters of one device since the driver was loaded, and what it is like now; empty where the management library does
/// not tell.
struct DeviceCounters {
    std::string bus;
    std::optional<std::uint64_t> nvlink_replays, nvlink_recoveries, nvlink_crc_errors;  ///< sums over its links
    std::optional<std::uint64_t> ecc_corrected, ecc_uncorrected;
    std::optional<int> celsius, sm_mhz, memory_mhz;
    friend bool operator==(const DeviceCounters&, const DeviceCounters&) = default;
};

struct NvmlPair {
    std::string accessor, owner;  ///< bus addresses
    Claims claims;
    std::optional<int> ancestor;  ///< 0 same board, 10 one switch, 20 several, 30 host bridge, 40 NUMA node, 50 system
    friend bool operator==(const NvmlPair&, const NvmlPair&) = default;
};

struct NvmlFacts {
    /// absent: there is no such library here. failed: it would not start. hung: a call did not return in its bound;
    /// what was answered before is kept.
    enum class State : std::uint8_t { absent, failed, hung, ok } state = State::absent;
    std::optional<int> code;  ///< the library's, of a failure to start
    std::string reason;       ///< why not ok, in words
    std::string driver_version, library_version;
    std::optional<int> cuda_version;  ///< of the driver, 13000 = 13.0
    std::vector<NvmlDevice> devices;
    std::vector<NvmlPair> pairs;           ///< every ordered pair of different devices
    std::vector<DeviceCounters> counters;  ///< only of a look at counters alone
    std::vector<NvmlCall> slow;            ///< calls that took longer than a second
    std::optional<NvmlCall> hung;          ///< the call that did not return, and how long it was waited for
    [[nodiscard]] const NvmlDevice* device(const std::string& bus) const;
    [[nodiscard]] const NvmlPair* pair(const std::string& accessor, const std::string& owner) const;
    friend bool operator==(const NvmlFacts&, const NvmlFacts&) = default;
};

}  // namespace peerlane
