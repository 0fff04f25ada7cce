#pragma once
/// The event engine: operations as a graph of dependencies, copy engines, flows that share links, kernels that step.
/// Virtual time; one thread at a time (the driver locks). Same calls in the same order give the same result, bit for
/// bit.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include <peerlane/driver.hpp>
#include <peerlane/error.hpp>

#include "driver/sim/crowd.hpp"
#include "driver/sim/lanes.hpp"
#include "driver/sim/memory.hpp"
#include "driver/sim/truth.hpp"
#include "kernels/kernel.hpp"
#include "model/sharing.hpp"

namespace peerlane::sim {

using OpId = std::uint64_t;  ///< 0: none

struct Op {
    enum class Kind : std::uint8_t { copy, fill, kernel, marker, write_value, wait_value };
    Kind kind = Kind::marker;
    int device = 0;
    ContextId context{};
    std::uint64_t stream = 0;  ///< handle in the engine, for the queue length and its error; 0: of a graph
    CopyRequest copy{};
    std::uint8_t fill_value = 0;
    Address at = Address::null;  ///< write_value, wait_value
    std::uint32_t value = 0;
    const Kernel* kernel = nullptr;
    std::vector<std::byte> arguments{};
    LaunchShape shape{};
    bool batched = false;  ///< one of many of one call
};

class Engine {
  public:
    explicit Engine(Truth truth);
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    ~Engine();

    [[nodiscard]] const Truth& truth() const { return truth_; }
    [[nodiscard]] SimMemory& memory() { return memory_; }
    [[nodiscard]] const SimMemory& memory() const { return memory_; }
    [[nodiscard]] double now() const { return now_; }

    /// Queues work that starts when every operation of `after` is done, not before `arrival`.
    OpId submit(Op op, const std::vector<OpId>& after, double arrival);
    [[nodiscard]] bool done(OpId op) const { return op == 0 || live_.count(op) == 0; }
    /// Completion time of one that is done; 0 for none.
    [[nodiscard]] double done_at(OpId op) const;
    /// Keep the completion time of this operation after it is done (events).
    void remember(OpId op) { remembered_.try_emplace(op, -1.0); }
    void forget(OpId op) { remembered_.erase(op); }
    [[nodiscard]] std::size_t queued(std::uint64_t stream) const;

    /// Lets time pass until `met` holds or `limit` is reached. False when it does not hold: then either the limit was
    /// reached (now() == limit) or nothing can happen any more (stuck).
    bool advance(const std::function<bool()>& met, double limit = std::numeric_limits<double>::infinity());
    [[nodiscard]] bool idle() const { return events_.empty(); }

    /// Somebody waits for memory to change.
    [[nodiscard]] bool watched() const { return !watchers_.empty(); }
    /// The host changed memory: whoever waits on it looks again.
    void memory_changed(Address at, std::uint64_t bytes);

    /// Sticky fault of the process, if any.
    [[nodiscard]] const std::optional<Error::Info>& fault() const { return fault_; }
    /// Takes the error that work of this stream left behind.
    std::optional<Error::Info> take_error(std::uint64_t stream);
    /// Whether anything of this operation is known to be stuck for ever by a fault of the machine.
    [[nodiscard]] std::size_t live() const { return live_.size(); }

    /// A copy or fill that ended, or an access of a kernel, for those who draw loads of links.
    struct Ended {
        OpId op;
        double began;  ///< when its first byte moved
        std::uint64_t bytes;
        const std::vector<model::Use>& uses;  ///< links as Network numbers them
        bool last = true;                     ///< of its operation; a kernel ends with one of no bytes
    };
    /// Called inside advance(), which they must not call back: `ended` for each transfer, `shared` when rates changed.
    void observe(std::function<void(const Ended&)> ended, std::function<void()> shared = {}) {
        ended_ = std::move(ended);
        shared_ = std::move(shared);
    }
    /// Bytes/s that cross a link now.
    [[nodiscard]] double load(int link) const { return sharing_.load(link); }

  private:
    struct Live;
    struct Transfer;
    struct Event {
        double time;
        std::uint64_t order;
        OpId op;
        std::uint64_t version;
        enum class What : std::uint8_t { ready, granted, flow_starts, flow_ends, step, woken, timeout, cut } what;
        bool operator>(const Event& other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };
    /// What one transfer needs, worked out when it starts.
    struct Way {
        std::vector<model::Use> uses;
        double cap = model::Sharing::no_cap;
        double share = 1.0;  ///< where links are full, to that of other flows
        double fixed_s = 0;
        const Fault* fault = nullptr;  ///< on what arrives
        int mirror_accessor = -1;      ///< who believes it wrote (or reads its own writes)
        bool write = true;             ///< the fault is of a write (push, store) and not of a read
        std::optional<PeerFlow> peer;  ///< where it moves between devices over PCIe
    };

    void schedule(double time, OpId op, Event::What what, std::uint64_t version = 0);
    void handle(const Event& event);
    void ready(Live& live);
    /// The lanes that a copy has to be first in; none where its memory is gone.
    [[nodiscard]] Lanes::Taken lanes_of(const Op& op) const;
    [[nodiscard]] bool goes_direct(const Block& to, const Block& from) const;
    void begin(Live& live);
    void begin_copy(Live& live);
    void step_kernel(Live& live, StepAnswer answer);
    void begin_step(Live& live);
    void finish_step(Live& live);
    void wait_for_flag(Live& live);
    void watch_words(Live& live);
    void start_flow(Live& live);
    void stop_flow(Live& live);
    /// False when the link that the transfer needs is down, which ends it; one that goes down later cuts it then.
    bool link_up(Live& live);
    void cut_off(Live& live);
    /// Bytes of one device on their way to another through host memory: false when a fault of that path ends or holds
    /// the second leg. What else such a fault does to the bytes is done when they arrive.
    bool host_path_works(Live& live, const Block& to, const Block& from);
    void limit_together();
    [[nodiscard]] const Fault* link_fault(const Live& live) const;
    void resolve_flows();
    void complete(Live& live);
    void fail(Live& live, int code, bool sticky, int accessor, int owner, const std::string& cure);
    /// False when the fault ends or holds the operation (error, hang).
    bool passes(Live& live, const Fault* fault, int accessor, int owner);
    Way copy_way(const Live& live, const Block& to, const Block& from) const;
    Way kernel_way(const Live& live, const MemoryStep& step, const Block* to, const Block* from) const;
    void add_uses(std::vector<model::Use>& uses, const std::vector<int>& links, double weight = 1.0) const;
    void host_uses(Way& way, int device, Place place, bool to_host) const;
    void peer_uses(Way& way, int source, int destination, bool write, bool threads) const;
    void staged_uses(Way& way, int source, int destination) const;
    [[nodiscard]] double peer_cap(int source, int destination, double cap) const;
    [[nodiscard]] bool may_touch(Live& live, const Block* block, Address at, std::uint64_t bytes, bool write);
    void move_bytes(const Way& way, Address to, Address from, std::uint64_t bytes, int device);
    void write_bytes(const Way& way, Block& block, Address to, std::uint64_t bytes, std::vector<Stretch> what);
    std::vector<Stretch> read_bytes(const Way& way, Block& block, Address from, std::uint64_t bytes);
    [[nodiscard]] std::optional<std::uint32_t> flag_value(Address at) const;
    [[nodiscard]] bool flag_met(const WatchedWord& word) const;

    Truth truth_;
    SimMemory memory_;
    model::Sharing sharing_;
    Crowd crowd_;
    double now_ = 0;
    std::uint64_t order_ = 0;
    OpId next_ = 1;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::unordered_map<OpId, std::unique_ptr<Live>> live_;
    std::unordered_map<OpId, double> remembered_;
    Lanes lanes_;
    std::vector<OpId> granted_;
    std::vector<int> busy_engines_;  ///< of each device: those whose bytes are under way
    std::unordered_map<model::FlowId, OpId> flow_owner_;
    bool flows_changed_ = false;
    std::map<OpId, std::vector<WatchedWord>> watchers_;  ///< in order of submission
    std::unordered_map<std::uint64_t, std::size_t> queued_;
    std::map<std::uint64_t, Error::Info> stream_errors_;
    std::optional<Error::Info> fault_;
    std::function<void(const Ended&)> ended_;
    std::function<void()> shared_;
};

}  // namespace peerlane::sim
