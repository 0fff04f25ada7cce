/// Capture is begun in relaxed mode. Global mode lets any thread's allocation break the capture, and a capture that
/// another thread began break our allocations; thread-local mode does the same within one thread, where this driver
/// makes such calls itself (the first use of a device, say). What cannot be captured at all is refused in every mode.

#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

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
    if (!is_special(stream)) {  // asked at every copy: the driver's own call needs no context
        auto status = CU_STREAM_CAPTURE_STATUS_NONE;
        check(driver_api().stream_is_capturing(cuda::native(stream), &status), "cuStreamIsCapturing", {stream.device});
        return status != CU_STREAM_CAPTURE_STATUS_NONE;  // a broken capture goes on until it is ended
    }
    auto const in_context = scope(stream);
    auto status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(cuda::native(stream), &status), "cudaStreamIsCapturing", {stream.device});
    return status != cudaStreamCaptureStatusNone;
}

class GivenUp {
  public:
    ~GivenUp() {
        for (auto& what : kept_) {
            new std::shared_ptr<void>(std::move(what));  // would call a driver that is gone: left to the process's end
        }
    }
    void add(std::shared_ptr<void> what) {
        std::lock_guard const lock(mutex_);
        kept_.push_back(std::move(what));
    }
    std::vector<std::shared_ptr<void>> take() {
        std::lock_guard const lock(mutex_);
        return std::exchange(kept_, {});
    }

  private:
    std::mutex mutex_;
    std::vector<std::shared_ptr<void>> kept_;
};

namespace {

struct Keepsake {
    std::shared_ptr<void> what;
    std::shared_ptr<GivenUp> given_up;
};

void CUDART_CB give_up(void* keepsake) {
    auto* const kept = static_cast<Keepsake*>(keepsake);
    kept->given_up->add(std::move(kept->what));
    delete kept;
}

}  // namespace

std::shared_ptr<GivenUp> make_given_up() {
    return std::make_shared<GivenUp>();
}

CudaDriver::~CudaDriver() = default;

bool CudaDriver::keep_with_graph(StreamView stream, std::shared_ptr<void> what) {
    given_up_->take().clear();  // destroyed here, by a thread that may call the runtime
    if (!capturing(stream)) {
        return false;
    }
    auto const in_context = scope(stream);
    auto status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
    auto const asked = cudaStreamGetCaptureInfo(cuda::native(stream), &status, &id, &graph, nullptr, nullptr, nullptr);
#else
    auto const asked = cudaStreamGetCaptureInfo_v2(cuda::native(stream), &status, &id, &graph, nullptr, nullptr);
#endif
    check(asked, "cudaStreamGetCaptureInfo", {stream.device});
    if (status != cudaStreamCaptureStatusActive || graph == nullptr) {
        return false;
    }
    auto keepsake = std::make_unique<Keepsake>(Keepsake{std::move(what), given_up_});
    cudaUserObject_t object = nullptr;
    check(cudaUserObjectCreate(&object, keepsake.get(), give_up, 1, cudaUserObjectNoDestructorSync),
          "cudaUserObjectCreate", {stream.device});
    static_cast<void>(keepsake.release());  // the object has it now
    auto const result = cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
    if (result != cudaSuccess) {
        static_cast<void>(cudaUserObjectRelease(object, 1));
        check(result, "cudaGraphRetainUserObject", {stream.device});
    }
    return true;
}

void CudaDriver::launch_graph(GraphId graph, StreamView stream) {
    auto const in_context = scope(stream);
    check(cudaGraphLaunch(native(graph), cuda::native(stream)), "cudaGraphLaunch", {stream.device});
}

void CudaDriver::destroy_graph(GraphId graph) {
    check(cudaGraphExecDestroy(native(graph)), "cudaGraphExecDestroy");
}

}  // namespace peerlane::cuda
