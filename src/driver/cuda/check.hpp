#pragma once
/// From status codes of the runtime and the driver to Error. Both number their failures alike, so one path serves both.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

namespace peerlane::cuda {

/// Devices that a call concerns; -1 when none does.
struct Parties {
    int accessor = -1;
    int owner = -1;
};

/// After one of these every later call of the process fails, on every device.
bool is_sticky(int code);

/// The sticky error that this process has seen, 0 when none.
int sticky_error();

/// Throws Error with what `code` means and what to do. The runtime's last error is cleared before, unless it
/// is sticky. A sticky error names no owner: it comes out of whatever call is next, and says nothing of whose memory it
/// was.
[[noreturn]] void fail(int code, const char* call, Parties parties = {}, const std::string& cure = {});

/// After an outcome that was expected: the runtime keeps it as its last error for whoever asks next.
inline void forget_last_error() {
    static_cast<void>(cudaGetLastError());
}

inline void check(cudaError_t result, const char* call, Parties parties = {}) {
    if (result != cudaSuccess) [[unlikely]] {
        fail(static_cast<int>(result), call, parties);
    }
}
inline void check(CUresult result, const char* call, Parties parties = {}) {
    if (result != CUDA_SUCCESS) [[unlikely]] {
        fail(static_cast<int>(result), call, parties);
    }
}

}  // namespace peerlane::cuda
