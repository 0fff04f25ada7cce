#pragma once

namespace peerlane::cli {

/// "0.1.0", of the build.
const char* version();

/// "peerlane 0.1.0 (commit 161586e0c1d2, CUDA 13.0)"; without nvcc "simulated machines only".
const char* version_line();

}  // namespace peerlane::cli
