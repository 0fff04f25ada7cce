#pragma once
/// What a kernel is. One file pair: NAME.cpp holds its meaning (steps) and its footprint, NAME.cu its device code; both
/// include NAME.hpp, the plain argument struct. Adding one touches no other file: CMake collects the pairs. See
/// README.md beside this.

#include <coroutine>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include <peerlane/driver/work.hpp>
#include <peerlane/pattern.hpp>
#include <peerlane/place.hpp>

namespace peerlane {

/// One of the ranges that a `copies` access moves.
struct MemoryPiece {
    Address to = Address::null;
    Address from = Address::null;
    std::uint64_t bytes = 0;
};

/// One of the words that a `watch` step looks at.
struct WatchedWord {
    Address at = Address::null;
    std::uint32_t at_least = 0;  ///< compared as clocks are
};

/// One access that a kernel makes to memory. The simulator carries it out: mapping rules, faults and time apply.
struct MemoryStep {
    enum class Kind : std::uint8_t {
        load,
        store,
        copy,
        fill,
        check,
        read,
        fetch_add,
        signal,
        wait,
        fetch,
        copies,
        watch,
        compare_swap
    };
    Kind kind = Kind::load;
    Address to = Address::null;    ///< written (store, copy, fill, fetch_add, signal)
    Address from = Address::null;  ///< read (load, copy, check, read, wait, fetch)
    std::uint64_t bytes = 0;       ///< of the range; 1, 2, 4 or 8 for load and store; 4 for fetch_add and wait
    std::uint64_t value = 0;       ///< stored, added, or waited for (at least, compared as clocks are)
    Pattern pattern{};             ///< fill, check
    Pattern poison{};              ///< check
    unsigned width = 16;           ///< bytes one thread moves per access
    double budget_s = 0;           ///< wait: gives up after this long
    std::uint64_t stride = 0;      ///< read: from one word of `width` bytes to the next
    void* into = nullptr;          ///< fetch: memory of the coroutine that the range is copied to
    /// copies: all sources lie in one place and all destinations in one; `bytes` is their sum. Memory of the coroutine.
    std::span<const MemoryPiece> pieces{};
    /// watch: ends when one of them is met; `into` then holds the `bytes` bytes that end with that word. Memory of the
    /// coroutine.
    std::span<const WatchedWord> watched{};
    std::uint32_t expected = 0;  ///< compare_swap: what must be there for `value` to be stored
};

struct StepAnswer {
    std::uint64_t value = 0;  ///< load; the old value for fetch_add and compare_swap; which word for watch
    bool met = true;          ///< wait, watch
    CheckOutcome check{};     ///< check
    double now_s = 0;         ///< the device's clock when the step was done
};

/// A coroutine that yields its accesses and is resumed with the answers.
class KernelSteps {
  public:
    struct promise_type {
        MemoryStep step{};
        StepAnswer answer{};
        KernelSteps get_return_object() {
            return KernelSteps{std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
        struct Resume {
            promise_type& promise;
            bool await_ready() const noexcept { return false; }
            void await_suspend(std::coroutine_handle<>) const noexcept {}
            StepAnswer await_resume() const noexcept { return promise.answer; }
        };
        Resume yield_value(const MemoryStep& next) {
            step = next;
            return {*this};
        }
    };

    KernelSteps() = default;
    explicit KernelSteps(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    KernelSteps(KernelSteps&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    KernelSteps& operator=(KernelSteps&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    KernelSteps(const KernelSteps&) = delete;
    KernelSteps& operator=(const KernelSteps&) = delete;
    ~KernelSteps() {
        if (handle_) {
            handle_.destroy();
        }
    }

    /// Runs to the next access, handing in the answer to the last one. nullptr at the end.
    const MemoryStep* next(const StepAnswer& answer) {
        handle_.promise().answer = answer;
        handle_.resume();
        return handle_.done() ? nullptr : &handle_.promise().step;
    }

  private:
    std::coroutine_handle<promise_type> handle_;
};

/// Byte ranges a launch touches; what audits and cost models use.
struct Footprint {
    struct Range {
        Address at = Address::null;
        std::uint64_t bytes = 0;
    };
    std::vector<Range> reads, writes;
    std::vector<Range> flags;  ///< waited for or signalled
};

/// A kernel as everything but the device sees it. `arguments` points to the argument struct, of `argument_bytes` bytes.
struct Kernel {
    const char* name;
    std::size_t argument_bytes;
    /// Copies the arguments: they need not outlive the call.
    KernelSteps (*meaning)(const void* arguments);
    Footprint (*footprint)(const void* arguments);
};

/// Ties an argument struct to its functions: `const Kernel copy_kernel = define_kernel<CopyArguments, steps,
/// touched>("copy")`.
template <class Arguments, KernelSteps (*Meaning)(Arguments), Footprint (*Touched)(const Arguments&)>
constexpr Kernel define_kernel(const char* name) {
    return {name, sizeof(Arguments), [](const void* a) { return Meaning(*static_cast<const Arguments*>(a)); },
            [](const void* a) { return Touched(*static_cast<const Arguments*>(a)); }};
}

namespace step {
inline MemoryStep load(Address from, unsigned bytes) {
    return {MemoryStep::Kind::load, {}, from, bytes};
}
inline MemoryStep store(Address to, std::uint64_t value, unsigned bytes) {
    return {MemoryStep::Kind::store, to, {}, bytes, value};
}
inline MemoryStep copy(Address to, Address from, std::uint64_t bytes, unsigned width = 16) {
    return {MemoryStep::Kind::copy, to, from, bytes, 0, {}, {}, width};
}
inline MemoryStep read(Address from, std::uint64_t bytes, std::uint64_t stride, unsigned width) {
    return {MemoryStep::Kind::read, {}, from, bytes, 0, {}, {}, width, 0, stride};
}
inline MemoryStep fill(Address to, std::uint64_t bytes, Pattern pattern, unsigned width = 16) {
    return {MemoryStep::Kind::fill, to, {}, bytes, 0, pattern, {}, width};
}
inline MemoryStep check(Address from, std::uint64_t bytes, Pattern expected, Pattern poison) {
    return {MemoryStep::Kind::check, {}, from, bytes, 0, expected, poison};
}
inline MemoryStep fetch_add(Address at, std::uint32_t value) {
    return {MemoryStep::Kind::fetch_add, at, {}, 4, value};
}
/// A flag set for others to see: a 32-bit store with release order at system scope.
inline MemoryStep signal(Address at, std::uint32_t value) {
    return {MemoryStep::Kind::signal, at, {}, 4, value};
}
inline MemoryStep wait(Address at, std::uint32_t at_least, double budget_s) {
    return {MemoryStep::Kind::wait, {}, at, 4, at_least, {}, {}, 4, budget_s};
}
/// A range read into the coroutine's own memory: a list that says what to do next.
inline MemoryStep fetch(Address from, std::uint64_t bytes, void* into) {
    MemoryStep made{MemoryStep::Kind::fetch, {}, from, bytes};
    made.into = into;
    return made;
}
/// Polls several words until one is met, the first in their order where several are; gives up after `budget_s` (0: at
/// once). Brings along the `bytes` bytes that end with the word, as a poller gets them in the same load.
inline MemoryStep watch(std::span<const WatchedWord> words, double budget_s, std::uint64_t bytes, void* into) {
    MemoryStep made{MemoryStep::Kind::watch, {}, words.front().at, bytes};
    made.watched = words;
    made.budget_s = budget_s;
    made.into = into;
    return made;
}
/// A 32-bit word replaced where it holds `expected`, as one access.
inline MemoryStep compare_swap(Address at, std::uint32_t expected, std::uint32_t value) {
    MemoryStep made{MemoryStep::Kind::compare_swap, at, {}, 4, value};
    made.expected = expected;
    return made;
}
/// Many ranges moved at once, none of them waiting for another.
inline MemoryStep copies(std::span<const MemoryPiece> pieces, unsigned width = 16) {
    MemoryStep made{MemoryStep::Kind::copies};
    for (auto const& piece : pieces) {
        made.bytes += piece.bytes;
    }
    made.pieces = pieces;
    made.width = width;
    return made;
}
}  // namespace step

}  // namespace peerlane
