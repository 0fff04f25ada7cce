// Streams, events, waiting and captures.

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/error.hpp>

#include "driver/sim/sim_driver.hpp"

namespace peerlane::sim {

StreamView SimDriver::create_stream(int device, StreamKind kind, ContextId context) {
    Lock const lock(mutex_);
    check_alive();
    engine_.memory().check_device(device, "create_stream");
    if (engine_.memory().context_device(context, device) != device) {
        throw std::invalid_argument("create_stream: the context is not one of that device");
    }
    auto const handle = ++handles_;
    streams_[handle] = StreamState{device, kind, context};
    return {device, handle};
}

void SimDriver::destroy_stream(StreamView stream) {
    Lock const lock(mutex_);
    auto const found = streams_.find(stream.handle);
    if (stream.handle <= StreamView::per_thread || found == streams_.end() || found->second.destroyed) {
        throw Error({code::invalid_handle, "destroy_stream", stream.device, -1, "no such stream"});
    }
    found->second.destroyed = true;
    for (auto entry = streams_.begin(); entry != streams_.end();) {
        entry = entry->second.destroyed && stream_done(entry->first) ? streams_.erase(entry) : std::next(entry);
    }
}

EventView SimDriver::create_event(int device, bool timing) {
    Lock const lock(mutex_);
    check_alive();
    engine_.memory().check_device(device, "create_event");
    auto const handle = ++handles_;
    events_[handle] = EventState{device, timing};
    return {device, handle};
}

void SimDriver::destroy_event(EventView event) {
    Lock const lock(mutex_);
    engine_.forget(event_of(event, "destroy_event").record);
    events_.erase(event.handle);
}

void SimDriver::record(EventView event, StreamView stream) {
    Lock const lock(mutex_);
    check_alive();
    auto& state = event_of(event, "record");
    auto& on = stream_of(stream, "record");
    if (state.device != on.device) {
        throw Error(
            {code::invalid_handle, "record", on.device, state.device,
             fmt::format(
                 "the event belongs to device {}, the stream to device {}: record it on a stream of its own device",
                 state.device, on.device)});
    }
    auto const key = key_of(stream);
    charge(engine_.truth().figures.small_call_s);
    if (on.capture) {
        record_node(on, key, Op{.device = on.device});
        state.capture = on.capture;
        state.node = on.capture->tail[key];
        return;
    }
    engine_.forget(state.record);
    Op op;
    op.device = on.device;
    op.stream = key;
    state.capture.reset();
    state.stream = key;
    state.record = engine_.submit(std::move(op), dependencies(on, key), clock());
    engine_.remember(state.record);
    on.tail = state.record;
}

void SimDriver::wait(StreamView stream, EventView event) {
    Lock const lock(mutex_);
    check_alive();
    auto& state = event_of(event, "wait");
    auto& on = stream_of(stream, "wait");
    auto const key = key_of(stream);
    charge(engine_.truth().figures.small_call_s);
    if (state.capture) {  // the event was recorded while capturing: this stream joins that capture
        if (on.capture && on.capture != state.capture) {
            break_capture(on, "wait");
        }
        on.capture = state.capture;
        auto& tail = on.capture->tail[key];
        tail.insert(tail.end(), state.node.begin(), state.node.end());
        return;
    }
    if (on.capture) {
        if (state.record != 0) {
            break_capture(on, "wait");  // work outside the capture
        }
        return;
    }
    if (!engine_.done(state.record)) {
        on.also.push_back(state.record);
    }
}

bool SimDriver::query(EventView event) {
    Lock lock(mutex_);
    auto const op = event_of(event, "query").record;
    charge(engine_.truth().figures.query_s);
    progress_to(clock(), [&] { return engine_.done(op); });
    throw_errors(event_of(event, "query").stream);
    return engine_.done(op);
}

bool SimDriver::query(StreamView stream) {
    Lock lock(mutex_);
    auto& on = stream_of(stream, "query");
    auto const key = key_of(stream);
    if (on.capture) {
        break_capture(on, "query");
    }
    charge(engine_.truth().figures.query_s);
    progress_to(clock(), [&] { return stream_done(key); });
    throw_errors(key);
    return stream_done(key);
}

void SimDriver::synchronize(EventView event) {
    Lock lock(mutex_);
    auto const& state = event_of(event, "synchronize");
    auto const op = state.record;
    auto const stream = state.stream;
    wait_until_done(
        lock, [&] { return engine_.done(op); }, stream, "synchronize");
}

void SimDriver::synchronize(StreamView stream) {
    Lock lock(mutex_);
    auto& on = stream_of(stream, "synchronize");
    auto const key = key_of(stream);
    if (on.capture) {
        break_capture(on, "synchronize");
    }
    wait_until_done(
        lock, [&] { return stream_done(key); }, key, "synchronize");
}

void SimDriver::synchronize_device(int device) {
    Lock lock(mutex_);
    engine_.memory().check_device(device, "synchronize_device");
    auto const all = [&] {
        return std::all_of(streams_.begin(), streams_.end(), [&](const auto& entry) {
            return entry.second.device != device || stream_done(entry.first);
        });
    };
    wait_until_done(lock, all, 0, "synchronize_device");
    for (auto const& [key, stream] : streams_) {
        if (stream.device == device) {
            throw_errors(key);
        }
    }
}

bool SimDriver::wait_for(EventView event, double seconds) {
    Lock lock(mutex_);
    auto const& state = event_of(event, "wait_for");
    auto const op = state.record;
    auto const stream = state.stream;
    auto const deadline = clock() + seconds;
    auto const met = [&] { return engine_.done(op) || engine_.fault(); };
    auto held = progress_to(deadline, met);
    // Several threads: what this one waits for may come from another, whose clock is its own.
    for (auto rounds = 0; !held && !met() && clocks_.size() > 1 && rounds < 100; ++rounds) {
        changed_.wait_for(lock, std::chrono::milliseconds(20));
        held = progress_to(deadline, met);
    }
    auto& time = clock();
    time = engine_.done(op) ? std::max(time + engine_.truth().figures.sync_idle_s,
                                       engine_.now() + engine_.truth().figures.sync_wake_s)
                            : deadline;
    latest_ = std::max(latest_, time);
    throw_errors(stream);
    return engine_.done(op);
}

double SimDriver::elapsed(EventView start, EventView end) {
    Lock const lock(mutex_);
    auto const& first = event_of(start, "elapsed");
    auto const& second = event_of(end, "elapsed");
    if (first.device != second.device || !first.timing || !second.timing) {
        throw Error({code::invalid_handle, "elapsed", first.device, second.device,
                     first.device != second.device ? "clocks of two devices cannot be compared"
                                                   : "the event was made without timing"});
    }
    if (first.record == 0 || second.record == 0) {
        throw Error({code::invalid_handle, "elapsed", first.device, -1, "the event was never recorded"});
    }
    progress_to(clock(), [&] { return engine_.done(first.record) && engine_.done(second.record); });
    if (!engine_.done(first.record) || !engine_.done(second.record)) {
        throw Error({code::not_ready, "elapsed", first.device, -1, "wait for the event first"});
    }
    return engine_.done_at(second.record) - engine_.done_at(first.record);
}

void SimDriver::begin_capture(StreamView stream) {
    Lock const lock(mutex_);
    check_alive();
    auto& on = stream_of(stream, "begin_capture");
    if (stream.handle == StreamView::legacy) {
        throw Error(
            {code::capture_unsupported, "begin_capture", on.device, -1, "the legacy stream cannot be captured"});
    }
    if (on.capture) {
        throw Error({code::invalid_value, "begin_capture", on.device, -1, "the stream is capturing already"});
    }
    on.capture = std::make_shared<Capture>();
    on.capture->origin = key_of(stream);
    on.capture->tail[on.capture->origin] = {};
}

GraphId SimDriver::end_capture(StreamView stream) {
    Lock const lock(mutex_);
    auto& on = stream_of(stream, "end_capture");
    auto const capture = on.capture;
    if (!capture || capture->origin != key_of(stream)) {
        throw Error({code::invalid_value, "end_capture", on.device, -1, "the stream did not begin a capture"});
    }
    auto joined = std::set<std::size_t>{};
    for (auto const& node : capture->graph.nodes) {
        joined.insert(node.after.begin(), node.after.end());
    }
    auto const& tail = capture->tail[capture->origin];
    joined.insert(tail.begin(), tail.end());
    for (auto& [key, state] : streams_) {
        if (state.capture == capture) {
            state.capture.reset();
        }
    }
    for (auto& [key, state] : events_) {
        if (state.capture == capture) {
            state.capture.reset();
        }
    }
    if (capture->broken) {
        throw Error({code::capture_invalidated, "end_capture", on.device, -1,
                     "a call that cannot be captured broke the capture"});
    }
    if (joined.size() != capture->graph.nodes.size()) {
        throw Error(
            {904, "end_capture", on.device, -1, "a stream that joined the capture was not joined back by an event"});
    }
    auto const id = ++handles_;
    graphs_[id] = std::move(capture->graph);
    return {id};
}

bool SimDriver::capturing(StreamView stream) const {
    Lock const lock(mutex_);
    return stream_of(stream, "capturing").capture != nullptr;
}

void SimDriver::launch_graph(GraphId graph, StreamView stream) {
    Lock const lock(mutex_);
    check_alive();
    auto const found = graphs_.find(graph.value);
    if (found == graphs_.end()) {
        throw Error({code::invalid_value, "launch_graph", stream.device, -1, "no such graph"});
    }
    auto& on = stream_of(stream, "launch_graph");
    auto const key = key_of(stream);
    charge(engine_.truth().figures.graph_launch_call_s);
    auto const first = dependencies(on, key);
    std::vector<OpId> ids;
    std::vector<OpId> all = first;
    for (auto const& node : found->second.nodes) {
        std::vector<OpId> after;
        for (auto const before : node.after) {
            after.push_back(ids[before]);
        }
        auto op = node.op;
        op.stream = key;
        ids.push_back(engine_.submit(std::move(op), node.after.empty() ? first : after,
                                     clock() + engine_.truth().figures.start_latency_s));
        all.push_back(ids.back());
    }
    Op end;
    end.device = on.device;
    end.stream = key;
    on.tail = engine_.submit(std::move(end), all, clock());
}

void SimDriver::destroy_graph(GraphId graph) {
    Lock const lock(mutex_);
    if (graphs_.erase(graph.value) == 0) {
        throw Error({code::invalid_value, "destroy_graph", -1, -1, "no such graph"});
    }
}

}  // namespace peerlane::sim
