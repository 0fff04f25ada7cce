#pragma once
/// Random messages from several threads, each byte compared on the host with what a host loop gives.

#include <cstdint>
#include <string>

#include <peerlane/courier.hpp>

namespace peerlane::bench {

struct Load {
    std::uint64_t messages = 0;
    std::uint64_t wrong_bytes = 0;
    std::uint64_t stalled = 0;  ///< waits of two seconds that were not met
    double seconds = 0;
    double slowest_s = 0;  ///< from the post of a message to its completion, the rest of its batch before it
    std::uint64_t residences = 0;
    // cudaDeviceSynchronize of another thread meanwhile.
    std::uint64_t synchronised = 0;
    double longest_sync_s = 0, middle_sync_s = 0;
    std::string failed{};  ///< what a thread threw
};

/// `threads` threads share the courier, which carries from device 0 to device 1.
Load carry_random(Driver& driver, Courier& courier, std::uint64_t messages, int threads, std::uint64_t most_bytes);

}  // namespace peerlane::bench
