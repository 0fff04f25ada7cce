#pragma once
/// Opening a driver.

#include <memory>
#include <string>

#include <peerlane/driver.hpp>

namespace peerlane {

struct CudaAvailability {
    bool built = false;  ///< this library was built with CUDA
    int devices = 0;     ///< that this process may use
    std::string reason;  ///< why there are none and what to do; empty when there are some
};

/// Whether `open_cuda` would work here. Never throws, never hangs: a driver that does not answer within a minute is a
/// reason. The first call starts the CUDA driver (up to some seconds); what it found holds for the whole process.
CudaAvailability cuda_availability();

/// The devices of this machine, in CUDA's order. Throws Error with code 100, the reason and the cure when there are
/// none.
std::unique_ptr<Driver> open_cuda();

}  // namespace peerlane
