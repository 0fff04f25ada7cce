#pragma once
/// Streams, events and staging memory that executions borrow and hand on in stream order. Nothing is given back before
/// the mover goes. Not thread-safe but for `map`: the mover's lock is held.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <peerlane/driver/owned.hpp>
#include <peerlane/error.hpp>
#include <peerlane/plan.hpp>

#include "move/chunks.hpp"
#include "move/staging.hpp"

namespace peerlane::move {

/// Everything one route of one copy uses at a time: a stream for each leg, a ring of buffers at each place between
/// legs, and for each buffer the events "filled" and "drained". `last` is recorded behind the latest use.
struct Lane {
    std::vector<Stream> streams{};              ///< one a leg, on the leg's issuer
    std::vector<Ring*> rings{};                 ///< one between two legs, while taken
    std::vector<std::vector<Event>> filled{};   ///< [between][buffer], of the leg before
    std::vector<std::vector<Event>> drained{};  ///< [between][buffer], of the leg behind
    Event last{};                               ///< on the last leg's stream, which comes after all others
    std::uint64_t chunk = 0;                    ///< may be less than the route's, where memory is short
    int buffers = 0;
    std::vector<Leg> legs{};  ///< of the latest use, to name what failed
    bool in_use = false;
};

/// Work that failed after it was submitted.
struct Failure {
    Leg leg;
    Error::Info error;
};

/// graph: what one capture records. Nothing is used twice, nothing is asked (a question would break the capture), and
/// nothing is waited for at the end.
enum class Life : std::uint8_t { mover, graph };

class Resources {
  public:
    explicit Resources(Driver& driver, std::uint64_t staging_bound);
    /// Of a graph, beside a mover's: what those have mapped is not mapped again.
    Resources(const Resources& of_mover, std::uint64_t staging_bound);
    Resources(const Resources&) = delete;
    Resources& operator=(const Resources&) = delete;
    /// Waits for everything that was submitted; after a device error there is nothing to wait for.
    ~Resources();

    /// A lane for a route, with its rings: one that is idle, else a new one while there are fewer than `most_lanes` of
    /// that shape, else the next in turn, still at work: its streams' order is waited for, not the host. Chunks are
    /// multiples of `unit` or the route's own. nullptr when no staging memory can be had.
    [[nodiscard]] Lane* take(const Route& route, std::uint64_t unit = granule);
    /// The lane's work comes after `entry`, and after what read its rings before.
    void begin(Lane& lane, EventView entry);
    /// All of the lane's work is submitted. What follows in `stream` comes after it.
    void end(Lane& lane, StreamView stream);
    /// Given back unused.
    static void cancel(Lane& lane);
    /// After a failure in between: as `end`, as far as it goes.
    void abandon(Lane& lane, StreamView stream) noexcept;
    [[nodiscard]] bool used() const { return !lanes_.empty() || !entries_.empty(); }
    /// The event that orders a caller's stream before a lane. One a device, recorded anew each time.
    Event& entry(int device);
    /// Enables what the leg's issuer touches, once. Throws Error when a kernel leg cannot be mapped; a copy leg then
    /// goes by driver staging.
    void map(const Leg& leg) { map(leg.issuer.index, leg.from, leg.to, leg.engine == Engine::kernel); }
    /// Safe from several threads.
    void map(int issuer, Place a, Place b, bool must);

    /// Grants the issuer what an engine's copy needs to go direct to or from memory of a pool or virtual memory of
    /// another device; enabling does not reach them, and the driver then stages (two H200: 38 of 392 GB/s). Where that
    /// is refused nothing changes. The allocation is remembered and looked at again now and then, for its address may
    /// have become another one's.
    void open_to_copies(int issuer, Address at);

    /// No lane is at work.
    [[nodiscard]] bool all_idle();
    /// Asks all streams what became of their work; never waits. Failures are kept until taken.
    void look();
    /// Waits for all lanes.
    void drain();
    [[nodiscard]] bool take_failure(Failure& failure);
    void note(const Leg& leg, const Error& error);
    [[nodiscard]] Staging& staging() { return staging_; }

  private:
    static constexpr std::size_t most_lanes = 3;
    struct Lanes {
        std::deque<Lane> lanes{};  ///< lanes stay where they are: executions hold references
        std::size_t next = 0;
    };
    [[nodiscard]] Lane make(const Route& route);
    Lane& lane_of(const Route& route);
    void add_buffers(Lane& lane, const Route& route);
    [[nodiscard]] bool idle(Lane& lane);
    /// Failures of the call that are not sticky are noted, with the leg.
    void of_each_stream(const std::function<void(StreamView)>& call);

    [[nodiscard]] Ring* ring_for(Place place, std::uint64_t chunk, int buffers, std::uint64_t unit);

    Driver& driver_;
    Life life_;
    std::uint64_t bound_;
    Staging staging_;
    std::deque<Ring> graph_rings_;
    std::uint64_t graph_bytes_ = 0;
    std::map<std::vector<int>, Lanes> lanes_;  ///< by the issuers of the legs
    std::map<int, Event> entries_;
    enum class Mapped : std::uint8_t { unknown, yes, no };
    std::size_t devices_;
    std::shared_ptr<std::atomic<Mapped>[]> mapped_;  ///< [accessor * devices + owner]
    std::deque<Failure> failures_;
    std::map<std::pair<Address, int>, std::uint32_t> opened_;  ///< by allocation and issuer: copies since a look
};

/// Makes memory at `at` reachable for kernels of the issuer, and for calls that find out from the address: access is
/// enabled, pool and virtual memory granted. Throws Error 700's code where that is refused.
void make_reachable(Driver& driver, Resources& resources, int issuer, Address at);
/// The same where the memory was looked up before.
void make_reachable(Driver& driver, Resources& resources, int issuer, Address at, const Provenance& found);

}  // namespace peerlane::move
