#include <fmt/format.h>

#include <peerlane/error.hpp>

#include "kernels/add.hpp"
#include "prove/run.hpp"
#include "prove/transfer.hpp"
#include "prove/words.hpp"

namespace peerlane::prove {
namespace {

constexpr std::uint32_t lanes = 256;
/// About 100 us of adds on a real device, against some 10 us from one launch to the other: the two sides do overlap.
constexpr std::uint32_t most_rounds = 128;

class Counting {
  public:
    explicit Counting(Run& run)
        : run_(run), bench_(run.bench), patch_(bench_, run.step.owner, run.step.seed, pair_name(run.step)) {}

    /// The accessor alone adds once: its kind of fault shows clean. Then both add at once, and no add may be lost.
    void run() {
        patch_.poison();
        follow(run_.step.accessor, run_.step.owner);
        auto& timed = bench_.side(run_.step.accessor);
        bench_.driver().record(timed.start.view(), timed.stream.view());
        add(run_.step.accessor, 1, 1);
        bench_.driver().record(timed.end.view(), timed.stream.view());
        if (!holds(1)) {
            return;
        }
        auto const one_s = bench_.driver().elapsed(timed.start.view(), timed.end.view());
        auto const rounds = rounds_within(run_.limits.seconds_per_size / 4, one_s, most_rounds);
        patch_.poison();
        follow(run_.step.accessor, run_.step.owner);
        add(run_.step.accessor, lanes, rounds);
        add(run_.step.owner, lanes, rounds);
        if (holds(2 * lanes * rounds)) {
            run_.result.result = Result::ok;
            run_.result.at_bytes.reset();
        }
    }

  private:
    static std::uint64_t pair_name(const ProbeStep& step) {
        return static_cast<std::uint64_t>(step.accessor) << 8 | static_cast<std::uint64_t>(Check::atomic);
    }

    void follow(int device, int other) {
        auto& before = bench_.side(other);
        bench_.driver().record(before.done.view(), before.stream.view());
        bench_.driver().wait(bench_.side(device).stream.view(), before.done.view());
    }

    void add(int device, std::uint32_t at_once, std::uint32_t times) {
        AddArguments const arguments{patch_.address(Patch::first), at_once, times};
        bench_.driver().launch(bench_.side(device).stream.view(), add_kernel, &arguments);
    }

    bool holds(std::uint32_t added) {
        auto const [accessor, owner] = std::pair(run_.step.accessor, run_.step.owner);
        bench_.wait(accessor);
        bench_.wait(owner);
        auto const seen = patch_.look();
        ExpectedWord const expected{Patch::first, patch_.before(Patch::first) + added};
        auto const kind = seen.wrong({expected});
        if (!kind) {
            return true;
        }
        auto& result = run_.result;
        result.result = Result::wrong;
        result.kind = added == 1 ? told_apart(bench_, patch_, accessor, expected, *kind) : *kind;
        result.first_bad_offset = 0;
        result.bad_bytes = seen.bad_bytes({expected});
        auto const counted = seen.word(Patch::first) - patch_.before(Patch::first);
        result.reason = added == 1 ? fmt::format("one add of device {} left {} of 1", accessor, counted)
                                   : fmt::format("both sides added {} together; the sum is {}", added, counted);
        return false;
    }

    Run& run_;
    Bench& bench_;
    Patch patch_;
};

}  // namespace

void check_atomic(Run& run) {
    if (!kernels_may_reach(run)) {
        return;
    }
    auto const native = run.bench.driver().native_atomics(run.step.accessor, run.step.owner);
    for (auto const device : {run.step.accessor, run.step.owner}) {
        run.bench.side(device, room_for(0));
    }
    run.bench.allow(run.limits.seconds_per_size);
    run.result.sizes = {4};
    run.result.at_bytes = 4;
    Counting(run).run();
    auto const right = run.result.result == Result::ok;
    if (!native && (right || run.result.result == Result::wrong)) {
        run.result = answer(Result::no, fmt::format("the driver says that this link has no native atomics; the sum of "
                                                    "both sides' adds was {}",
                                                    right ? "right all the same" : "wrong"));
    }
}

}  // namespace peerlane::prove
