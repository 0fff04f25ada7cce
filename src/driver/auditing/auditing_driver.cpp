// The decorator. Calls that the inner driver refuses are not events: what did not happen is not audited.

#include <map>
#include <mutex>

#include <fmt/format.h>
#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "driver/auditing/observer.hpp"
#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

using auditing::Observer;
using Lock = std::lock_guard<std::mutex>;

class Watched final : public AuditingDriver {
  public:
    Watched(Driver& inner, AuditingOptions options)
        : inner_(inner),
          refuse_unmapped_(options.refuse_unmapped),
          observer_(inner.device_count(), std::move(options)) {}

    bool simulated() const override { return inner_.simulated(); }
    const Machine& machine() const override { return inner_.machine(); }
    Capabilities capabilities(int device) const override { return inner_.capabilities(device); }
    std::string description() const override { return inner_.description() + ", audited"; }
    bool can_access(int accessor, int owner) const override { return inner_.can_access(accessor, owner); }
    bool native_atomics(int accessor, int owner) const override { return inner_.native_atomics(accessor, owner); }

    MappingOutcome enable_access(AccessEdge edge) override {
        auto const outcome = inner_.enable_access(edge);
        Lock const lock(mutex_);
        auto const known = [&](int device) { return device >= 0 && device < inner_.device_count(); };
        if (known(edge.accessor) && known(edge.owner) && edge.accessor != edge.owner) {
            observer_.enabled(edge, outcome);
        }
        return outcome;
    }
    MappingOutcome disable_access(AccessEdge edge) override {
        auto const outcome = inner_.disable_access(edge);
        Lock const lock(mutex_);
        if (outcome.usable()) {
            observer_.disabled(edge);
        }
        return outcome;
    }
    MappingOutcome grant(PoolId pool, int accessor, Access access) override {
        auto const outcome = inner_.grant(pool, accessor, access);
        Lock const lock(mutex_);
        if (outcome.usable()) {
            observer_.granted(pool, {}, accessor, access);
        }
        return outcome;
    }
    MappingOutcome grant(Address at, int accessor, Access access) override {
        auto const outcome = inner_.grant(at, accessor, access);
        Lock const lock(mutex_);
        if (outcome.usable()) {
            observer_.granted(std::nullopt, at, accessor, access);
        }
        return outcome;
    }
    ContextId create_context(int device) override {
        auto const context = inner_.create_context(device);
        Lock const lock(mutex_);
        observer_.context_made(context, device);
        return context;
    }
    void destroy_context(ContextId context) override { inner_.destroy_context(context); }

    Address allocate(const AllocationRequest& request) override {
        auto const base = inner_.allocate(request);
        auto const bytes = inner_.provenance(base).bytes;
        Lock const lock(mutex_);
        observer_.allocated(base, request, bytes != 0 ? bytes : request.bytes);
        return base;
    }
    void free(Address base, std::optional<StreamView> stream) override {
        auto const pooled = inner_.provenance(base).kind == MemoryKind::pool;
        {
            // Before the call: the address may be given out again before it returns.
            Lock const lock(mutex_);
            if (!pooled) {  // the driver's own free waits for the work that uses it
                auto const provenance = inner_.provenance(base);
                if (provenance.place.is_device()) {
                    observer_.push(trace::Sync{trace::no_id, provenance.place.index});
                }
            }
            observer_.freed(base, stream ? std::optional(observer_.stream(*stream)) : std::nullopt);
        }
        inner_.free(base, stream);
    }
    void register_host(Address base, std::uint64_t bytes) override {
        inner_.register_host(base, bytes);
        Lock const lock(mutex_);
        observer_.registered(base, true);
    }
    void unregister_host(Address base) override {
        inner_.unregister_host(base);
        Lock const lock(mutex_);
        observer_.registered(base, false);
    }
    Provenance provenance(Address address) const override { return inner_.provenance(address); }
    Whereabouts whereabouts(Address address) const override { return inner_.whereabouts(address); }
    std::uint64_t free_bytes(int device) const override { return inner_.free_bytes(device); }
    PoolId create_pool(int device) override { return inner_.create_pool(device); }
    PoolId default_pool(int device) const override { return inner_.default_pool(device); }
    void destroy_pool(PoolId pool) override { inner_.destroy_pool(pool); }

    void write_host(Address to, const void* from, std::uint64_t bytes) override {
        {
            Lock const lock(mutex_);
            if (observer_.message_posted(to, from, bytes)) {
                // said by what the courier does for it
            } else if (observer_.is_flag(to, bytes)) {
                observer_.flag_step(std::nullopt, to, trace::Step::Kind::signal,
                                    *static_cast<const std::uint32_t*>(from));
            } else {
                observer_.host_access(to, bytes, true);
            }
        }
        inner_.write_host(to, from, bytes);
    }
    void read_host(Address from, void* to, std::uint64_t bytes) const override {
        inner_.read_host(from, to, bytes);
        Lock const lock(mutex_);
        if (!observer_.is_flag(from, bytes)) {
            observer_.host_access(from, bytes, false);
        }
    }
    void fill_host(Address to, std::uint64_t bytes, Pattern pattern) override {
        {
            Lock const lock(mutex_);
            observer_.host_access(to, bytes, true);
        }
        inner_.fill_host(to, bytes, pattern);
    }
    CheckOutcome check_host(Address at, std::uint64_t bytes, Pattern expected, Pattern poison) const override {
        {
            Lock const lock(mutex_);
            observer_.host_access(at, bytes, false);
        }
        return inner_.check_host(at, bytes, expected, poison);
    }

    ExportOutcome export_memory(Address at) override { return inner_.export_memory(at); }
    ImportOutcome import_memory(const SharedHandle& handle, int device) override {
        auto const outcome = inner_.import_memory(handle, device);
        Lock const lock(mutex_);
        if (outcome.usable()) {
            observer_.imported(outcome.at, handle, device);
        }
        return outcome;
    }
    void close_import(Address at) override {
        {
            Lock const lock(mutex_);
            observer_.closed(at);  // before the call: the address may be given out again
        }
        inner_.close_import(at);
    }

    SharedEventOutcome create_shared_event(int device) override { return seen(inner_.create_shared_event(device)); }
    SharedEventOutcome import_event(const std::array<std::uint8_t, 64>& token, int device) override {
        return seen(inner_.import_event(token, device));
    }

    StreamView create_stream(int device, StreamKind kind, ContextId context) override {
        auto const view = inner_.create_stream(device, kind, context);
        Lock const lock(mutex_);
        observer_.stream_made(
            view, kind == StreamKind::blocking ? trace::StreamKind::blocking : trace::StreamKind::nonblocking, context);
        return view;
    }
    void destroy_stream(StreamView stream) override {
        {
            Lock const lock(mutex_);
            observer_.stream_gone(stream);  // before the call: its handle may be given out again at once
        }
        inner_.destroy_stream(stream);
    }
    EventView create_event(int device, bool timing) override {
        auto const view = inner_.create_event(device, timing);
        Lock const lock(mutex_);
        observer_.event_made(view);
        return view;
    }
    void destroy_event(EventView event) override { inner_.destroy_event(event); }
    void record(EventView event, StreamView stream) override {
        inner_.record(event, stream);
        Lock const lock(mutex_);
        since_[event.handle] = inner_.now();
        if (!observer_.capturing()) {
            observer_.push(trace::Record{observer_.event(event), observer_.stream(stream)});
        }
    }
    void wait(StreamView stream, EventView event) override {
        inner_.wait(stream, event);
        Lock const lock(mutex_);
        if (!observer_.capturing()) {
            observer_.push(trace::Wait{observer_.event(event), observer_.stream(stream)});
        }
    }
    bool query(EventView event) override {
        auto const done = faulting([&] { return inner_.query(event); });
        Lock const lock(mutex_);
        observer_.push(trace::Query{observer_.event(event), trace::no_id, done});
        return done;
    }
    bool query(StreamView stream) override {
        auto const done = faulting([&] { return inner_.query(stream); });
        Lock const lock(mutex_);
        observer_.push(trace::Query{trace::no_id, observer_.stream(stream), done});
        return done;
    }
    void synchronize(EventView event) override {
        faulting([&] { inner_.synchronize(event); });
        Lock const lock(mutex_);
        observer_.push(trace::Wait{observer_.event(event), trace::no_id});
    }
    void synchronize(StreamView stream) override {
        faulting([&] { inner_.synchronize(stream); });
        Lock const lock(mutex_);
        observer_.push(trace::Sync{observer_.stream(stream), -1});
    }
    void synchronize_device(int device) override {
        faulting([&] { inner_.synchronize_device(device); });
        Lock const lock(mutex_);
        observer_.push(trace::Sync{trace::no_id, device});
    }
    bool wait_for(EventView event, double seconds) override {
        auto const met = faulting([&] { return inner_.wait_for(event, seconds); });
        Lock const lock(mutex_);
        if (met) {
            observer_.push(trace::Wait{observer_.event(event), trace::no_id});
            expired_.erase(event.handle);
        } else {
            auto const since = since_.find(event.handle);
            expired_[event.handle] = {event, since == since_.end() ? seconds : inner_.now() - since->second};
        }
        return met;
    }
    double elapsed(EventView start, EventView end) override { return inner_.elapsed(start, end); }

    void begin_capture(StreamView stream) override {
        inner_.begin_capture(stream);
        Lock const lock(mutex_);
        observer_.begin_capture(stream);
    }
    GraphId end_capture(StreamView stream) override {
        try {
            auto const graph = inner_.end_capture(stream);
            Lock const lock(mutex_);
            observer_.end_capture(graph);
            return graph;
        } catch (const Error&) {
            Lock const lock(mutex_);
            observer_.end_capture(std::nullopt);
            throw;
        }
    }
    bool keep_with_graph(StreamView stream, std::shared_ptr<void> what) override {
        return inner_.keep_with_graph(stream, std::move(what));
    }
    bool capturing(StreamView stream) const override { return inner_.capturing(stream); }
    void launch_graph(GraphId graph, StreamView stream) override {
        inner_.launch_graph(graph, stream);
        Lock const lock(mutex_);
        observer_.graph_launched(graph, stream);
    }
    void destroy_graph(GraphId graph) override {
        inner_.destroy_graph(graph);
        Lock const lock(mutex_);
        observer_.graph_destroyed(graph);
    }
    void write_value(StreamView stream, Address at, std::uint32_t value) override {
        inner_.write_value(stream, at, value);
        Lock const lock(mutex_);
        observer_.flag_step(stream, at, trace::Step::Kind::signal, value);
    }
    void wait_value(StreamView stream, Address at, std::uint32_t at_least) override {
        inner_.wait_value(stream, at, at_least);
        Lock const lock(mutex_);
        observer_.flag_step(stream, at, trace::Step::Kind::wait, at_least);
    }
    double now() const override { return inner_.now(); }
    std::uint32_t poll(Address pinned) override {
        auto const value = inner_.poll(pinned);
        Lock const lock(mutex_);
        observer_.polled(pinned, value);
        return value;
    }
    void expired(const ExpiredWait& wait) override {
        inner_.expired(wait);
        Lock const lock(mutex_);
        observer_.wait_expired(wait);
    }
    int last_error() const override { return inner_.last_error(); }

    void copy(StreamView stream, const CopyRequest& request) override {
        inner_.copy(stream, request);
        Lock const lock(mutex_);
        if (request.bytes != 0) {
            observer_.copied(stream, request,
                             request.api == CopyApi::peer ? trace::CopyApi::peer : trace::CopyApi::plain);
        }
    }
    void copy_batch(StreamView stream, std::span<const CopyRequest> requests) override {
        inner_.copy_batch(stream, requests);
        Lock const lock(mutex_);
        for (auto const& request : requests) {
            if (request.bytes != 0) {
                observer_.copied(stream, request, trace::CopyApi::batch);
            }
        }
    }
    void fill(StreamView stream, Location to, std::uint8_t value, std::uint64_t bytes) override {
        inner_.fill(stream, to, value, bytes);
        Lock const lock(mutex_);
        observer_.filled(stream, to, bytes);
    }
    void launch(StreamView stream, const Kernel& kernel, const void* arguments, LaunchShape shape) override {
        if (refuse_unmapped_) {
            refuse(stream, kernel, arguments);
        }
        inner_.launch(stream, kernel, arguments, shape);
        Lock const lock(mutex_);
        observer_.launched(stream, kernel, arguments, shape);
    }

    std::vector<AuditFinding> check(StreamView stream, const Kernel& kernel, const void* arguments) const override {
        Lock const lock(mutex_);
        return observer_.check(stream, kernel, arguments);
    }
    AccessAnswer explain(int accessor, Address at, std::uint64_t bytes) const override {
        Lock const lock(mutex_);
        return observer_.explain(accessor, at, bytes);
    }
    std::vector<AuditFinding> explain_fault() const override {
        Lock const lock(mutex_);
        return observer_.auditor().explain_fault();
    }
    std::vector<std::string> waiting() const override {
        Lock const lock(mutex_);
        auto lines = observer_.auditor().waiting();
        for (auto const& [handle, expired] : expired_) {
            lines.push_back(fmt::format("the host waited in vain for an event of device {} recorded {} ago",
                                        expired.first.device, seconds_text(expired.second)));
        }
        for (auto const& finding : observer_.expired()) {
            lines.push_back(finding.text);
        }
        return lines;
    }
    std::vector<AuditFinding> findings() const override {
        Lock const lock(mutex_);
        auto all = observer_.auditor().findings();
        all.insert(all.end(), observer_.expired().begin(), observer_.expired().end());
        return all;
    }
    AuditReport finish() override {
        Lock const lock(mutex_);
        return observer_.finish();
    }

  private:
    void refuse(StreamView stream, const Kernel& kernel, const void* arguments) {
        auto const found = check(stream, kernel, arguments);
        if (found.empty()) {
            return;
        }
        std::string text;
        for (auto const& finding : found) {
            text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", finding.text, finding.cure);
        }
        throw Error({code::illegal_address, fmt::format("launch of {}, not passed on", kernel.name),
                     found.front().accessor, found.front().owner, text});
    }

    SharedEventOutcome seen(const SharedEventOutcome& outcome) {
        Lock const lock(mutex_);
        if (outcome.usable()) {
            observer_.event_made(outcome.event);
        }
        return outcome;
    }

    /// A hang and a fault say who, as far as the events tell.
    template <class Call>
    auto faulting(Call&& call) -> decltype(call()) {
        try {
            return call();
        } catch (const Error& error) {
            auto info = error.info();
            if (info.code == code::launch_timeout) {
                for (auto const& line : waiting()) {
                    info.cure += "\n  " + line;
                }
            } else if (info.sticky) {
                for (auto const& finding : explain_fault()) {
                    info.cure += fmt::format("\n  {} (call {}): {}", finding.text, finding.line, finding.cure);
                }
            } else {
                throw;
            }
            throw Error(info);
        }
    }

    Driver& inner_;
    bool refuse_unmapped_;
    mutable std::mutex mutex_;
    mutable Observer observer_;
    std::map<std::uint64_t, double> since_;                          ///< event -> time of its record
    std::map<std::uint64_t, std::pair<EventView, double>> expired_;  ///< bounded waits that were not met
};

}  // namespace

std::unique_ptr<AuditingDriver> make_auditing(Driver& inner, AuditingOptions options) {
    return std::make_unique<Watched>(inner, std::move(options));
}

}  // namespace peerlane
