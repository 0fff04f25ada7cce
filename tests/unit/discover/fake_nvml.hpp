#pragma once
/// The management library, played from a list of devices.

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "discover/nvml_api.hpp"

namespace peerlane::testing_discover {

struct FakeLink {
    int active = 1;
    int remote_type = 2;  ///< 0 device, 1 CPU, 2 switch, 255 unknown
    std::string remote_bus = "FFFFFFFF:FF:FF.0";
};

struct FakeDevice {
    std::string bus, name;
    std::vector<FakeLink> links;
    int nvlink_version = 6;
    double link_gbs = 26.5625;
    int compute_capability = 90;
    std::uint64_t memory_bytes = 141'000'000'000;
    int most_generation = 5, width = 16;
    int mig = 0, mig_instances = 0;
    int fabric_state = 3;
    int virtualization = 0;
};

struct FakeNvml {
    std::vector<FakeDevice> devices;
    int start_code = 0;
    int read_status = 0, write_status = 0, nvlink_status = 0, atomics_status = 0, pcie_status = 5;
    int ancestor = 50;
    std::vector<std::vector<int>> nvlink_status_of;  ///< by accessor and owner, where not all are alike
    std::string hangs_in;                            ///< name of an entry that returns only when `release` is set
    std::shared_ptr<std::promise<void>> release = std::make_shared<std::promise<void>>();
    [[nodiscard]] std::shared_ptr<const NvmlApi> api() const;
};

/// `count` links of one device to another, or to a switch.
std::vector<FakeLink> links_to(const std::string& bus, int count, int remote_type = 2);

}  // namespace peerlane::testing_discover
