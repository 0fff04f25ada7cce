#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <peerlane/error.hpp>
#include <stdexcept>
#include <thread>

#include "driver/cuda/driver.hpp"

namespace peerlane::cuda {
namespace {

void require_ours(StreamView stream, const char* what) {
    if (is_special(stream)) {
        throw std::invalid_argument(fmt::format("{}: a device's default streams are not made or destroyed", what));
    }
}

/// True, or false for "not yet"; anything else is thrown.
bool done(cudaError_t result, const char* call, int device) {
    if (result == cudaErrorNotReady) {
        forget_last_error();
        return false;
    }
    check(result, call, {device});
    return true;
}

}  // namespace

StreamView CudaDriver::create_stream(int device, StreamKind kind, ContextId context) {
    require_device(device);
    UncapturedScope const uncaptured;
    ContextScope const in_context(context_of(context, device), device);
    cudaStream_t stream = nullptr;
    if (kind == StreamKind::urgent) {
        int least = 0, most = 0;
        check(cudaDeviceGetStreamPriorityRange(&least, &most), "cudaDeviceGetStreamPriorityRange", {device, device});
        check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, most), "cudaStreamCreateWithPriority",
              {device, device});
        return {device, number_of(stream)};
    }
    auto const flags = kind == StreamKind::blocking ? cudaStreamDefault : cudaStreamNonBlocking;
    check(cudaStreamCreateWithFlags(&stream, flags), "cudaStreamCreateWithFlags", {device, device});
    return {device, number_of(stream)};
}

void CudaDriver::destroy_stream(StreamView stream) {
    require_ours(stream, "destroy_stream");
    auto const in_context = scope(stream);
    check(cudaStreamDestroy(native(stream)), "cudaStreamDestroy", {stream.device});
}

EventView CudaDriver::create_event(int device, bool timing) {
    UncapturedScope const uncaptured;
    auto const in_context = primary_scope(device);
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, timing ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreateWithFlags", {device});
    return {device, number_of(event)};
}

void CudaDriver::destroy_event(EventView event) {
    auto const in_context = primary_scope(event.device);
    check(cudaEventDestroy(native(event)), "cudaEventDestroy", {event.device});
}

void CudaDriver::record(EventView event, StreamView stream) {
    auto const in_context = scope(stream);
    check(cudaEventRecord(native(event), native(stream)), "cudaEventRecord", {stream.device, event.device});
}

void CudaDriver::wait(StreamView stream, EventView event) {
    auto const in_context = scope(stream);
    check(cudaStreamWaitEvent(native(stream), native(event), 0), "cudaStreamWaitEvent", {stream.device, event.device});
}

bool CudaDriver::query(EventView event) {
    UncapturedScope const uncaptured;
    auto const in_context = primary_scope(event.device);
    return done(cudaEventQuery(native(event)), "cudaEventQuery", event.device);
}

bool CudaDriver::query(StreamView stream) {
    UncapturedScope const uncaptured;
    auto const in_context = scope(stream);
    return done(cudaStreamQuery(native(stream)), "cudaStreamQuery", stream.device);
}

void CudaDriver::synchronize(EventView event) {
    UncapturedScope const uncaptured;
    auto const in_context = primary_scope(event.device);
    check(cudaEventSynchronize(native(event)), "cudaEventSynchronize", {event.device});
}

void CudaDriver::synchronize(StreamView stream) {
    UncapturedScope const uncaptured;
    auto const in_context = scope(stream);
    check(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize", {stream.device});
}

void CudaDriver::synchronize_device(int device) {
    UncapturedScope const uncaptured;
    auto const in_context = primary_scope(device);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", {device});
}

bool CudaDriver::wait_for(EventView event, double seconds) {
    // The runtime has no bounded wait. Looking costs 1.6 us: first often, because most waits are short, then with
    // sleeps that grow with what has been waited, so that a long wait costs next to no processor and ends at most 1 %
    // late.
    using Clock = std::chrono::steady_clock;
    using Seconds = std::chrono::duration<double>;
    constexpr Seconds often{100e-6};
    constexpr Seconds longest_sleep{1e-3};
    UncapturedScope const uncaptured;
    auto const in_context = primary_scope(event.device);
    auto const start = Clock::now();
    while (!done(cudaEventQuery(native(event)), "cudaEventQuery", event.device)) {
        Seconds const waited = Clock::now() - start;
        auto const left = Seconds(seconds) - waited;
        if (!(left.count() > 0)) {
            return false;
        }
        if (waited < often) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::min({waited / 100, longest_sleep, left}));
        }
    }
    return true;
}

double CudaDriver::elapsed(EventView start, EventView end) {
    if (start.device != end.device) {
        fail(code::invalid_handle, "cudaEventElapsedTime", {start.device, end.device},
             "only events of one device can be subtracted");
    }
    auto const in_context = primary_scope(start.device);
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, native(start), native(end)), "cudaEventElapsedTime", {start.device});
    return milliseconds * 1e-3;
}

void CudaDriver::write_value(StreamView stream, Address at, std::uint32_t value) {
    auto const in_context = scope(stream);
    check(driver_api().stream_write_value_32(native(stream), device_pointer(at), value, CU_STREAM_WRITE_VALUE_DEFAULT),
          "cuStreamWriteValue32", {stream.device});
}

void CudaDriver::wait_value(StreamView stream, Address at, std::uint32_t at_least) {
    auto const in_context = scope(stream);
    check(driver_api().stream_wait_value_32(native(stream), device_pointer(at), at_least, CU_STREAM_WAIT_VALUE_GEQ),
          "cuStreamWaitValue32", {stream.device});
}

double CudaDriver::now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::uint32_t CudaDriver::poll(Address pinned) {
    return __atomic_load_n(static_cast<const volatile std::uint32_t*>(pointer_to(pinned)), __ATOMIC_ACQUIRE);
}

int CudaDriver::last_error() const {
    auto const kept = static_cast<int>(cudaPeekAtLastError());
    return kept != 0 ? kept : sticky_error();
}

}  // namespace peerlane::cuda
