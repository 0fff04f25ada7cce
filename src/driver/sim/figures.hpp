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

/// What many transfers that cross the host at once do to each other: where the condition holds for the root port of the
/// devices that issue them, they share `port_gbs` there. Of several rules that hold the last one counts.
struct InterferenceFigure {
    bool write = true;       ///< pushed or stored; else pulled or loaded
    int flows = 1;           ///< at least so many of this kind through the port
    int devices = 1;         ///< ... issued by so many devices below it
    int ports = 1;           ///< ... to so many other root ports
    int busy_ports = 1;      ///< so many ports of the machine carry such transfers
    bool both_ways = false;  ///< some of the same kind come the other way
    double port_gbs = 0;
};

/// Rates in GB/s = 1e9 bytes/s, times in seconds. JSON key of each member is its name; a value is a number or an object
/// {"value": number, "source": words, "fitted": bool}.
struct Figures {
    // Links: effective capacity = nominal capacity x efficiency, unless `capacities` names it.
    // Empty: by generation (src/driver/sim/defaults.cpp).
    std::optional<double> pcie_efficiency{};  ///< of 128b/130b signalling; headers and flow control take the rest
    std::optional<double> nvlink_efficiency{};
    double xgmi_efficiency = 0.76;
    double interconnect_efficiency = 0.7;
    // Both directions of a cable at once: each gets this part of what it gets alone.
    std::optional<double> pcie_duplex{};  ///< empty: by what the cable ends at
    std::optional<double> nvlink_duplex{};
    double xgmi_duplex = 0.94;
    std::optional<double> host_port_duplex{};   ///< the same for transfers from and to host memory at a root port
    std::optional<double> crossing_gbs{};       ///< peer traffic of one root port to root ports of other sockets
    std::optional<double> root_crossing_gbs{};  ///< ... to other root ports of the same socket
    double crossing_duplex = 0.95;
    double busy_port_efficiency = 0.74;    ///< of a device's PCIe port that several peer transfers leave or enter
    double xgmi_routed_efficiency = 0.92;  ///< of the ways over other devices, where no link joins two
    /// JSON: [{"kind": "write", "flows": , ..., "port_gbs": }]. nullopt: by the kind of machine.
    std::optional<std::vector<InterferenceFigure>> interference{};
    std::vector<CapacityFigure> capacities;  ///< JSON: [{"from": , "to": , "gbs": }] or [{"kind": , "gbs": }]

    // Engines.
    int copy_engines = 3;  ///< of a device
    int multiprocessors = 132;
    double local_gbs = 3300;                  ///< device memory, read plus write
    std::optional<double> host_memory_gbs{};  ///< of a NUMA node, read plus write; empty: from its channels
    std::optional<double> peer_copy_gbs{};    ///< most that one copy engine moves to or from a peer
    std::optional<double> pull_ramp_gbs{};    ///< over a fabric, of the first MiB of a pulled copy
    std::optional<double> peer_pull_gbs{};    ///< the same, pulled; peer_copy_gbs when empty
    double kernel_store_efficiency = 0.934;   ///< of the copy engine's rate over the same links: smaller packets
    double kernel_load_efficiency = 0.945;
    double kernel_store_gbs_per_cta = 44;  ///< remote
    double kernel_load_gbs_per_cta = 25.4;
    std::optional<double> to_device_gbs{};  ///< one copy from pinned host memory, alone
    std::optional<double> from_device_gbs{};
    std::optional<double> host_duplex_gbs{};  ///< all host legs of all devices together; empty: only links limit them
    std::optional<double>
        staged_by_driver_gbs{};  ///< one peer copy with nothing mapped; empty: a fraction of the slower host leg
    std::optional<double> staged_by_driver_fraction{};  ///< of that leg; empty: by generation
    std::optional<double> staged_total_gbs{};  ///< all such copies together, where the driver gains little from several
    double staged_shared_uplink = 0.73;        ///< of that total, where both legs take one cable
    std::optional<double> staged_duplex{};     ///< of one device, both ways together, to one copy; empty: by generation
    double to_host_share = 2;  ///< of a copy into the host's memory where it meets one out of it, to that one's
    double pageable_gbs = 7;

    // Fixed times on the device.
    double push_fixed_s = 2.2e-6;  ///< engine time of a copy before its first byte, next one queued behind
    double pull_fixed_s = 6.2e-6;
    double host_leg_fixed_s = 4.45e-6;  ///< 9.2 us a chunk of 256 KiB less its bytes (h200-pair)
    double local_fixed_s = 1.6e-6;
    double batch_fixed_s = 0.4e-6;  ///< of a copy of a batch call; assumed: it hides behind the call's own time
    double staged_fixed_s = 12e-6;
    double kernel_fixed_s = 0.6e-6;
    double piece_overhead_bytes = 200;  ///< of lists that kernels move: what a piece costs beside its bytes, as bytes
    double piece_s = 78e-9;             ///< ... and how long one block of threads is busy with a piece at least
    double kernel_start_s = 1.0e-6;     ///< from the end of the call to the start on an idle device
    double start_latency_s = 3.3e-6;    ///< from the end of the call to the start on an idle device
    double event_latency_s = 1.0e-6;    ///< from an event to a stream of another device that waits for it
    double remote_load_s = 860e-9;      ///< dependent load
    double local_load_s = 149e-9;
    double loaded_load_s = 643e-9;  ///< the same while all threads load
    double cache_bytes = 50e6;      ///< of the device
    double fetch_add_s = 844e-9;
    double flag_s = 1.05e-6;        ///< a store seen by a poller on the other side; 2.4 us there and back (h200-pair)
    double host_store_s = 1.45e-6;  ///< a flag of a kernel in host memory, fence included: a resident kernel's 64 bytes
                                    ///< take 3.4 us from the host's post to its completion (h200-pair)

    // Host costs of calls.
    double copy_call_s = 2.7e-6;
    double plain_copy_call_s = 2.5e-6;  ///< the call that names no devices
    double batch_copy_s = 0.68e-6;      ///< each copy of a batch call ...
    double batch_growth_s = 2e-11;      ///< ... and so much more for each copy that the call has
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
