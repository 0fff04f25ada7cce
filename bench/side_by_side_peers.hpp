#pragma once
/// The same moves in plain calls of the runtime, as people write them, and NCCL's where it is installed.

#include <cstdint>
#include <memory>
#include <string>

#include <peerlane/driver.hpp>

namespace peerlane::bench {

class Raw {
  public:
    Raw() = default;
    Raw(const Raw&) = delete;
    Raw& operator=(const Raw&) = delete;
    virtual ~Raw() = default;
    /// Makes the device current, once before what follows.
    virtual void on(int device) = 0;
    /// The call that names both devices; issued by the stream's.
    virtual void peer(Location to, Location from, std::uint64_t bytes, StreamView stream) = 0;
    /// The call that finds out from the addresses.
    virtual void plain(Location to, Location from, std::uint64_t bytes, StreamView stream) = 0;
    /// A grid of the stream's device, 16 bytes a thread and access. Access must be enabled.
    virtual void kernel(Location to, Location from, std::uint64_t bytes, StreamView stream) = 0;
    /// Memory that the library did not make; until the process ends.
    [[nodiscard]] virtual Address foreign(int device, std::uint64_t bytes) = 0;
    virtual void wait(StreamView stream) = 0;
    [[nodiscard]] virtual double now() = 0;
    /// Empty when NCCL is there for devices 0 and 1; else why not.
    [[nodiscard]] virtual std::string nccl_missing() = 0;
    /// Send on 0, receive on 1; both streams are waited for.
    virtual void nccl(Location to, Location from, std::uint64_t bytes, StreamView source, StreamView destination) = 0;
};

/// Where nvcc built the library.
std::unique_ptr<Raw> raw_cuda();

}  // namespace peerlane::bench
