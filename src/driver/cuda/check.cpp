#include "driver/cuda/check.hpp"

#include <fmt/format.h>

#include <atomic>
#include <peerlane/error.hpp>

namespace peerlane::cuda {
namespace {

const char* cure_of(int code) {
    switch (code) {
        case 1:
            return "an address, a size or a handle does not fit; pool and virtual memory needs a grant for the "
                   "device that issues the work";
        case 2:
            return "free memory, or ask for less";
        case 35:
        case 36:
            return "install a newer NVIDIA driver";
        case 46:
            return "another process holds the device exclusively; end it or change the compute mode";
        case 100:
            return "no device is visible to this process; see nvidia-smi and CUDA_VISIBLE_DEVICES";
        case 214:
            return "the memory has an uncorrectable error; see nvidia-smi -q -d ECC";
        case 220:
            return "a link had an uncorrectable error; see nvidia-smi nvlink -e";
        case 700:
            return "a kernel touched memory that is not mapped for its device; enable or grant access first. "
                   "Nothing more works in this process: start a new one";
        case 802:
            return "start the fabric manager of the driver's own version, then try again";
        case 803:
            return "user-space driver and kernel module differ in version; reboot or reinstall the driver";
        case 900:
            return "this call cannot be captured; the capture is lost";
        case 901:
            return "a call broke the capture; capture again without it";
        default:
            return is_sticky(code) ? "nothing more works in this process: start a new one" : "";
    }
}

std::atomic<int> seen_sticky = 0;

}  // namespace

int sticky_error() {
    return seen_sticky.load(std::memory_order_relaxed);
}

bool is_sticky(int code) {
    switch (code) {
        case cudaErrorECCUncorrectable:
        case cudaErrorNvlinkUncorrectable:
        case cudaErrorIllegalAddress:
        case cudaErrorLaunchTimeout:
        case cudaErrorContextIsDestroyed:
        case cudaErrorAssert:
        case cudaErrorHardwareStackError:
        case cudaErrorIllegalInstruction:
        case cudaErrorMisalignedAddress:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorLaunchFailure:
        case cudaErrorMpsClientTerminated:
        case cudaErrorExternalDevice:
        case 226:  // contained memory error, and
        case 721:  // tensor memory leak: newer than the oldest toolkit that builds this
            return true;
        default:
            return false;
    }
}

void fail(int code, const char* call, Parties parties, const std::string& cure) {
    auto const sticky = is_sticky(code);
    if (sticky) {
        seen_sticky.store(code, std::memory_order_relaxed);
    } else {
        forget_last_error();
    }
    auto const as_runtime = static_cast<cudaError_t>(code);
    auto text = fmt::format("{}, \"{}\"", cudaGetErrorName(as_runtime), cudaGetErrorString(as_runtime));
    auto const* const known = cure_of(code);
    if (!cure.empty()) {
        text += "; " + cure;
    } else if (*known != '\0') {
        text += "; " + std::string(known);
    }
    Error::Info info;
    info.code = code;
    info.call = call;
    info.accessor = parties.accessor;
    info.owner = sticky ? -1 : parties.owner;
    info.cure = std::move(text);
    info.sticky = sticky;
    throw Error(std::move(info));
}

}  // namespace peerlane::cuda
