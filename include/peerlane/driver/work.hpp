#pragma once
#include <cstdint>
#include <span>

#include <peerlane/driver/order_types.hpp>
#include <peerlane/place.hpp>

namespace peerlane {

struct Kernel;  // src/kernels/kernel.hpp

/// peer: the call that names both devices (staged by the driver where nothing is mapped; refused while capturing).
/// automatic: the call that finds out from the addresses (refused, code 1, where the issuing device has no mapping of
/// pool or virtual memory).
enum class CopyApi : std::uint8_t { automatic, peer };

struct CopyRequest {
    Location to;
    Location from;
    std::uint64_t bytes = 0;  ///< 0 is a no-op
    CopyApi api = CopyApi::automatic;
};

/// Blocks and threads of a launch. ctas 0: as many as the kernel thinks best.
struct LaunchShape {
    unsigned ctas = 0;
    unsigned threads = 512;
};

/// All of it is stream-ordered; the device of the stream issues the work. Failures found at the call throw Error; later
/// ones come out of the calls that wait.
class WorkOfDriver {
  public:
    virtual ~WorkOfDriver() = default;
    virtual void copy(StreamView stream, const CopyRequest& request) = 0;
    /// The same copies in one call, in no order among themselves. Falls back to single copies where the driver has no
    /// batch call.
    virtual void copy_batch(StreamView stream, std::span<const CopyRequest> requests) = 0;
    virtual void fill(StreamView stream, Location to, std::uint8_t value, std::uint64_t bytes) = 0;
    /// `arguments` points to the kernel's argument struct and is read before the call returns.
    virtual void launch(StreamView stream, const Kernel& kernel, const void* arguments, LaunchShape shape = {}) = 0;
};

}  // namespace peerlane
