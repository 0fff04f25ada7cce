/// The protocol of a courier's ring, every interleaving of a small one: a host that posts and launches, residences that
/// poll, leave and follow each other. Stores of both sides reach memory late: the host's in their order, the device's
/// in any, until a fence. Nothing may be lost, carried twice, torn or seen too early, whenever a residence decides to
/// leave. Leaving out any of the protocol's steps is found, which shows that the model can tell.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace peerlane {
namespace {

constexpr int slots = 2, messages = 5, extra_attends = 2;
/// A broken protocol can launch for ever while a store is under way for ever; the right one never comes near.
constexpr int most_launches = 24;

/// What is left out.
struct Without {
    bool host_fence = false;    ///< between the post and the look whether somebody is there
    bool leave_fence = false;   ///< between saying that it leaves and the last look
    bool last_look = false;     ///< after saying that it leaves
    bool both_numbers = false;  ///< an order is taken where its first number is there
    bool bytes_fence = false;   ///< between the bytes and the number that says they are there
    bool room = false;          ///< the host does not look whether the slot is free
};

/// Memory: numbers of both pairs of each slot, the words beside them, bytes of each message, `done`, `left`.
enum Cell : std::uint8_t {
    number_0 = 0,
    word_0 = 2 * slots,
    bytes_0 = 4 * slots,
    done = 4 * slots + messages,
    left,
    cells
};

struct Store {
    std::uint8_t cell, value;
};

struct Buffer {
    std::array<Store, 8> stores{};
    std::uint8_t count = 0;
    void push(std::uint8_t cell, std::uint8_t value) { stores.at(count++) = {cell, value}; }
    void drop(std::size_t i) {
        std::copy(stores.begin() + static_cast<std::ptrdiff_t>(i) + 1, stores.end(),
                  stores.begin() + static_cast<std::ptrdiff_t>(i));
        stores.at(--count) = {};
    }
};

enum class Host : std::uint8_t { next, first_pair, second_pair, fence, look, over };
enum class Device : std::uint8_t {
    none,
    look_once,
    look_twice,
    bytes,
    bytes_fence,
    say_done,
    say_left,
    left_fence,
    end
};

/// All of it bytes, so that a state is its own key.
struct State {
    std::array<std::uint8_t, cells> memory{};
    Buffer host_buffer{}, device_buffer{};
    Host host = Host::next;
    Device device = Device::none;
    std::uint8_t posted = 0, done_seen = 0, launched = 0, pair_order = 0, attends = 0;
    std::uint8_t residence = 0, taken = 0, leaving = 0, may_drain = 0, look_order = 0, first_number = 0, first_word = 0;
    std::array<std::uint8_t, messages + 1> carried{};
    [[nodiscard]] std::string key() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }
};
static_assert(std::has_unique_object_representations_v<State>);

class Explorer {
  public:
    explicit Explorer(Without without) : without_(without) {}
    /// What went wrong first; empty when nothing can.
    std::string run() {
        visit(State{});
        while (!open_.empty() && wrong_.empty()) {
            auto const state = open_.back();
            open_.pop_back();
            step(state);
        }
        return wrong_;
    }
    [[nodiscard]] std::size_t states() const { return seen_.size(); }
    [[nodiscard]] int most_launched() const { return most_launched_; }

  private:
    static std::uint8_t slot(int number) { return static_cast<std::uint8_t>((number - 1) % slots); }
    static std::uint8_t number_cell(int s, int pair) { return static_cast<std::uint8_t>(number_0 + 2 * s + pair); }
    static std::uint8_t word_cell(int s, int pair) { return static_cast<std::uint8_t>(word_0 + 2 * s + pair); }

    void visit(const State& state) {
        if (seen_.insert(state.key()).second) {
            open_.push_back(state);
            moved_ = true;
        } else {
            moved_ = moved_ || state.key() != from_;
        }
    }
    void fail(const char* what) {
        if (wrong_.empty()) {
            wrong_ = what;
        }
    }

    void step(const State& state) {
        most_launched_ = std::max<int>(most_launched_, state.launched);
        if (state.launched > most_launches) {
            return;
        }
        from_ = state.key();
        moved_ = false;
        flush(state);
        host(state);
        device(state);
        if (!moved_) {  // nothing else can ever happen
            if (state.host != Host::over) {
                fail("the host waits for ever");
            }
            if (state.taken != messages || state.memory[done] != messages) {
                fail("a message is lost");
            }
        }
    }

    void flush(const State& state) {
        if (state.host_buffer.count != 0) {  // in order
            auto next = state;
            auto const store = next.host_buffer.stores[0];
            next.memory.at(store.cell) = store.value;
            next.host_buffer.drop(0);
            visit(next);
        }
        for (std::size_t i = 0; i < state.device_buffer.count; ++i) {  // in any order, but for one cell
            auto const store = state.device_buffer.stores.at(i);
            auto const* const begin = state.device_buffer.stores.data();
            if (std::none_of(begin, begin + i, [&](const Store& s) { return s.cell == store.cell; })) {
                auto next = state;
                next.memory.at(store.cell) = store.value;
                next.device_buffer.drop(i);
                visit(next);
            }
        }
    }

    static void attend(State& state) {
        if (state.memory[left] == state.launched) {
            ++state.launched;
        }
    }

    void host(State next) {
        auto const number = next.posted + 1;
        switch (next.host) {
            case Host::next:
                if (next.attends < extra_attends) {  // somebody who waits for a message looks after the courier
                    auto other = next;
                    ++other.attends;
                    attend(other);
                    visit(other);
                }
                if (next.posted == messages) {
                    next.host = Host::over;
                    visit(next);
                    return;
                }
                if (!without_.room && next.posted - next.done_seen >= slots) {
                    next.done_seen = next.memory[done];
                    for (int n = 1; n <= next.done_seen; ++n) {
                        if (next.memory.at(static_cast<std::size_t>(bytes_0 + n - 1)) == 0) {
                            fail("a message is called done before its bytes are there");
                        }
                    }
                    attend(next);
                    visit(next);
                    return;
                }
                for (std::uint8_t order = 0; order < 2; ++order) {
                    next.pair_order = order;
                    next.host = Host::first_pair;
                    visit(next);
                }
                return;
            case Host::first_pair:
            case Host::second_pair: {
                auto const pair = next.host == Host::first_pair ? next.pair_order : 1 - next.pair_order;
                if (next.host_buffer.count + 2U > next.host_buffer.stores.size()) {
                    return;  // until it is flushed
                }
                // 8 bytes become visible together: one store, told as two that nothing comes between.
                next.host_buffer.push(word_cell(slot(number), pair), static_cast<std::uint8_t>(number));
                next.host_buffer.push(number_cell(slot(number), pair), static_cast<std::uint8_t>(number));
                next.host = next.host == Host::first_pair ? Host::second_pair : Host::fence;
                visit(next);
                return;
            }
            case Host::fence:
                if (!without_.host_fence && next.host_buffer.count != 0) {
                    return;
                }
                next.host = Host::look;
                visit(next);
                return;
            case Host::look:
                attend(next);
                ++next.posted;
                next.host = Host::next;
                visit(next);
                return;
            case Host::over:
                return;
        }
    }

    void leave(State next) {
        next.leaving = 1;
        next.may_drain = slots;
        next.device = Device::say_left;
        visit(next);
    }

    void look(State next) {
        if (next.leaving != 0 && without_.last_look) {
            next.device = Device::end;
            visit(next);
            return;
        }
        for (std::uint8_t order = 0; order < 2; ++order) {
            next.look_order = order;
            auto const s = slot(next.taken + 1);
            next.first_number = next.memory.at(number_cell(s, order));
            next.first_word = next.memory.at(word_cell(s, order));
            next.device = Device::look_twice;
            visit(next);
        }
    }

    void looked(State next) {
        auto const s = slot(next.taken + 1);
        auto const number = next.memory.at(number_cell(s, 1 - next.look_order));
        auto const word = next.memory.at(word_cell(s, 1 - next.look_order));
        auto const first_word = next.first_word;
        auto const first_number = next.first_number;
        next.first_number = next.first_word = next.look_order = 0;
        auto const wanted = next.taken + 1;
        auto const came = first_number == wanted && (number == wanted || without_.both_numbers);
        if (next.leaving == 0) {
            leave(next);  // idle, here too long, or asked, at any moment
        }
        if (!came || (next.leaving != 0 && next.may_drain == 0)) {
            next.device = next.leaving != 0 ? Device::end : Device::look_once;
            visit(next);
            return;
        }
        if (word != wanted || first_word != wanted) {
            fail("an order is torn");
        }
        next.may_drain = static_cast<std::uint8_t>(next.may_drain - next.leaving);
        if (++next.carried.at(static_cast<std::size_t>(wanted)) != 1) {
            fail("a message is carried twice");
        }
        ++next.taken;
        next.device = Device::bytes;
        visit(next);
    }

    void device(State next) {
        if (next.device_buffer.count + 1U > next.device_buffer.stores.size()) {
            return;
        }
        switch (next.device) {
            case Device::none:  // residences run one after the other
                if (next.launched > next.residence) {
                    ++next.residence;
                    next.leaving = 0;
                    next.device = Device::look_once;
                    visit(next);
                }
                return;
            case Device::look_once:
                look(next);
                return;
            case Device::look_twice:
                looked(next);
                return;
            case Device::bytes:
                next.device_buffer.push(static_cast<std::uint8_t>(bytes_0 + next.taken - 1), 1);
                next.device = Device::bytes_fence;
                visit(next);
                return;
            case Device::bytes_fence:
                if (!without_.bytes_fence && next.device_buffer.count != 0) {
                    return;
                }
                next.device = Device::say_done;
                visit(next);
                return;
            case Device::say_done:
                next.device_buffer.push(done, next.taken);
                next.device = Device::look_once;
                visit(next);
                return;
            case Device::say_left:
                next.device_buffer.push(left, next.residence);
                next.device = Device::left_fence;
                visit(next);
                return;
            case Device::left_fence:
                if (!without_.leave_fence && next.device_buffer.count != 0) {
                    return;
                }
                next.device = Device::look_once;
                visit(next);
                return;
            case Device::end:
                if (next.device_buffer.count == 0) {
                    next.device = Device::none;
                    next.leaving = next.may_drain = 0;
                    visit(next);
                }
                return;
        }
    }

    Without without_;
    std::vector<State> open_;
    std::unordered_set<std::string> seen_;
    std::string from_, wrong_;
    bool moved_ = false;
    int most_launched_ = 0;
};

TEST(CourierModel, NothingIsLostDoubledTornOrEarlyInAnyInterleaving) {
    Explorer explorer({});
    EXPECT_EQ(explorer.run(), "");
    EXPECT_GT(explorer.states(), 100000U) << "the model hardly moves";
    EXPECT_LE(explorer.most_launched(), most_launches);
    RecordProperty("states", static_cast<int>(explorer.states()));
}

TEST(CourierModel, EachStepOfTheProtocolIsNeeded) {
    EXPECT_EQ(Explorer({.host_fence = true}).run(), "a message is lost");
    EXPECT_EQ(Explorer({.leave_fence = true}).run(), "a message is lost");
    EXPECT_NE(Explorer({.last_look = true}).run(), "");
    EXPECT_EQ(Explorer({.both_numbers = true}).run(), "an order is torn");
    EXPECT_EQ(Explorer({.bytes_fence = true}).run(), "a message is called done before its bytes are there");
    EXPECT_NE(Explorer({.room = true}).run(), "");
}

}  // namespace
}  // namespace peerlane
