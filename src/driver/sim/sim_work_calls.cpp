// Work: what is queued, checked at the call as the runtime does.

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/error.hpp>

#include "driver/sim/sim_driver.hpp"

namespace peerlane::sim {
namespace {

constexpr std::size_t queue_limit = 1000;  ///< operations in a stream before a call blocks (facts of the pair)

}  // namespace

std::vector<OpId> SimDriver::dependencies(StreamState& stream, std::uint64_t key) {
    std::vector<OpId> after = std::move(stream.also);
    stream.also.clear();
    after.push_back(stream.tail);
    if (stream.kind == StreamKind::blocking) {
        auto const legacy = 0x10 + static_cast<std::uint64_t>(stream.device);
        for (auto const& [other, state] : streams_) {
            // The legacy stream waits for every blocking stream of its device, and they for it.
            if (other != key && state.device == stream.device && state.kind == StreamKind::blocking &&
                (key == legacy || other == legacy)) {
                after.push_back(state.tail);
                after.insert(after.end(), state.also.begin(), state.also.end());
            }
        }
    }
    return after;
}

void SimDriver::record_node(StreamState& stream, std::uint64_t key, Op op) {
    auto& capture = *stream.capture;
    auto& tail = capture.tail[key];
    std::sort(tail.begin(), tail.end());
    tail.erase(std::unique(tail.begin(), tail.end()), tail.end());
    op.context = stream.context;
    capture.graph.nodes.push_back({std::move(op), tail});
    tail = {capture.graph.nodes.size() - 1};
}

void SimDriver::break_capture(StreamState& stream, const char* call) {
    stream.capture->broken = true;
    throw Error({code::capture_unsupported, call, stream.device, -1,
                 "not allowed while the stream is being captured; the capture is lost"});
}

void SimDriver::enqueue(StreamView view, Op op, double cost, const char* call) {
    check_alive();
    auto& on = stream_of(view, call);
    auto const key = key_of(view);
    op.device = on.device;
    op.context = on.context;
    charge(cost);
    if (on.capture) {
        if (on.capture->broken) {
            throw Error(
                {code::capture_invalidated, call, on.device, -1, "the capture was broken by an earlier call: end it"});
        }
        record_node(on, key, std::move(op));
        return;
    }
    if (engine_.queued(key) >= queue_limit) {  // the call blocks until there is room
        engine_.advance([&] { return engine_.queued(key) < queue_limit || engine_.fault(); });
        clock() = std::max(clock(), engine_.now());
        latest_ = std::max(latest_, clock());
        changed_.notify_all();
        check_alive();
    }
    op.stream = key;
    auto const& figures = engine_.truth().figures;
    auto const start = op.kind == Op::Kind::kernel ? figures.kernel_start_s : figures.start_latency_s;
    on.tail = engine_.submit(std::move(op), dependencies(on, key), clock() + start);
    changed_.notify_all();
}

void SimDriver::check_copy(const CopyRequest& request, int issuer, const char* call) const {
    auto const& memory = engine_.memory();
    for (auto const& [side, name] : {std::pair{request.to, "destination"}, std::pair{request.from, "source"}}) {
        auto const* const block = memory.find(side.address);
        if (block == nullptr || request.bytes > block->bytes - (side.address - block->base)) {
            throw Error({code::invalid_value, call, issuer, side.place.is_device() ? side.place.index : -1,
                         fmt::format("{} bytes of the {} are not inside an allocation", request.bytes, name)});
        }
        if (request.api == CopyApi::automatic && !memory.copy_may(issuer, *block)) {
            throw Error({code::invalid_value, call, issuer, block->place.index,
                         fmt::format("{} memory of device {} has no mapping for device {}: grant it, or name both "
                                     "devices (CopyApi::peer)",
                                     to_string(block->kind), block->place.index, issuer)});
        }
        if (request.api == CopyApi::peer && (!side.place.is_device() || block->place != side.place)) {
            throw Error({code::invalid_value, call, issuer, -1,
                         fmt::format("the {} is not memory of {}", name, to_string(side.place))});
        }
    }
}

void SimDriver::copy(StreamView stream, const CopyRequest& request) {
    Lock const lock(mutex_);
    check_alive();
    auto& on = stream_of(stream, "copy");
    if (request.bytes == 0) {
        return;
    }
    if (on.capture && request.api == CopyApi::peer) {
        break_capture(on, "peer copy");
    }
    check_copy(request, on.device, request.api == CopyApi::peer ? "peer copy" : "copy");
    Op op;
    op.kind = Op::Kind::copy;
    op.copy = request;
    auto const& figures = engine_.truth().figures;
    enqueue(stream, std::move(op), request.api == CopyApi::peer ? figures.copy_call_s : figures.plain_copy_call_s,
            "copy");
}

void SimDriver::copy_batch(StreamView stream, std::span<const CopyRequest> requests) {
    Lock const lock(mutex_);
    check_alive();
    auto& on = stream_of(stream, "copy_batch");
    if (on.capture) {
        break_capture(on, "copy_batch");
    }
    for (auto const& request : requests) {
        if (request.bytes != 0) {
            check_copy(request, on.device, "copy_batch");
        }
    }
    auto const key = key_of(stream);
    auto const& figures = engine_.truth().figures;
    charge(figures.copy_call_s);
    auto const first = dependencies(on, key);
    std::vector<OpId> all = first;
    for (auto const& request : requests) {
        Op op;
        op.kind = Op::Kind::copy;
        op.copy = request;
        op.batched = true;
        op.device = on.device;
        op.context = on.context;
        op.stream = key;
        charge(figures.batch_copy_s + figures.batch_growth_s * static_cast<double>(requests.size()));
        all.push_back(engine_.submit(std::move(op), first, clock() + figures.start_latency_s));
    }
    Op end;
    end.device = on.device;
    end.stream = key;
    on.tail = engine_.submit(std::move(end), all, clock());
    changed_.notify_all();
}

void SimDriver::fill(StreamView stream, Location to, std::uint8_t value, std::uint64_t bytes) {
    Lock const lock(mutex_);
    check_alive();
    (void)stream_of(stream, "fill");
    if (bytes == 0) {
        return;
    }
    (void)engine_.memory().covering(to.address, bytes, "fill");
    Op op;
    op.kind = Op::Kind::fill;
    op.copy = {to, {}, bytes, CopyApi::automatic};
    op.fill_value = value;
    enqueue(stream, std::move(op), engine_.truth().figures.copy_call_s, "fill");
}

void SimDriver::launch(StreamView stream, const Kernel& kernel, const void* arguments, LaunchShape shape) {
    Lock const lock(mutex_);
    Op op;
    op.kind = Op::Kind::kernel;
    op.kernel = &kernel;
    op.arguments.resize(kernel.argument_bytes);
    std::memcpy(op.arguments.data(), arguments, kernel.argument_bytes);
    op.shape = shape;
    enqueue(stream, std::move(op), engine_.truth().figures.launch_call_s, "launch");
}

void SimDriver::write_value(StreamView stream, Address at, std::uint32_t value) {
    Lock const lock(mutex_);
    check_alive();
    (void)engine_.memory().covering(at, 4, "write_value");
    Op op;
    op.kind = Op::Kind::write_value;
    op.at = at;
    op.value = value;
    enqueue(stream, std::move(op), engine_.truth().figures.small_call_s, "write_value");
}

void SimDriver::wait_value(StreamView stream, Address at, std::uint32_t at_least) {
    Lock const lock(mutex_);
    check_alive();
    (void)engine_.memory().covering(at, 4, "wait_value");
    Op op;
    op.kind = Op::Kind::wait_value;
    op.at = at;
    op.value = at_least;
    enqueue(stream, std::move(op), engine_.truth().figures.small_call_s, "wait_value");
}

std::uint32_t SimDriver::poll(Address pinned) {
    Lock lock(mutex_);
    check_alive();
    auto& block = engine_.memory().covering(pinned, 4, "poll");
    if (!block.place.is_host()) {
        throw Error({code::invalid_value, "poll", -1, block.place.index, "the host polls pinned memory only"});
    }
    charge(engine_.truth().figures.poll_s);
    progress_to(clock(), [] { return false; });
    check_alive();
    std::uint32_t value = 0;
    block.stored->contents.read(pinned - block.base, &value, 4);
    return value;
}

}  // namespace peerlane::sim
