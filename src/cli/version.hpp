#pragma once

namespace peerlane::cli {

/// "0.1.0", of the build.
inline const char* version() {
    return PEERLANE_VERSION;
}

}  // namespace peerlane::cli
