#pragma once
/// NVIDIA's management library as a table of functions. The real table looks its entries up at run time; tests fill in
/// a fake. An empty entry is a function that the installed library does not have. Each returns the library's code, 0 =
/// success, and writes its results only then. Devices are named by their index. Only one thread at a time calls a
/// table.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace peerlane {

namespace nvml_code {
inline constexpr int success = 0, invalid_argument = 2, not_supported = 3, no_permission = 4, driver_not_loaded = 9,
                     library_not_found = 12, function_not_found = 13;
}  // namespace nvml_code

/// Kinds of a link's errors, by the library's numbers.
namespace nvml_link_error {
inline constexpr int replay = 0, recovery = 1, crc_of_flits = 2, crc_of_data = 3;
}  // namespace nvml_link_error

/// Indices and words of the library's answer to "may this pair ...".
enum class NvmlP2p : int { read = 0, write = 1, nvlink = 2, atomics = 3, pcie = 4 };

struct NvmlApi {
    template <class... Arguments>
    using Call = std::function<int(Arguments...)>;

    Call<> start;                                ///< loads and initialises; library_not_found when there is none
    Call<> stop;                                 ///< after the last question of a successful start
    std::function<std::string(int code)> words;  ///< of a code
    Call<std::string&> driver_version, library_version;
    Call<int&> cuda_version, device_count;
    Call<int, std::string&> bus, uuid, name;
    Call<int, std::uint64_t&> memory_bytes, window_bytes;
    Call<int, int&, int&> compute_capability;                        ///< major, minor
    Call<int, int&> generation, width, most_generation, most_width;  ///< of its PCI Express link
    Call<int, int&> mig_mode, fabric_state, virtualization;
    Call<int, int&> mig_instances;
    Call<int, int&> fabric_status;
    Call<int, int&> display_attached, display_active;  ///< 1: yes
    Call<int, std::uint64_t&> window_used_bytes;
    Call<int, int&> busy_percent, milliwatts;
    Call<int, int&> celsius, sm_mhz, memory_mhz;
    Call<int, std::uint64_t&> ecc_corrected, ecc_uncorrected;  ///< since the driver was loaded
    Call<int, int, int, std::uint64_t&> link_errors;           ///< device, link, kind
    Call<int, std::vector<int>&> graphics_processes, compute_processes;
    Call<int, int, int&> link_state;        ///< device, link; 1 active
    Call<int, int, int&> link_version;      ///< the library's number, 6 = NVLink 4.0
    Call<int, int, int&> link_remote_type;  ///< 0 device, 1 CPU, 2 switch, 255 unknown
    Call<int, int, std::string&> link_remote_bus;
    Call<int, int, double&> link_gbs;
    Call<int, int, NvmlP2p, int&> p2p_status;  ///< accessor, owner
    Call<int, int, int&> common_ancestor;
};

/// Numbers past the largest device: asking stops earlier, at the first "invalid argument".
inline constexpr int nvml_most_links = 64;

}  // namespace peerlane
