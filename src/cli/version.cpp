#include "cli/version.hpp"

#include "peerlane_commit.hpp"

namespace peerlane::cli {

const char* version() {
    return PEERLANE_VERSION;
}

const char* version_line() {
    return "peerlane " PEERLANE_VERSION " (commit " PEERLANE_COMMIT ", " PEERLANE_BUILT_FOR ")";
}

}  // namespace peerlane::cli
