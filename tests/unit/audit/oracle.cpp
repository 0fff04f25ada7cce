#include "unit/audit/oracle.hpp"

#include <map>
#include <optional>
#include <unordered_set>

#include <peerlane/trace_reader.hpp>

namespace peerlane::audit_tests {

namespace {

using trace::Id;
using trace::no_id;
using trace::Step;
using Mask = std::uint64_t;

/// One indivisible thing that happens: a host call, or one step of work on a stream.
struct Action {
    std::uint64_t line = 0;
    Mask after = 0;  ///< must have happened
    enum class Kind { nothing, access, wait, signal, free } kind = Kind::nothing;
    Step step{};
    Id memory = no_id;  ///< of a free
    int device = -1;
    std::uint64_t call = 0;  ///< actions of one call share it
};

class Program {
  public:
    explicit Program(const std::vector<std::string>& lines) : reader_("oracle", symbols_) {
        for (const std::string& line : lines) {
            if (const auto event = reader_.next(line)) {
                std::visit([&](const auto& op) { add(*event, op); }, event->operation);
            }
        }
    }
    std::vector<Action> actions{};
    [[nodiscard]] const trace::Symbols& symbols() const { return symbols_; }
    std::map<Id, std::uint64_t> sizes{};

  private:
    struct StreamState {
        int device = 0;
        trace::StreamKind kind = trace::StreamKind::nonblocking;
        Mask last = 0;  ///< its last action
    };
    using Key = std::pair<Id, Id>;  ///< stream, thread (of kind per-thread)

    int push(Action action) {
        actions.push_back(action);
        return static_cast<int>(actions.size()) - 1;
    }
    static Mask bit(int index) { return index >= 64 ? 0 : Mask{1} << index; }

    /// A call of a host thread; `after`: what it waits for besides the call before.
    int host(const trace::Event& event, Mask after, Action::Kind kind = Action::Kind::nothing, Step step = {}) {
        Action action;
        action.line = event.line;
        action.after = after | thread_last_[event.thread];
        action.kind = kind;
        action.step = step;
        action.call = event.line;
        const int index = push(action);
        thread_last_[event.thread] = bit(index);
        return index;
    }
    StreamState& state(const trace::Event& event, Id stream) {
        const StreamState& made = declared_.at(stream);
        const Key key{stream, made.kind == trace::StreamKind::per_thread ? event.thread : 0};
        return streams_.emplace(key, made).first->second;
    }
    /// Work on a stream: steps in order, after the issuing call and by the legacy stream's rule.
    int work(const trace::Event& event, Id stream, const std::vector<Action>& steps, Mask extra = 0) {
        const int issue = host(event, 0);
        StreamState& mine = state(event, stream);
        Mask after = mine.last | bit(issue) | extra;
        for (const auto& entry : streams_) {
            const StreamState& other = entry.second;
            const bool both = other.device == mine.device && &other != &mine;
            const bool takes_part =
                both && other.kind != trace::StreamKind::nonblocking && mine.kind != trace::StreamKind::nonblocking;
            if (takes_part && (mine.kind == trace::StreamKind::legacy || other.kind == trace::StreamKind::legacy)) {
                after |= other.last;
            }
        }
        int index = issue;
        for (Action action : steps) {
            action.line = event.line;
            action.call = event.line;
            action.device = mine.device;
            action.after = after;
            index = push(action);
            after = bit(index);
        }
        mine.last = bit(index);
        return index;
    }
    static Action of_step(const Step& step) {
        Action action;
        action.step = step;
        action.kind = step.kind == Step::Kind::wait     ? Action::Kind::wait
                      : step.kind == Step::Kind::signal ? Action::Kind::signal
                                                        : Action::Kind::access;
        return action;
    }
    Mask end_of(const trace::Event& event, Id stream) {
        StreamState& mine = state(event, stream);
        Mask end = mine.last;
        if (mine.kind == trace::StreamKind::legacy) {
            for (const auto& entry : streams_) {
                if (entry.second.device == mine.device && entry.second.kind != trace::StreamKind::nonblocking) {
                    end |= entry.second.last;
                }
            }
        }
        return end;
    }

    template <typename T>
    void add(const trace::Event&, const T&) {}
    void add(const trace::Event&, const trace::Stream& s) { declared_[s.stream] = {s.device, s.kind, 0}; }
    void add(const trace::Event&, const trace::Alloc& a) { sizes[a.memory] = a.bytes; }
    void add(const trace::Event& e, const trace::Free& f) {
        Action action;
        action.kind = Action::Kind::free;
        action.memory = f.memory;
        if (f.stream == no_id) {
            const int index = host(e, 0, Action::Kind::free);
            actions[static_cast<std::size_t>(index)].memory = f.memory;
        } else {
            work(e, f.stream, {action});
        }
    }
    void add(const trace::Event& e, const trace::Record& r) { records_[r.event] = bit(work(e, r.stream, {Action{}})); }
    void add(const trace::Event& e, const trace::Wait& w) {
        const auto record = records_.find(w.event);
        if (record == records_.end()) {
            return;
        }
        if (w.stream == no_id) {
            host(e, record->second);
        } else {
            work(e, w.stream, {Action{}}, record->second);
        }
    }
    void add(const trace::Event& e, const trace::Query& q) {
        const auto record = records_.find(q.event);
        if (q.done && record != records_.end()) {
            host(e, record->second);
        }
    }
    void add(const trace::Event& e, const trace::Sync& s) {
        Mask end = 0;
        if (s.stream != no_id) {
            end = end_of(e, s.stream);
        } else {
            for (const auto& entry : streams_) {
                end |= entry.second.device == s.device ? entry.second.last : 0;
            }
        }
        host(e, end);
    }
    void add(const trace::Event& e, const trace::Launch& l) {
        std::vector<Action> steps;
        for (const Step& step : l.steps) {
            steps.push_back(of_step(step));
        }
        work(e, l.stream, steps);
    }
    void add(const trace::Event& e, const trace::Copy& c) {
        Step read{};
        read.target = c.src;
        read.value = c.src_offset;
        read.bytes = c.bytes;
        Step write = read;
        write.kind = Step::Kind::write;
        write.target = c.dst;
        write.value = c.dst_offset;
        work(e, c.stream, {of_step(read), of_step(write)});
    }
    void add(const trace::Event& e, const trace::FlagStep& f) {
        const Action action = of_step(f.step);
        if (f.stream == no_id) {
            host(e, 0, action.kind, f.step);
        } else {
            work(e, f.stream, {action});
        }
    }
    void add(const trace::Event& e, const trace::HostAccess& h) {
        for (const Step& step : h.steps) {
            host(e, 0, Action::Kind::access, step);
        }
    }

    trace::Symbols symbols_{};
    trace::Reader reader_;
    std::map<Id, Mask> thread_last_{};
    std::map<Id, StreamState> declared_{};
    std::map<Key, StreamState> streams_{};
    std::map<Id, Mask> records_{};
};

constexpr std::size_t most_states = 200000;

/// Walks through all states. A state is what happened, and for each wait which signal met it: the rest follows.
class Walk {
  public:
    Walk(const Program& program, Truth& truth) : program_(program), actions_(program.actions), truth_(truth) {
        before_.resize(actions_.size());
        met_by_.resize(actions_.size(), -1);
        std::size_t flags = 0;
        for (const Action& a : actions_) {
            if (a.kind == Action::Kind::wait || a.kind == Action::Kind::signal) {
                flags = std::max<std::size_t>(flags, a.step.target + 1);
            }
        }
        last_.resize(flags, -1);
        finished_ = false;
        go(0);
        truth_.always_deadlock = truth_.deadlock && !finished_;
    }

  private:
    void go(Mask done) {
        if (truth_.too_large || !seen_.insert(state_key(done)).second) {
            return;
        }
        if (seen_.size() > most_states) {
            truth_.too_large = true;
            return;
        }
        bool any = false;
        for (std::size_t i = 0; i < actions_.size(); ++i) {
            const Mask self = Mask{1} << i;
            if ((done & self) != 0 || (actions_[i].after & ~done) != 0 || !open(i)) {
                continue;
            }
            any = true;
            happen(i, done);
        }
        if (!any) {
            const Mask all = actions_.size() == 64 ? ~Mask{0} : (Mask{1} << actions_.size()) - 1;
            (done == all ? finished_ : truth_.deadlock) = true;
        }
    }
    [[nodiscard]] bool open(std::size_t i) const {
        const Action& a = actions_[i];
        if (a.kind != Action::Kind::wait) {
            return true;
        }
        const int store = last_[a.step.target];
        const std::uint64_t value = store < 0 ? 0 : actions_[static_cast<std::size_t>(store)].step.value;
        return a.step.equals ? value == a.step.value : value >= a.step.value;
    }
    void happen(std::size_t i, Mask done) {
        const Action& a = actions_[i];
        Mask before = 0;
        for (std::size_t j = 0; j < actions_.size(); ++j) {
            if ((a.after >> j & 1) != 0) {
                before |= before_[j] | Mask{1} << j;
            }
        }
        int replaced = -1;
        if (a.kind == Action::Kind::wait) {
            met_by_[i] = last_[a.step.target];
            if (met_by_[i] >= 0 && hands_over(a, actions_[static_cast<std::size_t>(met_by_[i])])) {
                const auto j = static_cast<std::size_t>(met_by_[i]);
                before |= before_[j] | Mask{1} << j;
            }
        } else if (a.kind == Action::Kind::signal) {
            replaced = last_[a.step.target];
            last_[a.step.target] = static_cast<int>(i);
        }
        before_[i] = before;
        conflicts(i, done);
        go(done | Mask{1} << i);
        met_by_[i] = -1;
        if (a.kind == Action::Kind::signal) {
            last_[a.step.target] = replaced;
        }
    }
    static bool hands_over(const Action& wait, const Action& signal) {
        if (!trace::acquires(wait.step.order) || !trace::releases(signal.step.order)) {
            return false;
        }
        return wait.device != signal.device || wait.call == signal.call ||
               (wait.step.scope >= trace::Scope::device && signal.step.scope >= trace::Scope::device);
    }
    void conflicts(std::size_t i, Mask done) {
        const Action& a = actions_[i];
        for (std::size_t j = 0; j < actions_.size(); ++j) {
            const Action& b = actions_[j];
            const bool earlier = (done >> j & 1) != 0;
            const bool ordered = (before_[i] >> j & 1) != 0;
            if (a.kind == Action::Kind::free && b.kind == Action::Kind::access && b.step.target == a.memory &&
                b.line < a.line && !(earlier && ordered)) {
                truth_.busy_frees.insert(a.line);
            }
            if (a.kind != Action::Kind::access || b.kind != Action::Kind::access || !earlier || ordered ||
                a.call == b.call || a.step.target != b.step.target) {
                continue;
            }
            if (a.step.kind == Step::Kind::read && b.step.kind == Step::Kind::read) {
                continue;
            }
            const auto end = [&](const Step& s) {
                return s.bytes == trace::to_end ? program_.sizes.at(s.target) : s.value + s.bytes;
            };
            if (a.step.value < end(b.step) && b.step.value < end(a.step)) {
                truth_.racy.insert(program_.symbols().memories.text(a.step.target));
                truth_.pairs.insert({std::min(a.line, b.line), std::max(a.line, b.line)});
            }
        }
    }
    [[nodiscard]] std::string state_key(Mask done) const {
        std::string key(reinterpret_cast<const char*>(&done), sizeof done);
        for (const int store : last_) {
            key += static_cast<char>(store);
        }
        for (const int store : met_by_) {
            key += static_cast<char>(store);
        }
        return key;
    }

    const Program& program_;
    const std::vector<Action>& actions_;
    Truth& truth_;
    std::vector<Mask> before_{};
    std::vector<int> met_by_{}, last_{};
    std::unordered_set<std::string> seen_{};
    bool finished_ = false;
};

}  // namespace

Truth try_everything(const std::vector<std::string>& lines) {
    Truth truth;
    const Program program(lines);
    if (program.actions.size() > 60) {
        truth.too_large = true;
        return truth;
    }
    Walk(program, truth);
    return truth;
}

}  // namespace peerlane::audit_tests
