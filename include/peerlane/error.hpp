#pragma once
/// The two kinds of failure that are thrown. Expected outcomes (no access, no slot, not measured) are values instead.

#include <stdexcept>
#include <string>

namespace peerlane {

/// Numbers of the CUDA runtime, which the simulator shares; only the ones that our own code names.
namespace code {
inline constexpr int success = 0;
inline constexpr int invalid_value = 1;
inline constexpr int out_of_memory = 2;
inline constexpr int no_device = 100;
inline constexpr int invalid_device = 101;
inline constexpr int invalid_context = 201;
inline constexpr int map_failed = 205;
inline constexpr int peer_access_unsupported = 217;
inline constexpr int invalid_handle = 400;
inline constexpr int link_failed = 220;
inline constexpr int not_ready = 600;
inline constexpr int illegal_address = 700;
inline constexpr int peer_access_already_enabled = 704;
inline constexpr int peer_access_not_enabled = 705;
inline constexpr int launch_timeout = 702;
inline constexpr int too_many_peers = 711;
inline constexpr int not_supported = 801;
inline constexpr int capture_unsupported = 900;
inline constexpr int capture_invalidated = 901;
inline constexpr int unknown = 999;
}  // namespace code

/// A failure of the machine or of its driver. `sticky`: every later call of this process on every device fails too.
class Error : public std::runtime_error {
  public:
    struct Info {
        int code = code::unknown;
        std::string call;   ///< "cudaMemcpyPeerAsync"
        int accessor = -1;  ///< -1 when no device is concerned
        int owner = -1;
        std::string cure;  ///< what to do, a sentence
        bool sticky = false;
    };
    explicit Error(Info info);
    [[nodiscard]] const Info& info() const noexcept { return info_; }
    [[nodiscard]] int code() const noexcept { return info_.code; }

  private:
    Info info_;
};

/// Input that cannot be read. `what()` is "file:line: reason" (line left out when 0).
class InputError : public std::runtime_error {
  public:
    InputError(std::string file, int line, std::string reason);
    [[nodiscard]] const std::string& file() const noexcept { return file_; }
    [[nodiscard]] int line() const noexcept { return line_; }
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

  private:
    std::string file_;
    int line_;
    std::string reason_;
};

/// Short name of a code: "illegal address", "code 205" when we have no word for it.
std::string code_text(int code);

}  // namespace peerlane
