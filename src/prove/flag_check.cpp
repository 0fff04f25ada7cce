#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "kernels/token.hpp"
#include "prove/run.hpp"
#include "prove/transfer.hpp"
#include "prove/words.hpp"

namespace peerlane::prove {
namespace {

constexpr std::uint32_t most_rounds = 64;
constexpr std::uint32_t unanswered = ~std::uint32_t{0};

/// Both flags lie in the owner's memory: the accessor stores to one and polls the other, the owner works in place. So
/// nothing but accessor:owner is under test.
class HandOver {
  public:
    explicit HandOver(Run& run)
        : run_(run),
          bench_(run.bench),
          patch_(bench_, run.step.owner, run.step.seed,
                 static_cast<std::uint64_t>(run.step.accessor) << 8 | static_cast<std::uint64_t>(Check::flag)),
          budget_s_(run.limits.seconds_per_size / 4),
          first_(std::max(patch_.before(to_owner), patch_.before(to_accessor)) + 1) {}

    /// Once, which tells how long it takes; then as often as there is time.
    void run() {
        auto const one_s = hand_over(1);
        if (run_.result.result == Result::ok) {
            run_.result.at_bytes = 4;
            auto const rounds = rounds_within(run_.limits.seconds_per_size / 4, one_s, most_rounds);
            run_.result.seconds = hand_over(rounds) / rounds;
        }
    }

  private:
    /// How long it took.
    double hand_over(std::uint32_t rounds) {
        auto const [accessor, owner] = std::pair(run_.step.accessor, run_.step.owner);
        patch_.poison();
        bench_.wait(owner);
        auto& timed = bench_.side(accessor);
        auto& driver = bench_.driver();
        launch(owner, 1, to_owner, to_accessor, false, rounds);
        driver.record(timed.start.view(), timed.stream.view());
        launch(accessor, 0, to_accessor, to_owner, true, rounds);
        driver.record(timed.end.view(), timed.stream.view());
        bench_.wait(accessor);
        bench_.wait(owner);
        judge(outcome(0), outcome(1), rounds);
        return driver.elapsed(timed.start.view(), timed.end.view());
    }

    static constexpr auto to_owner = Patch::first, to_accessor = Patch::second;

    [[nodiscard]] Address slot(std::uint64_t number) const { return bench_.pinned() + number * 64; }

    [[nodiscard]] TokenOutcome outcome(std::uint64_t number) const {
        TokenOutcome found;
        bench_.driver().read_host(slot(number), &found, sizeof found);
        return found;
    }

    void launch(int device, std::uint64_t number, std::uint64_t waited_for, std::uint64_t signalled, bool starts,
                std::uint32_t rounds) {
        TokenOutcome const none{unanswered, unanswered};
        bench_.driver().write_host(slot(number), &none, sizeof none);
        TokenArguments const arguments{patch_.address(waited_for),
                                       patch_.address(signalled),
                                       slot(number),
                                       first_,
                                       rounds,
                                       starts ? 1u : 0u,
                                       budget_s_};
        bench_.driver().launch(bench_.side(device).stream.view(), token_kernel, &arguments);
    }

    void judge(TokenOutcome accessor, TokenOutcome owner, std::uint32_t rounds) {
        auto const owner_lacks = owner.met < rounds;
        auto const met = owner_lacks ? owner.met : rounds;
        auto const seen = patch_.look();
        std::vector<ExpectedWord> words{
            {to_owner, first_ + (owner_lacks ? met : rounds - 1)},
            {to_accessor, owner.met == 0 ? patch_.before(to_accessor) : first_ + owner.met - 1}};
        auto& result = run_.result;
        if (auto const kind = seen.wrong(words)) {
            result.result = Result::wrong;
            auto const stale = owner_lacks && met != 0 && seen.word(to_owner) == first_ + met - 1;
            result.kind = told_apart(bench_, patch_, run_.step.accessor, words[0], stale ? WrongKind::stale : *kind);
            result.first_bad_offset = 0;
            result.bad_bytes = seen.bad_bytes(words);
            result.reason = fmt::format("token {} of {} did not arrive as it was sent", met + 1, rounds);
            return;
        }
        if (!owner_lacks && accessor.met == rounds) {
            result.result = Result::ok;
            result.at_bytes.reset();
            return;
        }
        auto const by = owner_lacks ? run_.step.owner : run_.step.accessor;
        result.result = Result::hang;
        result.reason = fmt::format(
            "token {} of {} lies in the memory of device {}, but a running kernel of device {} did not see "
            "it within {}",
            (owner_lacks ? met : accessor.met) + 1, rounds, run_.step.owner, by, seconds_text(budget_s_));
    }

    Run& run_;
    Bench& bench_;
    Patch patch_;
    double budget_s_;
    std::uint32_t first_;
};

}  // namespace

void check_flag(Run& run) {
    if (!kernels_may_reach(run)) {
        return;
    }
    for (auto const device : {run.step.accessor, run.step.owner}) {
        run.bench.side(device, room_for(0));
    }
    run.bench.allow(run.limits.seconds_per_size);
    run.result.sizes = {4};
    run.result.at_bytes = 4;
    HandOver(run).run();
}

}  // namespace peerlane::prove
