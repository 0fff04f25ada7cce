#pragma once
/// What a machine is, as far as somebody told us: devices, directed pairs, host memory, and where known the graph that
/// joins them. A plain value: it compares, prints and has a JSON form (`peerlane.machine/1`). Unknown is an empty
/// optional, never 0.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <peerlane/graph.hpp>

namespace peerlane {

/// More devices than any machine has; readers refuse beyond it, so that no input can ask for unbounded pairs.
inline constexpr int most_devices = 512;

/// How two devices are joined, worst first. NV and XGMI are fabrics of the vendors; the others are words of `nvidia-smi
/// topo`: PIX one PCI bridge, PXB several, PHB a host bridge, NODE between host bridges of a NUMA node, SYS between
/// NUMA nodes.
enum class PathClass : std::uint8_t { unknown, sys, node, phb, pxb, pix, xgmi, nv };

struct Device {
    int id = 0;                               ///< ordinal in this machine
    std::optional<std::string> model;         ///< as the vendor prints it, "NVIDIA H200"
    std::optional<std::string> bus;           ///< lower case, domain of at least four digits: "0000:01:00.0"
    std::optional<std::string> uuid;          ///< "GPU-..."
    std::optional<int> numa;                  ///< NUMA node of the host that is nearest
    std::optional<std::string> numa_text;     ///< as printed where it is no single number ("0-1")
    std::optional<std::string> cpu_affinity;  ///< list of CPUs, "0-23,48-71"
    std::optional<int> memory_numa;           ///< NUMA node that its own memory is, where the host sees it as one
    std::optional<int> compute_capability;    ///< major * 10 + minor
    std::optional<std::string> architecture;  ///< of AMD parts, as the input writes it: "gfx90a", "910"
    std::optional<std::uint64_t> memory_bytes;
    std::optional<int> pcie_generation;       ///< of its own link, 3 = 8 GT/s
    std::optional<int> pcie_width;            ///< lanes
    std::optional<int> nvlinks;               ///< links whose state answers, all targets together
    std::vector<int> inactive_nvlinks;        ///< numbers of the links that a list names as inactive
    std::optional<double> nvlink_gbs;         ///< one NVLink, one direction, as the management tool prints it
    std::optional<std::string> nvlink_state;  ///< "active", "inactive" (all of them), "refused-mig", "unsupported"
    std::optional<bool> mig;                  ///< partitioned into instances
    int mig_instances = 0;
    friend bool operator==(const Device&, const Device&) = default;
};

/// One answer of the driver to "may accessor reach owner": the status word ("OK", "CNS", "GNS", "TNS", "NS", "DR",
/// "U").
struct Claims {
    std::optional<std::string> read, write, nvlink, atomics, pcie;
    friend bool operator==(const Claims&, const Claims&) = default;
};

/// Rates that somebody measured, GB/s = 1e9 bytes/s of one direction unless said otherwise. "write": bytes go from
/// accessor to owner; "read": from owner to accessor.
struct Measured {
    std::optional<double> write_gbs, read_gbs;          ///< copy engine, peer access on
    std::optional<double> write_sm_gbs, read_sm_gbs;    ///< by kernel
    std::optional<double> staged_gbs;                   ///< peer access off, accessor to owner
    std::optional<double> bidirectional_gbs;            ///< both directions at once, sum
    std::optional<double> bidirectional_staged_gbs;     ///< the same with peer access off
    std::optional<double> latency_s, staged_latency_s;  ///< one small access or copy
    [[nodiscard]] bool empty() const { return *this == Measured{}; }
    friend bool operator==(const Measured&, const Measured&) = default;
};

/// One directed pair: `accessor` reaches into memory of `owner`.
struct Pair {
    int accessor = 0;
    int owner = 0;
    PathClass path = PathClass::unknown;
    std::optional<int> nvlinks;         ///< links that join the two, through switches too
    std::optional<double> nominal_gbs;  ///< one direction; null when generation or width is not known
    std::optional<bool> claim;          ///< the driver's (or the test's) yes or no to peer access
    Claims claims;                      ///< the detailed answers
    Measured measured;
    friend bool operator==(const Pair&, const Pair&) = default;
};

/// Measured rates between one device and the host, GB/s. "loaded": while the other direction was running.
struct HostRates {
    int device = 0;
    std::optional<double> to_device_gbs, from_device_gbs, to_device_loaded_gbs, from_device_loaded_gbs;
    friend bool operator==(const HostRates&, const HostRates&) = default;
};

/// A network adapter and how near it is to each device. Its number says nothing about whose neighbour it is.
struct Nic {
    std::string name;  ///< "mlx5_0"; as the input calls it
    std::optional<std::string> bus;
    std::vector<PathClass> paths;  ///< to devices[0], devices[1], ...; unknown where the input does not say
    friend bool operator==(const Nic&, const Nic&) = default;
};

/// Something worth knowing about the input; `code` is one of the list in docs/findings (section Reading).
struct Notice {
    std::string code, file;
    int line = 0;  ///< 1-based; 0 when no line applies
    std::string text;
    friend bool operator==(const Notice&, const Notice&) = default;
};

struct Origin {
    std::string kind;  ///< "live", "file", "named", "grammar"
    std::vector<std::string> files;
    std::optional<bool> virtualized;  ///< a guest's view
    std::string name;                 ///< of a named machine
    std::string source;               ///< where its facts come from
    std::vector<std::string> hosts;   ///< what the inputs call the host: a name, or a hash "0x..."
    friend bool operator==(const Origin&, const Origin&) = default;
};

struct Machine {
    Origin origin;
    std::vector<Device> devices;  ///< sorted by id, ids 0 .. n-1
    std::vector<Pair> pairs;      ///< every ordered pair of different devices, sorted by accessor, then owner
    std::vector<HostRates> host;  ///< may be empty
    std::vector<Nic> nics;        ///< may be empty
    Graph graph;                  ///< may be empty: then only the pairs are known
    std::vector<Notice> notices;
    friend bool operator==(const Machine&, const Machine&) = default;

    /// nullptr when there is no such directed pair.
    [[nodiscard]] const Pair* pair(int accessor, int owner) const;
    [[nodiscard]] Pair* pair(int accessor, int owner);
    [[nodiscard]] const Device* device(int id) const;
};

/// "NV", "XGMI", "PIX", "PXB", "PHB", "NODE", "SYS", "UNKNOWN".
const char* to_string(PathClass path);
/// Reads the words above in any case, and the old "SOC" (today SYS). Not "NV18": the count is the reader's business.
std::optional<PathClass> parse_path_class(const std::string& word);

/// Adds every missing ordered pair, sorts devices and pairs, and lets every NIC have a path to every device. Readers
/// end with it. Throws std::invalid_argument when ids are not 0 .. n-1, a pair is outside, doubled or of one device, or
/// there are too many.
void complete_pairs(Machine& machine);

}  // namespace peerlane
