#pragma once
/// The system's side of channels and listeners.

#include <chrono>
#include <cstdint>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>

#include <peerlane/rendezvous.hpp>

namespace peerlane {

namespace share {

using Clock = std::chrono::steady_clock;

Clock::time_point after(double seconds);
/// Until the deadline, at least 0, at most `most_ms`.
int milliseconds_until(Clock::time_point deadline, int most_ms);

/// Throws std::invalid_argument for a path that does not fit.
sockaddr_un address_of_path(const std::string& path);
Descriptor new_socket();
/// Who made the other end: checked to be of this user; throws Error 1 otherwise.
struct Credentials {
    int process = 0;
    unsigned user = 0;
};
Credentials credentials_of(int socket);
bool same_user(const Credentials& peer);

/// What both ends say first.
inline constexpr std::string_view greeting = "peerlane rendezvous 1";

/// When the process started, in the system's ticks; 0 where that cannot be known.
std::uint64_t start_of(int process);
/// The process has ended or is ending (which can take seconds where it used devices), or its number is another's.
bool ended(int process, std::uint64_t start);

}  // namespace share

struct PeerChannel::State {
    Descriptor socket{};
    int process = 0;
    std::uint64_t start = 0;  ///< of that process
    bool gone = false;
};

}  // namespace peerlane
