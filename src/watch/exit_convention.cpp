#include <algorithm>

#include <fmt/format.h>

#include <peerlane/watch.hpp>

namespace peerlane {
namespace {

constexpr std::size_t npd_keeps = 80;

const char* nagios_word(int status) {
    return status == 0 ? "OK" : status == 1 ? "WARNING" : status == 2 ? "CRITICAL" : "UNKNOWN";
}

}  // namespace

std::optional<ExitConvention> parse_exit_convention(std::string_view word) {
    return word == "nagios" ? std::optional(ExitConvention::nagios)
           : word == "npd"  ? std::optional(ExitConvention::npd)
                            : std::nullopt;
}

int exit_status_of(ExitConvention convention, std::optional<Status> status) {
    auto const known = status.value_or(Status::inconclusive);
    bool const npd = convention == ExitConvention::npd;
    switch (known) {
        case Status::healthy:
            return 0;
        case Status::degraded:
            return 1;
        case Status::broken:
            return npd ? 1 : 2;
        case Status::inconclusive:
            break;
    }
    return npd ? 2 : 3;
}

std::string watch_line(ExitConvention convention, std::optional<Status> status, const std::string& text) {
    auto line = text;
    // Its readers end a line at the first break, and Nagios takes what follows a bar for performance data.
    std::replace_if(
        line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '|'; }, ' ');
    if (convention == ExitConvention::nagios) {
        line = fmt::format("PEERLANE {} - {}", nagios_word(exit_status_of(convention, status)), line);
    }
    if (convention == ExitConvention::npd && line.size() > npd_keeps) {
        line.resize(npd_keeps - 3);
        line += "...";
    }
    return line + "\n";
}

}  // namespace peerlane
