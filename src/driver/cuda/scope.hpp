#pragma once
#include "driver/cuda/check.hpp"
#include "driver/cuda/driver_api.hpp"

namespace peerlane::cuda {

/// Makes a context current for a block. By the driver's stack of contexts, not by cudaSetDevice: the thread's current
/// device, and the state of a thread that never chose one, are afterwards what they were.
class ContextScope {
  public:
    ContextScope(CUcontext wanted, int device) : api_(driver_api()) {
        CUcontext current = nullptr;
        static_cast<void>(api_.context_get_current(&current));
        if (current != wanted) {
            check(api_.context_push(wanted), "cuCtxPushCurrent", {device});
            pushed_ = true;
        }
    }
    ContextScope(const ContextScope&) = delete;
    ContextScope& operator=(const ContextScope&) = delete;
    ~ContextScope() {
        if (pushed_) {
            CUcontext ignored = nullptr;
            static_cast<void>(api_.context_pop(&ignored));
        }
    }

  private:
    const DriverApi& api_;
    bool pushed_ = false;
};

/// Lets the thread make calls that a capture in global mode, begun by somebody else in it, would be broken by.
class UncapturedScope {
  public:
    UncapturedScope() { exchange(); }
    UncapturedScope(const UncapturedScope&) = delete;
    UncapturedScope& operator=(const UncapturedScope&) = delete;
    ~UncapturedScope() { exchange(); }

  private:
    /// The driver's own call: the runtime's would first make a context on the thread's current device.
    void exchange() { static_cast<void>(driver_api().thread_exchange_capture_mode(&mode_)); }
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace peerlane::cuda
