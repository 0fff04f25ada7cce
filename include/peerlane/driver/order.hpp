#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include <peerlane/driver/mappings.hpp>
#include <peerlane/driver/order_types.hpp>
#include <peerlane/place.hpp>

namespace peerlane {

/// Streams, events, waiting and time. Device work progresses by itself on real devices; under simulation only inside
/// the calls that wait or look (synchronize, query, wait_for, poll, a call blocked on a full queue).
class OrderOfDriver {
  public:
    virtual ~OrderOfDriver() = default;
    [[nodiscard]] virtual StreamView create_stream(int device, StreamKind kind = StreamKind::nonblocking,
                                                   ContextId context = {}) = 0;
    /// Work already in it still completes.
    virtual void destroy_stream(StreamView stream) = 0;
    [[nodiscard]] virtual EventView create_event(int device, bool timing = false) = 0;
    virtual void destroy_event(EventView event) = 0;

    /// Event and stream must be of one device: Error 400 otherwise.
    virtual void record(EventView event, StreamView stream) = 0;
    /// The stream waits for the latest record so far; an event never recorded is no wait. Any two devices.
    virtual void wait(StreamView stream, EventView event) = 0;
    /// True when all that came before is done. Errors of that work are thrown.
    [[nodiscard]] virtual bool query(EventView event) = 0;
    [[nodiscard]] virtual bool query(StreamView stream) = 0;
    virtual void synchronize(EventView event) = 0;
    virtual void synchronize(StreamView stream) = 0;
    virtual void synchronize_device(int device) = 0;
    /// Bounded wait: true when done within `seconds` from now. Under simulation work that hangs uses up the whole time.
    [[nodiscard]] virtual bool wait_for(EventView event, double seconds) = 0;
    /// Seconds between two timing events of one device, resolution about 0.5 us; Error 400 for events of two devices,
    /// 600 when not yet reached.
    [[nodiscard]] virtual double elapsed(EventView start, EventView end) = 0;

    /// Records what follows in `stream` (and in streams that wait for its events) instead of running it.
    virtual void begin_capture(StreamView stream) = 0;
    /// Error 901 when a call in between broke the capture.
    [[nodiscard]] virtual GraphId end_capture(StreamView stream) = 0;
    [[nodiscard]] virtual bool capturing(StreamView stream) const = 0;
    /// The graph that is being captured in the stream keeps `what` until it and everything made of it are gone; what is
    /// given up then is destroyed by a later call of this driver, or never when the driver goes first. False, and
    /// nothing kept, where the stream is not being captured or the driver cannot tell when a graph goes.
    virtual bool keep_with_graph(StreamView /*stream*/, std::shared_ptr<void> /*what*/) { return false; }
    virtual void launch_graph(GraphId graph, StreamView stream) = 0;
    virtual void destroy_graph(GraphId graph) = 0;

    /// The stream stores, or waits until the 32-bit value at `at` reaches `at_least`. Reached means at most 2^31 - 1
    /// ahead, modulo 2^32, as the devices compare: a counter may wrap, and a flag that starts at 0 takes values below
    /// 2^31. The same holds for every wait for a flag in this library.
    virtual void write_value(StreamView stream, Address at, std::uint32_t value) = 0;
    virtual void wait_value(StreamView stream, Address at, std::uint32_t at_least) = 0;

    /// Seconds on this thread's clock: steady time, or under simulation the thread's virtual time. Only differences
    /// mean anything.
    [[nodiscard]] virtual double now() const = 0;
    /// The 32-bit value in pinned memory as the host sees it now.
    [[nodiscard]] virtual std::uint32_t poll(Address pinned) = 0;
    /// A bounded wait for a flag expired; those who watch the driver keep it (auditing.hpp). Nothing else happens.
    virtual void expired(const ExpiredWait& wait) { static_cast<void>(wait); }
    /// What the runtime would tell the next user as its last error, without clearing it. 0 unless a device error is
    /// sticky.
    [[nodiscard]] virtual int last_error() const = 0;
};

}  // namespace peerlane
