#pragma once
/// The driver seam on real devices: the CUDA runtime, and the driver's own functions where the runtime has none. One
/// class, one file for each facet: facts.cpp, mappings.cpp, memory.cpp and provenance.cpp, sharing.cpp, order.cpp and
/// capture.cpp, work.cpp.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <peerlane/driver.hpp>

#include "driver/cuda/check.hpp"
#include "driver/cuda/ledger.hpp"
#include "driver/cuda/scope.hpp"

namespace peerlane::cuda {

/// What graphs kept and gave up. They tell on a thread of the runtime that may not call it: a later call destroys.
class GivenUp;
std::shared_ptr<GivenUp> make_given_up();

class CudaDriver final : public Driver {
  public:
    /// At least one device must be there.
    explicit CudaDriver(int devices);
    ~CudaDriver() override;

    [[nodiscard]] bool simulated() const override { return false; }
    [[nodiscard]] const Machine& machine() const override { return machine_; }
    [[nodiscard]] Capabilities capabilities(int device) const override;
    [[nodiscard]] std::string description() const override { return description_; }

    [[nodiscard]] bool can_access(int accessor, int owner) const override;
    [[nodiscard]] bool native_atomics(int accessor, int owner) const override;
    MappingOutcome enable_access(AccessEdge edge) override;
    MappingOutcome disable_access(AccessEdge edge) override;
    MappingOutcome grant(PoolId pool, int accessor, Access access) override;
    MappingOutcome grant(Address virtual_memory, int accessor, Access access) override;
    ContextId create_context(int device) override;
    void destroy_context(ContextId context) override;

    [[nodiscard]] Address allocate(const AllocationRequest& request) override;
    void free(Address base, std::optional<StreamView> stream) override;
    void register_host(Address base, std::uint64_t bytes) override;
    void unregister_host(Address base) override;
    [[nodiscard]] Provenance provenance(Address address) const override;
    [[nodiscard]] Whereabouts whereabouts(Address address) const override;
    [[nodiscard]] std::uint64_t free_bytes(int device) const override;
    [[nodiscard]] PoolId create_pool(int device) override;
    [[nodiscard]] PoolId default_pool(int device) const override;
    void destroy_pool(PoolId pool) override;
    void write_host(Address to, const void* from, std::uint64_t bytes) override;
    void read_host(Address from, void* to, std::uint64_t bytes) const override;
    void copy_host(Address to, Address from, std::uint64_t bytes) override;
    void fill_host(Address to, std::uint64_t bytes, Pattern pattern) override;
    [[nodiscard]] CheckOutcome check_host(Address at, std::uint64_t bytes, Pattern expected,
                                          Pattern poison) const override;

    [[nodiscard]] ExportOutcome export_memory(Address at) override;
    [[nodiscard]] ImportOutcome import_memory(const SharedHandle& handle, int device) override;
    void close_import(Address at) override;
    [[nodiscard]] SharedEventOutcome create_shared_event(int device) override;
    [[nodiscard]] SharedEventOutcome import_event(const std::array<std::uint8_t, 64>& token, int device) override;

    [[nodiscard]] StreamView create_stream(int device, StreamKind kind, ContextId context) override;
    void destroy_stream(StreamView stream) override;
    [[nodiscard]] EventView create_event(int device, bool timing) override;
    void destroy_event(EventView event) override;
    void record(EventView event, StreamView stream) override;
    void wait(StreamView stream, EventView event) override;
    [[nodiscard]] bool query(EventView event) override;
    [[nodiscard]] bool query(StreamView stream) override;
    void synchronize(EventView event) override;
    void synchronize(StreamView stream) override;
    void synchronize_device(int device) override;
    [[nodiscard]] bool wait_for(EventView event, double seconds) override;
    [[nodiscard]] double elapsed(EventView start, EventView end) override;
    void begin_capture(StreamView stream) override;
    [[nodiscard]] GraphId end_capture(StreamView stream) override;
    [[nodiscard]] bool capturing(StreamView stream) const override;
    bool keep_with_graph(StreamView stream, std::shared_ptr<void> what) override;
    void launch_graph(GraphId graph, StreamView stream) override;
    void destroy_graph(GraphId graph) override;
    void write_value(StreamView stream, Address at, std::uint32_t value) override;
    void wait_value(StreamView stream, Address at, std::uint32_t at_least) override;
    [[nodiscard]] double now() const override;
    [[nodiscard]] std::uint32_t poll(Address pinned) override;
    [[nodiscard]] int last_error() const override;

    void copy(StreamView stream, const CopyRequest& request) override;
    void copy_batch(StreamView stream, std::span<const CopyRequest> requests) override;
    void fill(StreamView stream, Location to, std::uint8_t value, std::uint64_t bytes) override;
    void launch(StreamView stream, const Kernel& kernel, const void* arguments, LaunchShape shape) override;

  private:
    /// std::invalid_argument for a device that is not there.
    void require_device(int device) const;
    [[nodiscard]] bool has_device(int device) const { return device >= 0 && device < device_count(); }
    /// The primary context, made at the first use of its device and then kept for the life of the process: the
    /// runtime's own state hangs on it.
    [[nodiscard]] CUcontext primary(int device) const;
    /// Now, because a first launch would load it, and wait with that for the kernels that run: for ever, if one of them
    /// waits for that launch.
    static void load_device_code(CUcontext context, int device);
    [[nodiscard]] CUcontext context_of(ContextId context, int device) const;
    [[nodiscard]] CUcontext context_of(StreamView stream) const;
    [[nodiscard]] ContextScope primary_scope(int device) const { return {primary(device), device}; }
    [[nodiscard]] ContextScope scope(StreamView stream) const { return {context_of(stream), stream.device}; }

    MappingOutcome enable_or_disable(AccessEdge edge, bool enable);
    [[nodiscard]] Parties parties(StreamView stream, const CopyRequest& request) const;
    void copy_one(StreamView stream, const CopyRequest& request);
    bool copy_in_one_call(StreamView stream, std::span<const CopyRequest> requests);
    [[nodiscard]] Address allocate_virtual(const AllocationRequest& request);
    [[nodiscard]] Address allocate_host(const AllocationRequest& request);
    [[nodiscard]] ImportOutcome import_plain(const SharedHandle& handle, int device);
    [[nodiscard]] ImportOutcome import_virtual(const SharedHandle& handle, int device);
    [[nodiscard]] ImportOutcome import_pooled(const SharedHandle& handle, int device);
    /// The driver's own code; 0 and the handle's token or descriptor, or both, filled in.
    [[nodiscard]] int export_plain(SharedHandle& handle) const;
    [[nodiscard]] int export_virtual(SharedHandle& handle) const;
    [[nodiscard]] int export_pooled(SharedHandle& handle, PoolId pool) const;
    void free_device(const MemoryRecord& record, std::optional<StreamView> stream);
    void free_host(const MemoryRecord& record);
    [[nodiscard]] std::vector<int> granted_devices(PoolId pool) const;
    [[nodiscard]] std::vector<int> granted_devices(Address virtual_memory) const;
    [[nodiscard]] std::vector<int> devices_reaching(const MemoryRecord& record) const;
    [[nodiscard]] Provenance foreign_provenance(Address address) const;
    /// Host functions take any kind that the host may touch; device memory would end the process.
    void require_host(Address address, const char* what) const;

    Machine machine_;
    std::vector<Capabilities> capabilities_;
    std::vector<bool> pageable_access_;  ///< kernels of the device reach memory that nobody registered
    std::string description_;
    mutable std::deque<std::atomic<CUcontext>> primaries_;
    mutable Ledger ledger_;
    std::atomic<bool> batch_works_ = true;
    std::shared_ptr<GivenUp> given_up_ = make_given_up();  ///< by graphs that are gone
};

/// `legacy` and `per_thread` have the runtime's own numbers, and 0 is the runtime's default stream.
inline cudaStream_t native(StreamView stream) {
    return reinterpret_cast<cudaStream_t>(stream.handle == 0 ? StreamView::legacy : stream.handle);
}
inline cudaEvent_t native(EventView event) {
    return reinterpret_cast<cudaEvent_t>(event.handle);
}
inline bool is_special(StreamView stream) {
    return stream.handle <= StreamView::per_thread;
}
template <class Handle>
std::uint64_t number_of(Handle handle) {
    return reinterpret_cast<std::uintptr_t>(handle);
}
inline CUdeviceptr device_pointer(Address address) {
    return static_cast<CUdeviceptr>(address);
}

}  // namespace peerlane::cuda
