#include "driver/auditing/observer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <unistd.h>

#include <fmt/format.h>
#include <peerlane/units.hpp>

#include "kernels/kernel.hpp"

namespace peerlane::auditing {
namespace {

constexpr std::size_t most_steps = 4096;  ///< of one kernel; a longer one is audited by what it does first

/// The launching stream in the place of the one that was captured.
struct InStream {
    trace::Id stream;
    void operator()(trace::Copy& operation) const { operation.stream = stream; }
    void operator()(trace::Launch& operation) const { operation.stream = stream; }
    void operator()(trace::FlagStep& operation) const { operation.stream = stream; }
    template <class Other>
    void operator()(Other&) const {}
};

}  // namespace

Observer::Observer(int devices, AuditingOptions options)
    : options_(std::move(options)), devices_(devices), auditor_(symbols_) {
    push(trace::Machine{devices, 0});
}

trace::Id Observer::thread() {
    auto const self = std::this_thread::get_id();
    auto const found = threads_.find(self);
    if (found != threads_.end()) {
        return found->second;
    }
    auto const id = threads_.empty() ? trace::Id{0} : symbols_.threads.intern(fmt::format("thread{}", threads_.size()));
    threads_.emplace(self, id);
    return id;
}

void Observer::deliver(const trace::Operation& operation) {
    if (finished_) {
        return;
    }
    trace::Event const event{++line_, thread(), operation};
    if (options_.trace) {
        options_.trace(trace::to_line(event, symbols_));
    }
    auditor_.push(event);
    auto const& found = auditor_.findings();
    for (; reported_ < found.size(); ++reported_) {
        if (options_.found) {
            options_.found(found[reported_]);
        }
    }
}

void Observer::push(trace::Operation operation) {
    push(std::move(operation), {});
}

void Observer::push(trace::Operation operation, const std::vector<trace::Step>& steps) {
    if (capturing()) {
        recording_.push_back({std::move(operation), steps});
        return;
    }
    if (auto* const launch = std::get_if<trace::Launch>(&operation)) {
        launch->steps = steps;
    } else if (auto* const access = std::get_if<trace::HostAccess>(&operation)) {
        access->steps = steps;
    }
    deliver(operation);
}

void Observer::stream_made(StreamView view, trace::StreamKind kind, ContextId of) {
    auto const id = symbols_.streams.intern(fmt::format("s{}", ++named_));
    streams_[{view.device, view.handle}] = id;
    deliver(trace::Stream{id, view.device, kind, context(of)});
}

trace::Id Observer::stream(StreamView view) {
    auto const found = streams_.find({view.device, view.handle});
    if (found != streams_.end()) {
        return found->second;
    }
    stream_made(view,
                view.handle == StreamView::legacy       ? trace::StreamKind::legacy
                : view.handle == StreamView::per_thread ? trace::StreamKind::per_thread
                                                        : trace::StreamKind::nonblocking,  // of somebody else
                {});
    return streams_.at({view.device, view.handle});
}

void Observer::event_made(EventView view) {
    events_[view.handle] = symbols_.events.intern(fmt::format("e{}", ++named_));
}

void Observer::context_made(ContextId id, int device) {
    contexts_[id.value] = symbols_.contexts.intern(fmt::format("c{}.{}", device, ++named_));
}

trace::Id Observer::context(ContextId id) const {
    auto const found = contexts_.find(id.value);
    return found == contexts_.end() ? trace::no_id : found->second;
}

void Observer::copied(StreamView view, const CopyRequest& request, trace::CopyApi api) {
    auto const to = find(request.to.address);
    auto const from = find(request.from.address);
    if (to.memory == trace::no_id || from.memory == trace::no_id) {
        return;  // somebody else's memory: nothing is known of it
    }
    trace::Copy copy;
    copy.stream = stream(view);
    copy.dst = to.memory;
    copy.src = from.memory;
    copy.dst_offset = to.offset;
    copy.src_offset = from.offset;
    copy.bytes = request.bytes;
    copy.api = api;
    copy.current = view.device;
    push(copy);
}

void Observer::filled(StreamView view, Location to, std::uint64_t bytes) {
    auto const spot = find(to.address);
    if (spot.memory == trace::no_id) {
        return;
    }
    trace::Launch launch;
    launch.stream = stream(view);
    launch.name = symbols_.words.intern("fill");
    push(launch, {{trace::Step::Kind::write, false, trace::Scope::system, trace::Order::relaxed, spot.memory,
                   spot.offset, bytes}});
}

std::vector<trace::Step> Observer::steps_of(const Kernel& kernel, const void* arguments) {
    std::vector<trace::Step> steps;
    auto const access = [&](trace::Step::Kind kind, Address at, std::uint64_t bytes) {
        auto const spot = find(at);
        if (spot.memory != trace::no_id && bytes != 0) {
            steps.push_back(
                {kind, false, trace::Scope::system, trace::Order::relaxed, spot.memory, spot.offset, bytes});
        }
    };
    auto const on_flag = [&](trace::Step::Kind kind, Address at, std::uint64_t value) {
        if (find(at).memory != trace::no_id) {
            auto const order = kind == trace::Step::Kind::wait ? trace::Order::acquire : trace::Order::release;
            steps.push_back({kind, false, trace::Scope::system, order, flag(at), value, 0});
        }
    };
    auto running = kernel.meaning(arguments);
    StepAnswer answer;
    while (auto const* const step = running.next(answer)) {
        answer = {};
        answer.value = step->kind == MemoryStep::Kind::wait ? step->value : 0;
        switch (step->kind) {
            case MemoryStep::Kind::load:
            case MemoryStep::Kind::check:
            case MemoryStep::Kind::read:
                access(trace::Step::Kind::read, step->from, step->bytes);
                break;
            case MemoryStep::Kind::store:
            case MemoryStep::Kind::fill:
                access(trace::Step::Kind::write, step->to, step->bytes);
                break;
            case MemoryStep::Kind::copy:
                access(trace::Step::Kind::read, step->from, step->bytes);
                access(trace::Step::Kind::write, step->to, step->bytes);
                break;
            case MemoryStep::Kind::signal:
                on_flag(trace::Step::Kind::signal, step->to, step->value);
                break;
            case MemoryStep::Kind::wait:
                on_flag(trace::Step::Kind::wait, step->from, step->value);
                break;
            case MemoryStep::Kind::fetch_add:
            case MemoryStep::Kind::compare_swap:
                break;  // atomic: it races with nothing that is atomic too
            case MemoryStep::Kind::watch:
                return steps;  // which word comes first is not known before the launch runs
            case MemoryStep::Kind::copies:
                for (auto const& piece : step->pieces) {
                    access(trace::Step::Kind::read, piece.from, piece.bytes);
                    access(trace::Step::Kind::write, piece.to, piece.bytes);
                }
                break;
            case MemoryStep::Kind::fetch:
                access(trace::Step::Kind::read, step->from, step->bytes);
                return steps;  // what a list in memory names is not known before the launch runs
        }
        if (steps.size() >= most_steps) {
            break;
        }
    }
    return steps;
}

void Observer::wait_expired(const ExpiredWait& wait) {
    AuditFinding finding;
    finding.code = "wait-expired";
    finding.severity = AuditFinding::Severity::warn;
    finding.line = line_;
    finding.accessor = wait.device;
    auto const spot = find(wait.flag);
    if (flags_.count(wait.flag) != 0) {
        finding.memory = symbols_.flags.text(flags_.at(wait.flag));
    } else if (spot.memory != trace::no_id) {
        finding.memory = fmt::format("{}+{}", symbols_.memories.text(spot.memory), spot.offset);
    }
    finding.text =
        fmt::format("{} waited {} in vain for {} to reach {}; it was {} then",
                    wait.device < 0 ? "the host" : fmt::format("device {}", wait.device), seconds_text(wait.seconds),
                    finding.memory.empty() ? "a flag" : finding.memory, wait.at_least, wait.seen);
    finding.cure = "see who sets it and what holds that up; or allow the wait more time";
    for (auto& known : expired_) {
        if (known.memory == finding.memory && known.accessor == finding.accessor) {
            ++known.count;
            return;
        }
    }
    expired_.push_back(finding);
    if (options_.found) {
        options_.found(finding);
    }
}

void Observer::launched(StreamView view, const Kernel& kernel, const void* arguments, LaunchShape shape) {
    if (std::strcmp(kernel.name, courier_kernel.name) == 0) {
        courier_launched(view, *static_cast<const CourierArguments*>(arguments));
        return;
    }
    auto const steps = steps_of(kernel, arguments);
    trace::Launch launch;
    launch.stream = stream(view);
    launch.name = symbols_.words.intern(kernel.name);
    launch.ctas = shape.ctas;
    push(launch, steps);
}

trace::Id Observer::flag(Address at) {
    auto const found = flags_.find(at);
    if (found != flags_.end()) {
        return found->second;
    }
    auto const spot = find(at);
    auto const id = symbols_.flags.intern(fmt::format("f{}", ++named_));
    flags_[at] = id;
    deliver(trace::Flag{id, spot.memory, spot.offset});
    return id;
}

void Observer::flag_step(std::optional<StreamView> view, Address at, trace::Step::Kind kind, std::uint32_t value) {
    if (find(at).memory == trace::no_id) {
        return;
    }
    trace::FlagStep step;
    step.stream = view ? stream(*view) : trace::no_id;
    auto const order = kind == trace::Step::Kind::wait ? trace::Order::acquire : trace::Order::release;
    step.step = {kind, false, trace::Scope::system, order, flag(at), value, 0};
    push(step);
}

bool Observer::is_flag(Address at, std::uint64_t bytes) const {
    return bytes == 4 && flags_.count(at) != 0;
}

void Observer::host_access(Address at, std::uint64_t bytes, bool write) {
    auto const spot = find(at);
    if (spot.memory == trace::no_id || bytes == 0) {
        return;
    }
    push(trace::HostAccess{}, {{write ? trace::Step::Kind::write : trace::Step::Kind::read, false, trace::Scope::system,
                                trace::Order::relaxed, spot.memory, spot.offset, bytes}});
}

void Observer::polled(Address at, std::uint32_t value) {
    if (value != 0 && flags_.count(at) != 0) {  // what was seen was there: the host is after the signal
        flag_step(std::nullopt, at, trace::Step::Kind::wait, value);
    }
}

void Observer::end_capture(std::optional<GraphId> graph) {
    if (graph) {
        graphs_[graph->value] = std::move(recording_);
    }
    recording_.clear();
    capturing_ = trace::no_id;
}

void Observer::graph_launched(GraphId graph, StreamView view) {
    auto const found = graphs_.find(graph.value);
    if (found == graphs_.end()) {
        return;
    }
    auto const in = stream(view);
    for (auto const& recorded : found->second) {
        auto operation = recorded.operation;
        std::visit(InStream{in}, operation);
        push(std::move(operation), recorded.steps);
    }
}

std::vector<AuditFinding> Observer::check(StreamView view, const Kernel& kernel, const void* arguments) {
    auto const steps = steps_of(kernel, arguments);
    trace::Launch launch;
    launch.stream = stream(view);
    launch.name = symbols_.words.intern(kernel.name);
    launch.steps = steps;
    return auditor_.check(launch, line_ + 1, thread());
}

AccessAnswer Observer::explain(int accessor, Address at, std::uint64_t bytes) const {
    auto const spot = find(at);
    if (spot.memory == trace::no_id) {
        AccessAnswer unknown;
        unknown.code = "out-of-range";
        unknown.why = "the address is in no allocation that was made through this driver";
        unknown.cure = "allocate through the driver, or register the memory with it";
        return unknown;
    }
    return auditor_.explain(accessor, spot.memory, bytes, spot.offset, trace::Grant::readwrite);
}

AuditReport Observer::finish() {
    finished_ = true;
    auto report = auditor_.finish();
    report.findings.insert(report.findings.end(), expired_.begin(), expired_.end());
    std::stable_sort(report.findings.begin(), report.findings.end(),
                     [](const auto& a, const auto& b) { return a.line != b.line ? a.line < b.line : a.code < b.code; });
    return report;
}

}  // namespace peerlane::auditing
