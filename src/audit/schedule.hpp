#pragma once
/// Lets the calls of a trace happen, as late as possible and in an order that any run must respect, and keeps for every
/// chain what came before. Work without flags happens when it is issued; work that waits for a flag (and all behind it)
/// is held until a host call needs it, because only then is it known which stores the wait could have seen. See
/// src/audit/README.md.

#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "audit/deed.hpp"
#include "audit/flag_state.hpp"

namespace peerlane::audit {

/// Told by the schedule what happens, in an order that respects all waits.
class Sink {
  public:
    virtual ~Sink() = default;
    virtual void accessed(const Doing& doing, const Deed& deed, Tick tick, const Clock& clock) = 0;
    virtual void freed(const Doing& doing, StorageId storage, const Clock& clock) = 0;
    /// A wait was met; `seen` holds every store that may have met it.
    virtual void met(const Doing& doing, const Deed& wait, const std::vector<const Sent*>& seen) = 0;
    /// The wait may look only after `hiding` replaced the value it waits for.
    virtual void may_miss(const Doing& doing, const Deed& wait, const Sent& hiding) = 0;
    /// CTAs of a launch wait for CTAs of the same launch, and not all of them fit.
    virtual void never_fits(const Doing& doing, const Deed& wait) = 0;
    /// The host blocked in `call` while `doing` waited for a store that only comes after the call.
    virtual void behind_spin(const Doing& call, const Doing& doing, const Deed& wait, const Sent& sent) = 0;
    /// A call is held, and one that was held is over: in between it uses what its deeds touch.
    virtual void held(const Doing& doing, std::span<const Deed> deeds) = 0;
    virtual void finished(const Doing& doing, std::span<const Deed> deeds) = 0;
};

/// One hop of a wait-for chain: `waiter` cannot go on before `awaited`.
struct Hop {
    enum class Why : std::uint8_t { flag, stream, legacy, event, sync, thread, own_step };
    Why why = Why::flag;
    Doing waiter{}, awaited{};
    Deed wait{};  ///< of a flag
};

struct Deadlock {
    bool cycle = false;
    Doing waiter{};
    Deed wait{};
    std::vector<Hop> hops{};       ///< of a cycle
    std::uint64_t given_line = 0;  ///< never: a store that met the wait but was replaced by that of `replaced_line`
    std::uint64_t replaced_line = 0;
    bool any_store = false;     ///< never: somebody does store to the flag
    std::uint64_t highest = 0;  ///< the highest value stored
};

class Schedule {
  public:
    explicit Schedule(Sink* sink) : sink_(sink), credit_(std::make_shared<std::size_t>(most_credit)) {}

    Chain add_thread();
    Chain add_stream(int device, Id context, trace::StreamKind kind);

    /// Work on a stream, issued by a thread.
    void submit(const Doing& doing, std::span<const Deed> deeds);
    void submit_free(const Doing& doing, StorageId storage);
    void record(const Doing& doing, Id event);
    void wait(const Doing& doing, Id event);
    /// Calls on the host's own chain.
    void host(const Doing& doing, std::span<const Deed> deeds);
    void host_free(const Doing& doing, StorageId storage);
    void host_wait(const Doing& doing, Id event);
    /// `streams`: all that the call waits for.
    void host_sync(const Doing& doing, std::span<const Chain> streams);
    void blocks(const Doing& doing, int device);

    /// The end of the trace: everything that can happen does.
    void finish();
    /// After `finish`: why the rest cannot happen. Each finding once; nothing is told to the sink any more.
    std::vector<Deadlock> deadlocks();
    /// What is held now and cannot go on without later calls.
    [[nodiscard]] std::vector<Hop> waiting() const;

    [[nodiscard]] std::size_t held() const { return held_; }
    /// Calls `visit(const Doing&, std::span<const Deed>)` for every held call with the deeds that did not happen yet.
    template <typename Visit>
    void each_held(Visit visit) const {
        for (const Task& task : tasks_) {
            if (task.live && !task.deeds.empty()) {
                visit(task.doing, std::span<const Deed>(task.deeds).subspan(task.at));
            }
        }
    }
    /// True when everything that can still happen comes after the access: every thread knows it and nothing is held.
    [[nodiscard]] bool known_to_all(Chain chain, Tick tick) const;

  private:
    struct Ref {
        std::uint32_t slot = 0, serial = 0;  ///< serial 0: none
        friend bool operator==(const Ref&, const Ref&) = default;
    };
    /// What a record leaves behind for its waits.
    struct Cell {
        Snapshot clock{};        ///< empty until the record happened
        Ref task{};              ///< that will fill it
        std::uint64_t line = 0;  ///< of the record
    };
    using CellPtr = std::shared_ptr<Cell>;
    struct Suspect {
        Doing call{};
        Tick tick = 0;  ///< of the call on its thread
    };
    enum class Act : std::uint8_t { deeds, record, wait, free, issue, blocks };
    struct Task {
        std::uint32_t serial = 0;
        std::uint32_t slot = 0;
        bool live = false, started = false, issued = false;
        bool action = true;  ///< takes part in the legacy stream's rule
        Act act = Act::deeds;
        Chain chain = 0;
        std::uint64_t place = 0;  ///< position in its chain
        std::uint64_t mark = 0;
        std::size_t mark_to = 0;  ///< with `mark`: number of deeds that are needed
        std::size_t at = 0;       ///< next deed
        bool waits = false;       ///< for a flag
        StorageId storage = no_storage;
        int device = 0;
        Doing doing{};
        std::vector<Deed> deeds{};
        std::vector<Ref> after{};
        std::vector<CellPtr> cells{};
        Snapshot issue{};
        Ref issuer{}, target{};
        std::vector<Suspect> suspects{};
    };
    struct Agent {
        bool host = false;
        int group = -1;  ///< of streams that take part in the legacy stream's rule
        bool legacy = false;
        bool published = false;  ///< somebody took a snapshot since the last tick
        Tick tick = 1;
        Clock clock{};
        std::uint64_t version = 1;
        std::shared_ptr<Clock> cached{};
        std::uint64_t cached_version = 0;
        Chain seen_thread = ~Chain{0};
        std::uint64_t seen_thread_version = 0, seen_legacy_version = 0;
        std::deque<Ref> queue{};
        std::uint64_t front_place = 0, next_place = 0;
        std::uint64_t mark = 0, marked_to = 0;  ///< places below are needed as a whole
    };
    struct Member {
        Chain chain = 0;
        std::uint64_t seen_version = 0;
    };
    /// Streams of one device and context that the legacy stream is ordered with.
    struct Group {
        int device = 0;
        Id context = no_id;
        std::int64_t legacy = -1;
        std::vector<Member> blocking{};
    };
    struct Store {
        Ref task{};
        std::uint64_t value = 0;
        std::size_t deed = 0;  ///< which one of the task
    };
    /// Stores of one chain that are held, in their order.
    struct StoreLane {
        Chain chain = 0;
        bool rising = true;  ///< values never fall
        std::deque<Store> stores{};
    };
    /// A wait that may come too late, unless a store made later gives the value again.
    struct Miss {
        Doing doing{};
        Deed wait{};
        Sent hiding{};
        Tick tick = 0;  ///< of its chain after the wait
    };
    struct Flag {
        FlagState state{};
        std::vector<Miss> misses{};
        std::vector<StoreLane> pending{};
    };

    // schedule.cpp: submission
    Task& make_task(const Doing& doing, Act act, Chain chain);
    void issue_from_thread(Task& task);
    void hold_deeds(Task& task, std::span<const Deed> deeds);
    [[nodiscard]] bool idle(Chain chain) const { return agents_[chain].queue.empty(); }
    /// Nothing that is held comes before the next call on this stream.
    [[nodiscard]] bool ready(const Doing& doing) const;
    [[nodiscard]] bool legacy_idle(Chain chain) const;
    CellPtr stream_end(const Doing& doing, Chain stream);
    void host_wait_for(const Doing& doing, std::vector<CellPtr> cells);
    void limit_held();
    Flag& flag(std::uint32_t id) {
        if (id >= flags_.size()) {
            flags_.resize(id + 1);
        }
        return flags_[id];
    }

    // happen.cpp: execution
    void touch(Chain chain);
    Snapshot publish(Chain chain);
    void join(Chain chain, const Clock& clock);
    void join_chain(Chain chain, Chain with);
    void join_issuer(Chain chain, Chain thread);
    void join_legacy(Chain chain);
    void perform(const Doing& doing, const Deed& deed, Ref task);
    void suspect(const Doing& call, int device);
    [[nodiscard]] const Task* find(Ref r) const {
        if (r.serial == 0) {
            return nullptr;
        }
        const Task& task = tasks_[r.slot];
        return task.live && task.serial == r.serial ? &task : nullptr;
    }
    Task* find(Ref r) { return const_cast<Task*>(std::as_const(*this).find(r)); }
    [[nodiscard]] const Task* front(Chain chain) const {
        const auto& queue = agents_[chain].queue;
        return queue.empty() ? nullptr : find(queue.front());
    }
    Task* front(Chain chain) { return const_cast<Task*>(std::as_const(*this).front(chain)); }
    [[nodiscard]] bool runnable(const Task& task) const;
    [[nodiscard]] static Ref ref(const Task& task) { return {task.slot, task.serial}; }
    bool advance(Chain chain, std::uint64_t mark);
    bool run(Task& task, std::size_t to);
    void retire(Task& task);
    bool drive(Chain thread);
    void drive_blocked();

    // settle.cpp: deciding waits
    std::uint64_t mark_all(std::vector<Chain>& agents);
    void settle(std::vector<Chain>& agents, std::uint64_t mark, Ref target);
    void settle_all();
    void settle_for(Ref target);
    struct Need {
        Ref task{};
        std::size_t to = 0;  ///< deeds that must happen; whole: all and the end
    };
    static constexpr std::size_t whole = ~std::size_t{0};
    void need(Task& task, std::size_t to, std::uint64_t mark, std::vector<Need>& stack) const;
    bool extend(std::vector<Need> stack, std::uint64_t mark, std::vector<Chain>& agents);
    bool extend_by_stores(const std::vector<Chain>& waiters, std::uint64_t mark, std::vector<Chain>& agents);
    [[nodiscard]] static bool at_wait(const Task& task);
    [[nodiscard]] bool contested(const Task& task, const FlagState::Answer& answer) const;
    [[nodiscard]] bool only_own(const Task& task, const FlagState::Answer& answer) const;
    void meet(Task& task, const FlagState::Answer& answer, const Sent* hiding);
    void meet_plainly(Chain chain);
    bool meet_contested(const std::vector<Chain>& waiters, std::uint64_t mark, std::vector<Chain>& agents, bool all);
    bool pass_own_wait(Task& task);

    // stuck.cpp: why nothing moves
    struct Edge {
        const Task* to = nullptr;
        Hop hop{};
    };
    [[nodiscard]] std::vector<Edge> blockers(const Task& task) const;
    [[nodiscard]] std::vector<const Task*> stuck_waits() const;
    [[nodiscard]] std::vector<Hop> cycle_through(const Task& task) const;
    [[nodiscard]] bool stored_later(const Task& task) const;
    [[nodiscard]] Schedule hypothetical(Sink* sink) const;

    /// What hypotheses may still cost, in held calls copied: every call earns a little, so that the whole stays linear.
    /// Shared with the hypotheses themselves.
    static constexpr std::size_t most_credit = 50000, credit_of_a_call = 16;

    Sink* sink_;
    std::shared_ptr<std::size_t> credit_;
    std::vector<Agent> agents_{};
    std::vector<Group> groups_{};
    std::deque<Task> tasks_{};
    std::vector<std::uint32_t> free_slots_{};
    std::vector<CellPtr> events_{};
    std::deque<Flag> flags_{};
    std::vector<std::vector<Ref>> waiting_launches_{};  ///< by device
    std::size_t held_ = 0, held_limit_ = 32768;
    std::uint64_t mark_ = 0;
    std::uint64_t stores_ = 0;  ///< grows with every store made or held: what a blocked host thread may wait for
    std::uint64_t stores_seen_ = 0;
    std::size_t blocked_threads_ = 0;
    Ref held_back_{};  ///< in a hypothetical schedule: the task whose wait is not to be met
    int depth_ = 0;    ///< of hypotheses within hypotheses
};

/// Says nothing to nobody.
class NoSink final : public Sink {
  public:
    void accessed(const Doing&, const Deed&, Tick, const Clock&) override {}
    void freed(const Doing&, StorageId, const Clock&) override {}
    void met(const Doing&, const Deed&, const std::vector<const Sent*>&) override {}
    void may_miss(const Doing&, const Deed&, const Sent&) override {}
    void never_fits(const Doing&, const Deed&) override {}
    void behind_spin(const Doing&, const Doing&, const Deed&, const Sent&) override {}
    void held(const Doing&, std::span<const Deed>) override {}
    void finished(const Doing&, std::span<const Deed>) override {}
};

}  // namespace peerlane::audit
