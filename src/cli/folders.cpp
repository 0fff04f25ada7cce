#include "cli/folders.hpp"

#include <cstdlib>

namespace peerlane::cli {
namespace {

/// A relative path there is to be passed over, says the XDG specification.
std::string absolute(const char* variable) {
    auto const* const value = std::getenv(variable);
    return value != nullptr && *value == '/' ? value : "";
}

std::string folder(const char* variable, const char* below_home, const char* name = "/peerlane") {
    if (auto const base = absolute(variable); !base.empty()) {
        return base + name;
    }
    auto const home = absolute("HOME");
    return home.empty() ? "" : home + below_home + name;
}

}  // namespace

std::string cache_folder() {
    return folder("XDG_CACHE_HOME", "/.cache");
}

std::string state_folder() {
    return folder("XDG_STATE_HOME", "/.local/state");
}

std::string vllm_cache_folder() {
    auto own = absolute("VLLM_CACHE_ROOT");
    return own.empty() ? folder("XDG_CACHE_HOME", "/.cache", "/vllm") : own;
}

std::string sglang_cache_folder() {
    auto const home = absolute("HOME");
    return home.empty() ? "" : home + "/.cache/sglang";
}

}  // namespace peerlane::cli
