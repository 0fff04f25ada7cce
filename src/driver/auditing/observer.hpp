#pragma once
/// Translates calls of the seam into events of a trace, and feeds them to the audit. Not safe from two threads: the
/// driver locks.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <peerlane/auditing.hpp>
#include <peerlane/trace.hpp>

#include "kernels/courier.hpp"

namespace peerlane::auditing {

class Observer {
  public:
    Observer(int devices, AuditingOptions options);

    // Streams, by handle; the special ones are made when first seen.
    void stream_made(StreamView stream, trace::StreamKind kind, ContextId context);
    trace::Id stream(StreamView view);
    /// The runtime may give the handle out again.
    void stream_gone(StreamView view) { streams_.erase({view.device, view.handle}); }
    void event_made(EventView event);
    trace::Id event(EventView view) { return events_.at(view.handle); }
    void context_made(ContextId context, int device);

    void allocated(Address base, const AllocationRequest& request, std::uint64_t bytes);
    void freed(Address base, std::optional<trace::Id> in_stream);
    void registered(Address base, bool now);
    void imported(Address at, const SharedHandle& handle, int device);
    void closed(Address at);

    void enabled(const AccessEdge& edge, const MappingOutcome& outcome);
    void disabled(const AccessEdge& edge);
    void granted(std::optional<PoolId> pool, Address at, int accessor, Access access);

    void copied(StreamView view, const CopyRequest& request, trace::CopyApi api);
    void filled(StreamView view, Location to, std::uint64_t bytes);
    void launched(StreamView view, const Kernel& kernel, const void* arguments, LaunchShape shape);
    void flag_step(std::optional<StreamView> view, Address at, trace::Step::Kind kind, std::uint32_t value);
    void host_access(Address at, std::uint64_t bytes, bool write);
    /// The host posted a message: a courier's launch says where its ring is, and its slots say what it will do. False
    /// when these bytes are no slot.
    bool message_posted(Address at, const void* from, std::uint64_t bytes);
    void polled(Address at, std::uint32_t value);
    /// A finding of its own: what a program did after it gave up waiting is its business, that it had to is ours.
    void wait_expired(const ExpiredWait& wait);
    [[nodiscard]] const std::vector<AuditFinding>& expired() const { return expired_; }
    [[nodiscard]] bool is_flag(Address at, std::uint64_t bytes) const;
    /// Any event that needs no translation.
    void push(trace::Operation operation);

    // Captures: what is recorded is kept, and pushed when the graph is launched.
    void begin_capture(StreamView view) { capturing_ = stream(view); }
    void end_capture(std::optional<GraphId> graph);
    [[nodiscard]] bool capturing() const { return capturing_ != trace::no_id; }
    void graph_launched(GraphId graph, StreamView view);
    void graph_destroyed(GraphId graph) { graphs_.erase(graph.value); }

    [[nodiscard]] std::vector<AuditFinding> check(StreamView view, const Kernel& kernel, const void* arguments);
    [[nodiscard]] AccessAnswer explain(int accessor, Address at, std::uint64_t bytes) const;
    [[nodiscard]] const Auditor& auditor() const { return auditor_; }
    AuditReport finish();
    [[nodiscard]] bool finished() const { return finished_; }

  private:
    struct Known {
        std::uint64_t bytes = 0;
        trace::Id memory = trace::no_id;
        AllocationRequest request{};
        int opened = 0;  ///< of an import: times not closed yet
    };
    struct Spot {
        trace::Id memory = trace::no_id;
        std::uint64_t offset = 0;
    };
    struct Recorded {
        trace::Operation operation;
        std::vector<trace::Step> steps;
    };
    /// What a courier does for one message, in its own stream.
    void carried(StreamView in, const MessageSlot& slot, Address done);
    void courier_launched(StreamView view, const CourierArguments& arguments);
    [[nodiscard]] Spot find(Address at) const;
    trace::Id flag(Address at);
    trace::Id context(ContextId id) const;
    trace::Id thread();
    std::vector<trace::Step> steps_of(const Kernel& kernel, const void* arguments);
    void push(trace::Operation operation, const std::vector<trace::Step>& steps);
    void deliver(const trace::Operation& operation);

    AuditingOptions options_;
    int devices_;
    trace::Symbols symbols_;
    Auditor auditor_;
    std::uint64_t line_ = 0;
    std::uint64_t named_ = 0;
    std::size_t reported_ = 0;
    bool finished_ = false;
    std::map<std::pair<int, std::uint64_t>, trace::Id> streams_;  ///< device, handle
    std::unordered_map<std::uint64_t, trace::Id> events_;
    std::unordered_map<std::uint64_t, trace::Id> contexts_;
    std::unordered_map<std::uint64_t, trace::Id> pools_;
    std::map<Address, Known> memory_;
    std::map<std::pair<int, Address>, trace::Id> foreign_;  ///< exported by other processes: process, base there
    std::map<Address, trace::Id> flags_;
    std::unordered_map<std::thread::id, trace::Id> threads_;
    std::vector<AuditFinding> expired_;
    struct Ring {
        CourierArguments arguments;
        StreamView stream;
    };
    std::vector<Ring> couriers_;
    std::map<Address, MessageSlot> entries_;  ///< messages of streams, by their slot
    trace::Id capturing_ = trace::no_id;
    std::vector<Recorded> recording_;
    std::unordered_map<std::uint64_t, std::vector<Recorded>> graphs_;
};

}  // namespace peerlane::auditing
