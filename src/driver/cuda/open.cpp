#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <peerlane/error.hpp>
#include <peerlane/open.hpp>
#include <system_error>
#include <thread>

#include "driver/cuda/driver.hpp"

namespace peerlane {
namespace {

constexpr auto patience = std::chrono::seconds(60);  // starting eight devices without persistence takes up to 20 s

const char* advice(cudaError_t code) {
    switch (code) {
        case cudaErrorNoDevice:
            return "no device is visible to this process; see nvidia-smi and CUDA_VISIBLE_DEVICES";
        case cudaErrorInsufficientDriver:
            return "install a driver of at least the CUDA version named here";
        case cudaErrorSystemNotReady:
            return "start the fabric manager of the driver's own version";
        case cudaErrorSystemDriverMismatch:
            return "user-space driver and kernel module differ in version; reboot or reinstall the driver";
        case cudaErrorCompatNotSupportedOnDevice:
            return "remove the compatibility libcuda from the library path";
        case cudaErrorDevicesUnavailable:
            return "another process holds the devices exclusively";
        default:
            return "see dmesg for lines of NVRM, and nvidia-smi";
    }
}

std::string why_none(cudaError_t code, int devices) {
    if (code == cudaSuccess && devices > 0) {
        return {};
    }
    // The runtime says "insufficient driver" both for an old driver and for none.
    auto* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
        return "no NVIDIA driver here: libcuda.so.1 cannot be loaded. Install the driver (in a container: pass the "
               "devices "
               "in), or use a simulated machine";
    }
    dlclose(library);
    if (code == cudaSuccess) {
        code = cudaErrorNoDevice;
    }
    int driver = 0;
    static_cast<void>(cudaDriverGetVersion(&driver));
    return fmt::format(
        "the driver (CUDA {}.{}; this library was built with {}.{}) gives no device: {} (code {}, \"{}\"): {}",
        driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, cudaGetErrorName(code),
        static_cast<int>(code), cudaGetErrorString(code), advice(code));
}

CudaAvailability ask() {
    CudaAvailability answer;
    answer.built = true;
    auto const code = cudaGetDeviceCount(&answer.devices);
    if (code != cudaSuccess) {
        answer.devices = 0;
        cuda::forget_last_error();
    }
    answer.reason = why_none(code, answer.devices);
    return answer;
}

/// Shared with the thread that asks, which is left behind when the driver does not answer.
struct Inquiry {
    std::mutex mutex;
    std::condition_variable answered;
    std::unique_ptr<CudaAvailability> answer;
};

std::shared_ptr<Inquiry> start_inquiry() {
    auto inquiry = std::make_shared<Inquiry>();
    std::thread([inquiry] {
        auto answer = std::make_unique<CudaAvailability>(ask());
        std::lock_guard const lock(inquiry->mutex);
        inquiry->answer = std::move(answer);
        inquiry->answered.notify_all();
    }).detach();
    return inquiry;
}

}  // namespace

CudaAvailability cuda_availability() try {
    static const std::shared_ptr<Inquiry> inquiry = start_inquiry();
    std::unique_lock lock(inquiry->mutex);
    if (inquiry->answered.wait_for(lock, patience, [] { return inquiry->answer != nullptr; })) {
        return *inquiry->answer;
    }
    return {true, 0,
            fmt::format(
                "the CUDA driver did not answer within {} s; look for lines of NVRM in dmesg, then reset the device "
                "or reboot",
                patience.count())};
} catch (const std::exception& error) {
    return {true, 0, fmt::format("the CUDA driver could not be asked: {}", error.what())};
}

std::unique_ptr<Driver> open_cuda() {
    auto const available = cuda_availability();
    if (available.devices == 0) {
        throw Error({.code = code::no_device, .call = "open_cuda", .cure = available.reason});
    }
    return std::make_unique<cuda::CudaDriver>(available.devices);
}

}  // namespace peerlane
