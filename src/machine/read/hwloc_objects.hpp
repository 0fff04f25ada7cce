#pragma once
/// What hwloc says, before it becomes a machine: shared by the reader of its XML and that of its console text.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "machine/read/reader.hpp"

namespace peerlane::read {

/// A PCI function or a bridge; `parent` indexes the same list, -1 for one that hangs on no bridge.
struct HwlocPci {
    enum class Kind { host_bridge, bridge, device } kind = Kind::device;
    int parent = -1;
    int line = 0;
    std::uint64_t gp_index = 0;
    std::string bus;  ///< empty for host bridges
    int class_id = 0, vendor = 0, product = 0;
    double link_gbs = 0;       ///< of its own link (a root or downstream port: the one below); 0 unknown
    std::string subtype;       ///< "NVSwitch"
    std::string product_name;  ///< of the PCI data base
    std::optional<int> numa;   ///< of host bridges: the one NUMA node that is near
    std::string cpus;          ///< of host bridges: list of near CPUs, empty when all
    struct Function {          ///< an operating system's name for it
        std::string name;
        std::uint64_t gp_index = 0;
        bool network = false, fabric_nic = false;
        std::string model, uuid;
        std::optional<std::uint64_t> memory_bytes;
        bool gpu = false;
    };
    std::vector<Function> functions;
};

struct HwlocNuma {
    int number = 0;
    int socket = -1;
    bool gpu_memory = false;
    std::string gpu_bus;  ///< of the GPU whose memory it is
    std::optional<std::uint64_t> bytes;
};

/// MB/s from row to column; rows and columns are objects named by gp_index.
struct HwlocMatrix {
    bool xgmi = false;
    int line = 0;
    std::vector<std::uint64_t> objects;
    std::vector<std::uint64_t> values;
};

struct HwlocTopology {
    std::vector<HwlocPci> pci;  ///< document order, parents first
    std::vector<HwlocNuma> numas;
    std::vector<HwlocMatrix> matrices;
    bool virtual_machine = false;  ///< said by the firmware's names
};

/// Adds the links of the matrices. `nodes`: graph node of each object by its gp_index.
void add_hwloc_fabric(const Source& source, const std::vector<HwlocMatrix>& matrices,
                      const std::map<std::uint64_t, int>& nodes, Machine& machine);

/// Ends with complete pairs and paths from the graph.
Machine machine_from_hwloc(const Source& source, const HwlocTopology& topology);

/// Every display class of NVIDIA is a GPU. AMD also makes the 2D chips of older servers and graphics inside processors;
/// those count only when a compute library lists them. Display devices of other makers are none.
bool is_gpu(const HwlocPci& pci);
bool is_nvswitch(const HwlocPci& pci);
bool is_nic(const HwlocPci& pci);
/// A device that exists only inside guests.
bool guest_only(const HwlocPci& pci);
/// "mlx5_0" before "eth0" before "nic:0000:81:00.0".
std::string nic_name(const HwlocPci& pci);
/// "GV100GL [Tesla V100 SXM2 32GB]" -> "Tesla V100 SXM2 32GB".
std::string part_name(const std::string& product);

/// "0302 [10de:1db8] [10de:131d] a1 00" -> class, vendor, product; what is not there stays 0.
void parse_pci_type(std::string_view text, HwlocPci& pci);

/// Numbers of the bits of "0x000000ff,,0xffffffff", "0xf...f,0x0" (endless: up to `most`). Empty when it is no bitmap.
std::vector<int> bitmap_numbers(std::string_view bitmap, int most);
/// "0-3,8"
std::string number_list(const std::vector<int>& numbers);

}  // namespace peerlane::read
