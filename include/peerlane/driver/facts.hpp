#pragma once
#include <cstdint>
#include <string>

#include <peerlane/machine.hpp>

namespace peerlane {

/// What one device can do; data, asked once.
struct Capabilities {
    int copy_engines = 0;
    int multiprocessors = 0;
    std::uint64_t memory_bytes = 0;
    bool pools = false, virtual_memory = false, managed = false, stream_memory_operations = false;
    friend bool operator==(const Capabilities&, const Capabilities&) = default;
};

/// Facts about the machine a driver runs on. Never changes during the life of the driver.
class FactsOfDriver {
  public:
    virtual ~FactsOfDriver() = default;
    [[nodiscard]] virtual bool simulated() const = 0;
    /// Devices in the driver's own order (CUDA ordinals); capacities nominal, `measured` empty.
    [[nodiscard]] virtual const Machine& machine() const = 0;
    /// Throws std::invalid_argument for a device that the machine does not have.
    [[nodiscard]] virtual Capabilities capabilities(int device) const = 0;
    /// One line for people: driver and runtime version, or the simulated machine's name.
    [[nodiscard]] virtual std::string description() const = 0;
    [[nodiscard]] int device_count() const { return static_cast<int>(machine().devices.size()); }
};

}  // namespace peerlane
