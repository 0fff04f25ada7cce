#include "cli/folders.hpp"

#include <cstdlib>

namespace peerlane::cli {
namespace {

/// A relative path there is to be passed over, says the XDG specification.
std::string absolute(const char* variable) {
    auto const* const value = std::getenv(variable);
    return value != nullptr && *value == '/' ? value : "";
}

std::string folder(const char* variable, const char* below_home) {
    if (auto const base = absolute(variable); !base.empty()) {
        return base + "/peerlane";
    }
    auto const home = absolute("HOME");
    return home.empty() ? "" : home + below_home + "/peerlane";
}

}  // namespace

std::string cache_folder() {
    return folder("XDG_CACHE_HOME", "/.cache");
}

std::string state_folder() {
    return folder("XDG_STATE_HOME", "/.local/state");
}

}  // namespace peerlane::cli
