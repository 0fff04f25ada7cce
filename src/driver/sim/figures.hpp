#pragma once
/// What a simulated machine costs: the constants behind its Truth. They come from the key "simulation" of a machine
/// file, each with its source, and from defaults where the file says nothing. Nothing above the seam can reach them
/// except by measuring.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace peerlane::sim {

/// One overriding capacity: links of a kind, or the link between two named nodes.
struct CapacityFigure {
    std::string from, to;  ///< node names of the graph; empty with `kind` set
    std::string kind;      ///< "pcie", "nvlink", "xgmi", "interconnect", "memory"; empty with names set
    double gbs = 0;        ///< of one direction
};

/// Rates in GB/s = 1e9 bytes/s, times in seconds. JSON key of each member is its name; a value is a number or an object
/// {"value": number, "source": words, "fitted": bool}.
struct Figures {
    // Links: effective capacity = nominal capacity x efficiency, unless `capacities` names it.
    double pcie_efficiency = 0.87;  ///< of 128b/130b signalling; headers and flow control take the rest
    double nvlink_efficiency = 0.83;
    double xgmi_efficiency = 0.75;
    double interconnect_efficiency = 0.7;
    std::vector<CapacityFigure> capacities;  ///< JSON: [{"from": , "to": , "gbs": }] or [{"kind": , "gbs": }]

    // Engines.
    int copy_engines = 3;  ///< of a device
    int multiprocessors = 132;
    double local_gbs = 3300;                 ///< device memory, read plus write
    double host_memory_gbs = 200;            ///< of a NUMA node, read plus write
    std::optional<double> peer_copy_gbs{};   ///< most that one copy engine moves to or from a peer
    std::optional<double> peer_pull_gbs{};   ///< the same, pulled; peer_copy_gbs when empty
    double kernel_store_efficiency = 0.934;  ///< of the copy engine's rate over the same links: smaller packets
    double kernel_load_efficiency = 0.945;
    double kernel_store_gbs_per_cta = 44;  ///< remote
    double kernel_load_gbs_per_cta = 25.4;
    std::optional<double> to_device_gbs{};  ///< one copy from pinned host memory, alone
    std::optional<double> from_device_gbs{};
    std::optional<double> host_duplex_gbs{};  ///< all host legs of all devices together; empty: only links limit them
    std::optional<double>
        staged_by_driver_gbs{};  ///< peer copy with nothing mapped; empty: a fraction of the slower host leg
    double staged_by_driver_fraction = 0.68;
    double pageable_gbs = 7;

    // Fixed times on the device.
    double push_fixed_s = 2.2e-6;  ///< engine time of a copy before its first byte, next one queued behind
    double pull_fixed_s = 6.2e-6;
    double host_leg_fixed_s = 3.7e-6;
    double local_fixed_s = 1.6e-6;
    double staged_fixed_s = 12e-6;
    double kernel_fixed_s = 2.0e-6;
    double start_latency_s = 3.3e-6;  ///< from the end of the call to the start on an idle device
    double event_latency_s = 1.0e-6;  ///< from an event to a stream of another device that waits for it
    double remote_load_s = 860e-9;    ///< dependent load
    double local_load_s = 149e-9;
    double fetch_add_s = 844e-9;
    double flag_s = 1.2e-6;  ///< a store seen by a poller on the other side

    // Host costs of calls.
    double copy_call_s = 2.7e-6;
    double batch_copy_s = 1.0e-6;  ///< each copy of a batch call
    double launch_call_s = 4.3e-6;
    double graph_launch_call_s = 6.0e-6;
    double small_call_s = 0.5e-6;  ///< record, wait, write value
    double sync_idle_s = 1.9e-6;
    double sync_wake_s = 3.2e-6;  ///< from completion to the return of a call that had to wait
    double query_s = 1.6e-6;
    double poll_s = 60e-9;
    double provenance_s = 0.23e-6;
    double can_access_s = 0.17e-6;
    double enable_s = 11e-3;
    double disable_s = 92e-6;
    double grant_s = 31e-6;
    double allocate_s = 100e-6;
    double pinned_s_per_byte = 5.5e-10;  ///< pinned allocation

    double host_memory_bytes = 256e9;
    double device_memory_bytes = 80e9;  ///< where the machine does not say

    bool gpu_direct = true;  ///< false: the driver claims no peer access at all
    bool native_atomics = true;
};

/// Reads the object behind the key "simulation" of a machine document; defaults where it or a key is missing. Throws
/// InputError with `file` for a wrong type, a rate that is not positive, or a key it does not know.
Figures read_figures(std::string_view machine_json, const std::string& file);

}  // namespace peerlane::sim
