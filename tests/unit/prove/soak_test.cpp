// Load for a long time.

#include <gtest/gtest.h>

#include "prove/wire.hpp"
#include "simulated.hpp"

namespace peerlane {
namespace {

using prove::ProbeStep;
using test::machine_of;
using test::prove_with;

struct Soaked {
    std::vector<ProbeStep> steps;
    std::vector<prove::ProbeOutcome> outcomes;
};

Soaked soaked(int devices, const std::vector<std::string>& faults, double seconds) {
    auto const machine = machine_of(devices);
    prove::ProveOptions options;
    options.sizes = {4096};
    auto const verdicts = prove_with(machine, {}, options).verdicts;
    Soaked done;
    done.steps = prove::soak_steps(verdicts, seconds, seconds / 4, 7);
    auto const host = prove::in_process_host(
        {[&] { return open_simulated(machine, {test::faults_of(faults)}); }, prove::freezes_of({})});
    done.outcomes = host->run(done.steps, 10, {}, {});
    return done;
}

TEST(Soak, LoadsEveryPairBothWaysForAsLongAsAskedAndProvesInBetween) {
    auto const done = soaked(3, {}, 0.02);
    double loaded = 0;
    int proofs = 0;
    for (auto const& step : done.steps) {
        loaded += step.seconds;
        proofs += step.kind == ProbeStep::Kind::check ? 1 : 0;
        if (step.kind == ProbeStep::Kind::group) {
            EXPECT_EQ(step.pairs.size(), 6U);
        }
    }
    EXPECT_NEAR(loaded, 0.02, 1e-9);
    EXPECT_GT(proofs, 4);
    for (auto const& outcome : done.outcomes) {
        EXPECT_EQ(outcome.result.result, Result::ok) << describe(outcome.step) << ": " << outcome.result.reason;
    }
}

TEST(Soak, AFailureUnderLoadSaysWhen) {
    auto const down = soaked(2, {"link:0:1=down@9ms"}, 0.02).outcomes;
    auto const found = std::find_if(down.begin(), down.end(), [](const prove::ProbeOutcome& outcome) {
        return outcome.result.result == Result::error;
    });
    ASSERT_NE(found, down.end());
    EXPECT_NE(found->result.reason.find("ms of load"), std::string::npos) << found->result.reason;
    auto const wrong = soaked(2, {"push:0:1=flip"}, 0.004).outcomes;
    EXPECT_EQ(wrong.front().result.result, Result::wrong);
}

TEST(Soak, WithFewerThanTwoPairsThereIsNothingToLoad) {
    EXPECT_TRUE(prove::soak_steps({}, 1, 1, 7).empty());
}

TEST(Soak, GoesOverTheWire) {
    ProbeStep const step{ProbeStep::Kind::group, Check::push, 0, 1, {4096}, 7, {{0, 1}, {1, 0}}, "soak", 2.5};
    EXPECT_EQ(prove::wire::read_step(prove::wire::write(step), "x"), step);
}

}  // namespace
}  // namespace peerlane
