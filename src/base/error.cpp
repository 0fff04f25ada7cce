#include <peerlane/error.hpp>

#include <fmt/format.h>

namespace peerlane {

std::string code_text(int code) {
    switch (code) {
        case code::success:
            return "success";
        case code::invalid_value:
            return "invalid value";
        case code::out_of_memory:
            return "out of memory";
        case code::no_device:
            return "no device";
        case code::invalid_device:
            return "invalid device";
        case code::invalid_context:
            return "invalid context";
        case code::map_failed:
            return "mapping failed";
        case code::peer_access_unsupported:
            return "peer access unsupported";
        case code::link_failed:
            return "link failed";
        case code::invalid_handle:
            return "invalid resource handle";
        case code::not_ready:
            return "not ready";
        case code::illegal_address:
            return "illegal address";
        case code::peer_access_already_enabled:
            return "peer access already enabled";
        case code::peer_access_not_enabled:
            return "peer access not enabled";
        case code::launch_timeout:
            return "timeout";
        case code::too_many_peers:
            return "no peer mapping slot left";
        case code::not_supported:
            return "not supported";
        case code::capture_unsupported:
            return "not permitted while capturing";
        case code::capture_invalidated:
            return "capture invalidated";
        default:
            return fmt::format("code {}", code);
    }
}

namespace {
std::string message(const Error::Info& info) {
    std::string text = fmt::format("{}: {} (code {})", info.call, code_text(info.code), info.code);
    if (info.accessor >= 0 && info.owner >= 0 && info.accessor != info.owner) {
        text += fmt::format(", device {} reaching device {}", info.accessor, info.owner);
    } else if (info.accessor >= 0 || info.owner >= 0) {
        text += fmt::format(", device {}", info.accessor >= 0 ? info.accessor : info.owner);
    }
    if (!info.cure.empty()) {
        text += ": " + info.cure;
    }
    return text;
}

std::string place_text(const std::string& file, int line) {
    return line > 0 ? fmt::format("{}:{}", file, line) : file;
}
}  // namespace

Error::Error(Info info) : std::runtime_error(message(info)), info_(std::move(info)) {}

InputError::InputError(std::string file, int line, std::string reason)
    : std::runtime_error(fmt::format("{}: {}", place_text(file, line), reason)),
      file_(std::move(file)),
      line_(line),
      reason_(std::move(reason)) {}

}  // namespace peerlane
