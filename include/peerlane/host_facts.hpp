#pragma once
/// What the system's own files say about this machine, unjudged. A plain value, so that odd machines can be written
/// down as text and diagnosed anywhere. Empty means "not there or not readable", never "no".

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace peerlane {

/// One end of a PCI Express link. Empty where the kernel prints "Unknown", 0 or an impossible number.
struct PciRate {
    std::optional<int> generation;  ///< 3 = 8 GT/s
    std::optional<int> width;       ///< lanes
    friend bool operator==(const PciRate&, const PciRate&) = default;
};

/// One function of the PCI tree, read from `<sysfs>/bus/pci/devices/<bus>/`.
struct PciFunction {
    std::string bus;                         ///< "0000:01:00.0"
    std::optional<unsigned> vendor, device;  ///< 0x10de
    std::optional<unsigned> class_code;      ///< 24 bits: 0x030200
    std::optional<int> numa;                 ///< empty for -1
    std::string local_cpus;                  ///< list as printed, may be empty
    PciRate current, most;                   ///< the link above it, as it is and at best (of this end)
    std::vector<std::string> above;          ///< bridges between it and the host bridge, nearest first
    std::string root;                        ///< host bridge, "pci0000:00"; empty when the tree does not tell
    std::string driver;                      ///< kernel driver bound to it: "nvidia", "vfio-pci"; may be empty
    std::vector<std::string> interfaces;     ///< names of its RDMA ("mlx5_0"), then network ("eth0") interfaces
    bool virtual_function = false;           ///< belongs to a physical function that this kernel sees
    std::optional<bool> boot_display;        ///< the firmware's console is on it
    std::optional<int> iommu_group;
    std::string iommu_type;                     ///< "identity", "DMA", "DMA-FQ"
    std::optional<std::uint64_t> config_bytes;  ///< of its configuration space, as far as this user may read
    std::optional<unsigned> port_type;          ///< PCI Express device/port type: 4 root port, 5 upstream, 6 downstream
    std::optional<unsigned> acs_control;        ///< register of the access control capability
    std::optional<std::uint64_t> largest_window_bytes;  ///< of its memory windows (BARs)
    friend bool operator==(const PciFunction&, const PciFunction&) = default;
};

/// One NUMA node of the host's memory, read from `<sysfs>/devices/system/node/`.
struct NumaFacts {
    int node = 0;
    std::string cpus;  ///< list as printed, empty for memory without CPUs
    std::optional<std::uint64_t> memory_bytes;
    std::optional<int> socket;   ///< package of its first CPU
    std::vector<int> distances;  ///< to the online nodes in ascending order, 10 = itself
    std::string device;          ///< bus address of the GPU whose memory it is; empty for the host's
    friend bool operator==(const NumaFacts&, const NumaFacts&) = default;
};

/// A link of AMD's fabric as the compute driver lists it, one direction.
struct XgmiLink {
    std::string from, to;       ///< bus addresses
    std::optional<double> gbs;  ///< of this direction, as the driver states it
    friend bool operator==(const XgmiLink&, const XgmiLink&) = default;
};

struct HostFacts {
    std::string cpu_model;
    std::optional<int> sockets, cpus;      ///< packages; logical CPUs online
    std::optional<bool> hypervisor_flag;   ///< of the CPU; empty where it has no list of flags (not x86)
    std::string sys_vendor, product_name;  ///< of the firmware: "QEMU", "Standard PC (Q35 + ICH9, 2009)"
    std::string hypervisor_type;           ///< "xen"
    std::string boot_id, kernel_release, kernel_command_line;
    std::string module_version;  ///< of the nvidia kernel module; empty when it is not loaded
    std::string driver_text;     ///< first line of `<proc>/driver/nvidia/version`
    std::string module_taint;    ///< letters of `<sysfs>/module/nvidia/taint`: O built elsewhere, E unsigned
    std::optional<std::string> module_signer;  ///< who signed the module's file, "" nobody; empty: not read
    std::vector<std::pair<std::string, std::string>> module_parameters;  ///< of `<proc>/driver/nvidia/params`
    std::vector<std::string> iommus;                                     ///< units the kernel uses
    std::optional<bool> wsl;                                             ///< the guest of Windows: `<dev>/dxg` is there
    bool pci_tree = false;                                               ///< `<sysfs>/bus/pci/devices` exists
    std::vector<PciFunction> pci;                                        ///< in bus order
    std::vector<NumaFacts> numa;                                         ///< online nodes, ascending
    std::vector<XgmiLink> xgmi;
    [[nodiscard]] const PciFunction* function(const std::string& bus) const;
    friend bool operator==(const HostFacts&, const HostFacts&) = default;
};

}  // namespace peerlane
