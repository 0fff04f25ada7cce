/// Two warps look for messages of the host and hand them over, one of them leaves (src/kernels/lookout.cuh): every
/// interleaving of their steps with a host that posts. Each message is handed over once and in order, nothing posted is
/// forgotten, nobody waits for ever. Leaving out a step is found, which shows that the model can tell. How stores of
/// different memories pass each other is courier_model_test.cpp's.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace peerlane {
namespace {

constexpr int messages = 4;

/// What is left out.
struct Without {
    bool second_look_at_taken = false;  ///< behind the lock: nobody was quicker
    bool lock_for_leaving = false;
    bool taken_before_unlock = false;
    bool last_look = false;  ///< after saying that it leaves
};

enum class Lookout : std::uint8_t { watch_over, read_taken, look, lock, compare, hand, take, unlock, end };
enum class Leaving : std::uint8_t { no, lock, over, say, read_taken, look, hand, take };
enum class Host : std::uint8_t { post, look, end };

/// All of it bytes, so that a state is its own key.
struct State {
    std::uint8_t posted = 0, taken = 0, locked = 0, over = 0, left = 0, launched_again = 0;
    std::uint8_t handed[messages + 2] = {};
    Host host = Host::post;
    Leaving leaving = Leaving::no;
    struct One {
        Lookout at = Lookout::watch_over;
        std::uint8_t taken = 0;
    } assistant{}, chief{};
    [[nodiscard]] std::string key() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }
};

class Model {
  public:
    explicit Model(Without without) : without_(without) {}

    /// Empty when all is well, else what is not.
    std::string explore() {
        std::vector<State> open{State{}};
        seen_.insert(open[0].key());
        while (!open.empty() && wrong_.empty()) {
            auto const state = open.back();
            open.pop_back();
            std::vector<State> next;
            step_host(state, next);
            step_lookout(state, &State::assistant, next);
            if (state.leaving == Leaving::no) {
                step_lookout(state, &State::chief, next);
                auto const between = state.chief.at == Lookout::watch_over;
                if (between) {
                    auto leaves = state;
                    leaves.leaving = without_.lock_for_leaving ? Leaving::over : Leaving::lock;
                    next.push_back(leaves);
                }
            } else {
                step_leaving(state, next);
            }
            if (next.empty()) {
                judge_end(state);
            }
            for (auto const& one : next) {
                if (seen_.insert(one.key()).second) {
                    open.push_back(one);
                }
            }
        }
        return wrong_;
    }
    [[nodiscard]] std::size_t states() const { return seen_.size(); }

  private:
    void step_host(State s, std::vector<State>& next) {
        if (s.host == Host::end) {
            return;
        }
        if (s.host == Host::post) {
            ++s.posted;
            s.host = Host::look;
        } else {
            s.launched_again = s.launched_again | s.left;
            s.host = s.posted == messages ? Host::end : Host::post;
        }
        next.push_back(s);
    }

    void step_lookout(State s, State::One State::*which, std::vector<State>& next) {
        auto& one = s.*which;
        switch (one.at) {
            case Lookout::watch_over:
                one.at = s.over != 0 ? Lookout::end : Lookout::read_taken;
                break;
            case Lookout::read_taken:
                one.taken = s.taken;
                one.at = Lookout::look;
                break;
            case Lookout::look:
                one.at = s.posted > one.taken ? Lookout::lock : Lookout::watch_over;
                break;
            case Lookout::lock:
                one.at = s.locked != 0                   ? Lookout::watch_over
                         : without_.second_look_at_taken ? Lookout::hand
                                                         : Lookout::compare;
                s.locked = 1;
                break;
            case Lookout::compare:
                if (s.taken != one.taken) {
                    s.locked = 0;
                    one.at = Lookout::watch_over;
                } else {
                    one.at = Lookout::hand;
                }
                break;
            case Lookout::hand:
                hand(s, one.taken + 1);
                if (without_.taken_before_unlock) {
                    s.locked = 0;
                }
                one.at = Lookout::take;
                break;
            case Lookout::take:
                s.taken = static_cast<std::uint8_t>(one.taken + 1);
                one.at = Lookout::unlock;
                break;
            case Lookout::unlock:
                s.locked = 0;
                one.at = Lookout::watch_over;
                break;
            case Lookout::end:
                return;
        }
        next.push_back(s);
    }

    void step_leaving(State s, std::vector<State>& next) {
        auto& chief = s.chief;
        switch (s.leaving) {
            case Leaving::lock:
                if (s.locked != 0) {
                    return;  // waits; whoever holds it goes on
                }
                s.locked = 1;
                s.leaving = Leaving::over;
                break;
            case Leaving::over:
                s.over = 1;
                s.leaving = Leaving::say;
                break;
            case Leaving::say:
                s.left = 1;
                s.leaving = Leaving::read_taken;
                break;
            case Leaving::read_taken:
                if (chief.at == Lookout::end) {
                    return;
                }
                chief.taken = s.taken;
                s.leaving = Leaving::look;
                break;
            case Leaving::look:
                if (s.posted > chief.taken && !without_.last_look) {
                    s.leaving = Leaving::hand;
                } else {
                    chief.at = Lookout::end;
                    s.leaving = Leaving::read_taken;
                }
                break;
            case Leaving::hand:
                hand(s, chief.taken + 1);
                s.leaving = Leaving::take;
                break;
            case Leaving::take:
                s.taken = static_cast<std::uint8_t>(chief.taken + 1);
                s.leaving = Leaving::read_taken;
                break;
            case Leaving::no:
                return;
        }
        next.push_back(s);
    }

    void hand(State& s, int number) {
        if (++s.handed[number] > 1) {
            wrong_ = "a message is handed over twice";
        } else if (number > 1 && s.handed[number - 1] == 0) {
            wrong_ = "a message is handed over before the one before it";
        }
    }

    void judge_end(const State& s) {
        if (s.host != Host::end || s.assistant.at != Lookout::end || s.chief.at != Lookout::end) {
            wrong_ = "somebody waits for ever";
        } else if (s.taken < s.posted && s.launched_again == 0) {
            wrong_ = "a message is forgotten";
        }
        for (int number = 1; number <= s.taken && wrong_.empty(); ++number) {
            wrong_ = s.handed[number] == 1 ? "" : "a message counts as taken that nobody handed over";
        }
    }

    Without without_;
    std::unordered_set<std::string> seen_;
    std::string wrong_;
};

TEST(LookoutModel, EveryInterleavingHandsEachMessageOverOnce) {
    Model model({});
    EXPECT_EQ(model.explore(), "");
    EXPECT_GT(model.states(), 1000U);
}

TEST(LookoutModel, EachStepIsNeeded) {
    Without without;
    without.second_look_at_taken = true;
    EXPECT_NE(Model(without).explore(), "");
    without = {};
    without.lock_for_leaving = true;
    EXPECT_NE(Model(without).explore(), "");
    without = {};
    without.taken_before_unlock = true;
    EXPECT_NE(Model(without).explore(), "");
    without = {};
    without.last_look = true;
    EXPECT_NE(Model(without).explore(), "");
}

}  // namespace
}  // namespace peerlane
