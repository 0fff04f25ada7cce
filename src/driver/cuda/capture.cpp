/// Capture is begun in relaxed mode. Global mode lets any thread's allocation break the capture, and a capture that
/// another thread began break our allocations; thread-local mode does the same within one thread, where this driver
/// makes such calls itself (the first use of a device, say). What cannot be captured at all is refused in every mode.

#include <stdexcept>

#include "driver/cuda/driver.hpp"

namespace peerlane::cuda {
namespace {

cudaGraphExec_t native(GraphId graph) {
    if (graph.value == 0) {
        throw std::invalid_argument("no graph");
    }
    return reinterpret_cast<cudaGraphExec_t>(graph.value);
}

}  // namespace

void CudaDriver::begin_capture(StreamView stream) {
    auto const in_context = scope(stream);
    check(cudaStreamBeginCapture(cuda::native(stream), cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture",
          {stream.device});
}

GraphId CudaDriver::end_capture(StreamView stream) {
    auto const in_context = scope(stream);
    Parties const parties{stream.device};
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(cuda::native(stream), &graph), "cudaStreamEndCapture", parties);
    cudaGraphExec_t executable = nullptr;
    auto const result = cudaGraphInstantiate(&executable, graph, 0);
    static_cast<void>(cudaGraphDestroy(graph));
    check(result, "cudaGraphInstantiate", parties);
    return {number_of(executable)};
}

bool CudaDriver::capturing(StreamView stream) const {
    if (stream.handle != StreamView::per_thread && is_special(stream)) {
        return false;  // the legacy stream is never captured; asking is an error while a blocking stream is
    }
    auto const in_context = scope(stream);
    auto status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(cuda::native(stream), &status), "cudaStreamIsCapturing", {stream.device});
    return status != cudaStreamCaptureStatusNone;  // a broken capture goes on until it is ended
}

void CudaDriver::launch_graph(GraphId graph, StreamView stream) {
    auto const in_context = scope(stream);
    check(cudaGraphLaunch(native(graph), cuda::native(stream)), "cudaGraphLaunch", {stream.device});
}

void CudaDriver::destroy_graph(GraphId graph) {
    check(cudaGraphExecDestroy(native(graph)), "cudaGraphExecDestroy");
}

}  // namespace peerlane::cuda
