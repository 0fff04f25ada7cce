#pragma once
/// The simulated implementation of the seam: streams, events, captures and the virtual clocks of host threads over the
/// engine.

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include <peerlane/simulated.hpp>

#include "driver/sim/engine.hpp"

namespace peerlane::sim {

/// An operation recorded instead of run; `after` are indices of earlier nodes.
struct GraphNode {
    Op op;
    std::vector<std::size_t> after;
};

struct Graph {
    std::vector<GraphNode> nodes;
};

struct Capture {
    std::uint64_t origin = 0;
    Graph graph;
    std::map<std::uint64_t, std::vector<std::size_t>> tail;  ///< of each stream that takes part
    bool broken = false;
};

struct StreamState {
    int device = 0;
    StreamKind kind = StreamKind::nonblocking;
    ContextId context{};
    OpId tail = 0;
    std::vector<OpId> also{};  ///< waited for before the next operation
    std::shared_ptr<Capture> capture{};
    bool destroyed = false;  ///< its work is still waited for
};

struct EventState {
    int device = 0;
    bool timing = false;
    OpId record = 0;           ///< latest
    std::uint64_t stream = 0;  ///< of that record
    std::shared_ptr<Capture> capture{};
    std::vector<std::size_t> node{};
};

class SimDriver final : public Driver {
  public:
    SimDriver(Truth truth, Machine machine, SimProgress progress);

    bool simulated() const override { return true; }
    const Machine& machine() const override { return machine_; }
    Capabilities capabilities(int device) const override;
    std::string description() const override;

    bool can_access(int accessor, int owner) const override;
    bool native_atomics(int accessor, int owner) const override;
    MappingOutcome enable_access(AccessEdge edge) override;
    MappingOutcome disable_access(AccessEdge edge) override;
    MappingOutcome grant(PoolId pool, int accessor, Access access) override;
    MappingOutcome grant(Address virtual_memory, int accessor, Access access) override;
    ContextId create_context(int device) override;
    void destroy_context(ContextId context) override;

    Address allocate(const AllocationRequest& request) override;
    void free(Address base, std::optional<StreamView> stream) override;
    void register_host(Address base, std::uint64_t bytes) override;
    void unregister_host(Address base) override;
    Provenance provenance(Address address) const override;
    std::uint64_t free_bytes(int device) const override;
    PoolId create_pool(int device) override;
    PoolId default_pool(int device) const override;
    void destroy_pool(PoolId pool) override;
    void write_host(Address to, const void* from, std::uint64_t bytes) override;
    void read_host(Address from, void* to, std::uint64_t bytes) const override;
    void fill_host(Address to, std::uint64_t bytes, Pattern pattern) override;
    CheckOutcome check_host(Address at, std::uint64_t bytes, Pattern expected, Pattern poison) const override;

    ExportOutcome export_memory(Address at) override;
    ImportOutcome import_memory(const SharedHandle& handle, int device) override;
    void close_import(Address at) override;

    StreamView create_stream(int device, StreamKind kind, ContextId context) override;
    void destroy_stream(StreamView stream) override;
    EventView create_event(int device, bool timing) override;
    void destroy_event(EventView event) override;
    void record(EventView event, StreamView stream) override;
    void wait(StreamView stream, EventView event) override;
    bool query(EventView event) override;
    bool query(StreamView stream) override;
    void synchronize(EventView event) override;
    void synchronize(StreamView stream) override;
    void synchronize_device(int device) override;
    bool wait_for(EventView event, double seconds) override;
    double elapsed(EventView start, EventView end) override;
    void begin_capture(StreamView stream) override;
    GraphId end_capture(StreamView stream) override;
    bool capturing(StreamView stream) const override;
    void launch_graph(GraphId graph, StreamView stream) override;
    void destroy_graph(GraphId graph) override;
    void write_value(StreamView stream, Address at, std::uint32_t value) override;
    void wait_value(StreamView stream, Address at, std::uint32_t at_least) override;
    double now() const override;
    std::uint32_t poll(Address pinned) override;
    int last_error() const override;

    void copy(StreamView stream, const CopyRequest& request) override;
    void copy_batch(StreamView stream, std::span<const CopyRequest> requests) override;
    void fill(StreamView stream, Location to, std::uint8_t value, std::uint64_t bytes) override;
    void launch(StreamView stream, const Kernel& kernel, const void* arguments, LaunchShape shape) override;

  private:
    using Lock = std::unique_lock<std::mutex>;

    /// The calling thread's clock; made at the latest time known when it first calls.
    double& clock() const;
    /// Adds to the calling thread's clock. Devices work meanwhile, where they are to.
    void charge(double seconds) const;
    [[nodiscard]] double pause() const;
    void check_alive() const;
    StreamState& stream_of(StreamView view, const char* call) const;
    std::uint64_t key_of(StreamView view) const;
    EventState& event_of(EventView view, const char* call) const;
    /// Queues behind what the stream holds; records into its capture instead where it has one.
    void enqueue(StreamView view, Op op, double cost, const char* call);
    std::vector<OpId> dependencies(StreamState& stream, std::uint64_t key);
    void record_node(StreamState& stream, std::uint64_t key, Op op);
    void break_capture(StreamState& stream, const char* call);
    /// Waits until done; throws the sticky fault, or what the work of that stream left behind.
    void wait_until_done(Lock& lock, const std::function<bool()>& met, std::uint64_t stream, const char* call);
    bool progress_to(double time, const std::function<bool()>& met);
    void throw_errors(std::uint64_t stream) const;
    void check_copy(const CopyRequest& request, int issuer, const char* call) const;
    bool stream_done(std::uint64_t key) const;
    [[nodiscard]] bool uses_block(const Block& block) const;

    Machine machine_;
    SimProgress progress_;
    mutable std::uint64_t pauses_ = 0;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    mutable Engine engine_;
    mutable std::unordered_map<std::thread::id, double> clocks_;
    mutable double latest_ = 0;
    mutable std::map<std::uint64_t, StreamState> streams_;
    mutable std::map<std::uint64_t, EventState> events_;
    mutable std::map<std::pair<std::thread::id, int>, std::uint64_t> per_thread_;
    std::map<std::uint64_t, Graph> graphs_;
    mutable std::uint64_t handles_ = 0x1000;
};

}  // namespace peerlane::sim
