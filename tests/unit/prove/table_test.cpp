// Every effect of the fault notation on every check in each direction gives the verdict it should, and spoils no other.
#include <algorithm>
#include <chrono>
#include <ostream>

#include <gtest/gtest.h>

#include "simulated.hpp"

namespace peerlane {
namespace {

using test::complaints;
using test::machine_of;
using test::prove_with;
using Lines = std::vector<std::string>;

struct Case {
    const char* effect;
    const char* verdict;  ///< as `complaints` prints it; empty: right
    Status status = Status::broken;
};

constexpr Case effects_on_bytes[] = {
    {"zero", "wrong(zero)"},        {"stale", "wrong(stale)"},     {"flip", "wrong(flip)"},
    {"mirror", "wrong(mirror)"},    {"offset", "wrong(offset)"},   {"hang", "hang"},
    {"freeze", "hang frozen"},      {"error700", "error700"},      {"error719", "error719"},
    {"no", "no", Status::degraded}, {"x0.9", "", Status::healthy},
};

struct Named {
    std::string check;
    Case effect;
};

void PrintTo(const Named& named, std::ostream* out) {
    *out << named.check << "=" << named.effect.effect;
}

std::vector<Named> effects_on(std::initializer_list<const char*> checks) {
    std::vector<Named> all;
    for (auto const* check : checks) {
        for (auto const& effect : effects_on_bytes) {
            all.push_back({check, effect});
        }
    }
    return all;
}

std::string name_of(const testing::TestParamInfo<Named>& info) {
    auto name = info.param.check + "_" + info.param.effect.effect;
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
}

class EveryDirectedPair : public testing::TestWithParam<Named> {
  public:
    /// `suffix`: of sizes.
    void expect_at_every_pair(const SimulatedMachine& machine, const std::string& suffix, std::uint64_t at_bytes) {
        auto const& [check, effect] = GetParam();
        for (auto const& pair : machine.machine().pairs) {
            auto const who = std::to_string(pair.accessor) + ":" + std::to_string(pair.owner);
            auto const fault = check + ":" + who + suffix + "=" + effect.effect;
            SCOPED_TRACE(fault);
            auto const verdicts = prove_with(machine, {fault}).verdicts;
            auto const right = std::string(effect.verdict).empty();
            EXPECT_EQ(complaints(verdicts), right ? Lines{} : Lines{who + " " + check + " " + effect.verdict});
            EXPECT_EQ(verdicts.status, effect.status);
            auto const& result = (*verdicts.pair(pair.accessor, pair.owner))[*parse_check(check)];
            if (!right) {
                EXPECT_EQ(result.at_bytes, at_bytes);
            }
            if (result.result == Result::wrong) {
                EXPECT_EQ(result.first_bad_offset, 0u);
                EXPECT_GT(*result.bad_bytes, at_bytes * 98 / 100);
            }
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Table, EveryDirectedPair, testing::ValuesIn(effects_on({"push", "pull", "store", "load"})),
                         name_of);

TEST_P(EveryDirectedPair, AllSizes) {
    expect_at_every_pair(machine_of(3), "", 4096);
}

TEST_P(EveryDirectedPair, LargeSizesOnly) {
    expect_at_every_pair(machine_of(2, PathClass::nv), "@512KiB+", 16 * MiB + 36);
}

TEST_P(EveryDirectedPair, SmallSizesOnly) {
    expect_at_every_pair(machine_of(2, PathClass::sys), "@4KiB-", 4096);
}

prove::ProveOptions all_checks_of_it() {
    prove::ProveOptions options;
    options.checks.assign(all_checks.begin(), all_checks.end());
    return options;
}

class EveryWord : public testing::TestWithParam<Named> {};
INSTANTIATE_TEST_SUITE_P(Table, EveryWord, testing::ValuesIn(effects_on({"atomic", "flag"})), name_of);

/// Atomics and flags, beside all the other checks. Missing atomics are by design of the link.
TEST_P(EveryWord, AtEveryDirectedPair) {
    auto const& [check, effect] = GetParam();
    for (auto const& machine : {machine_of(3), machine_of(2, PathClass::nv)}) {
        for (auto const& pair : machine.machine().pairs) {
            auto const who = std::to_string(pair.accessor) + ":" + std::to_string(pair.owner);
            auto const fault = check + ":" + who + "=" + effect.effect;
            SCOPED_TRACE(fault);
            auto const verdicts = prove_with(machine, {fault}, all_checks_of_it()).verdicts;
            auto const right = std::string(effect.verdict).empty();
            EXPECT_EQ(complaints(verdicts), right ? Lines{} : Lines{who + " " + check + " " + effect.verdict});
            EXPECT_EQ(verdicts.status,
                      check == "atomic" && effect.status == Status::degraded ? Status::healthy : effect.status);
            EXPECT_EQ(verdicts.route(0, 1)->use, RouteVerdict::Use::direct) << "bytes still go";
            auto const& result = (*verdicts.pair(pair.accessor, pair.owner))[*parse_check(check)];
            if (result.result == Result::wrong) {
                EXPECT_EQ(result.at_bytes, 4u);
                EXPECT_GE(*result.bad_bytes, 1u);
            }
            if (result.result == Result::hang) {
                EXPECT_NE(result.reason.find(" s"), std::string::npos) << result.reason;
            }
        }
    }
}

TEST(Table, HealthyMachinesOfEverySize) {
    for (int devices = 2; devices <= 8; ++devices) {
        auto const proof = prove_with(machine_of(devices), {}, all_checks_of_it());
        EXPECT_EQ(complaints(proof.verdicts), Lines{});
        EXPECT_EQ(proof.verdicts.status, Status::healthy);
        EXPECT_EQ(proof.verdicts.pairs.size(), static_cast<std::size_t>(devices * (devices - 1)));
        EXPECT_EQ(proof.verdicts.routes.size(), proof.verdicts.pairs.size());
        EXPECT_EQ(proof.opened, 1);
        for (auto const& route : proof.verdicts.routes) {
            EXPECT_EQ(route.use, RouteVerdict::Use::direct);
            EXPECT_GT(*route.direct_gbs, *route.staged_gbs);
        }
    }
}

TEST(Table, ADeniedClaimIsNoAndNeverTried) {
    auto const machine = machine_of(3);
    for (auto const& pair : machine.machine().pairs) {
        auto const who = std::to_string(pair.accessor) + ":" + std::to_string(pair.owner);
        auto const verdicts = prove_with(machine, {"claim:" + who + "=no"}).verdicts;
        EXPECT_EQ(complaints(verdicts), (Lines{who + " claim no", who + " map skipped", who + " push no",
                                               who + " pull no", who + " store skipped", who + " load skipped"}));
        EXPECT_EQ(verdicts.status, Status::degraded);
        // Data that would have been pushed is pulled by the other side, and the other way round.
        EXPECT_EQ(verdicts.route(pair.accessor, pair.owner)->issuer, pair.owner);
        EXPECT_EQ(verdicts.route(pair.owner, pair.accessor)->issuer, pair.owner);
        EXPECT_FALSE((*verdicts.pair(pair.accessor, pair.owner))[Check::push].reason.empty());
    }
}

TEST(Table, NoPeerAccessAtAllIsHealthyAndStaged) {
    auto const verdicts = prove_with(machine_of(4), {"claim:any:any=no"}).verdicts;
    EXPECT_EQ(verdicts.status, Status::healthy);
    for (auto const& route : verdicts.routes) {
        EXPECT_EQ(route.use, RouteVerdict::Use::staged);
        EXPECT_GT(*route.staged_gbs, 1);
    }
}

TEST(Table, ARefusedMappingOneWayLeavesTheCopiesToTheOther) {
    auto const verdicts = prove_with(machine_of(3), {"map:0:1=error205"}).verdicts;
    EXPECT_EQ(complaints(verdicts), (Lines{"0:1 map error205", "0:1 store skipped", "0:1 load skipped"}));
    EXPECT_EQ(verdicts.status, Status::broken);
}

// tinygrad/open-gpu-kernel-modules#44, #36, #29
TEST(Table, B20RefusedMappingsBothWays) {
    auto const verdicts = prove_with(machine_of(2), {"map:any:any=error205"}).verdicts;
    EXPECT_EQ(complaints(verdicts),
              (Lines{"0:1 map error205", "0:1 push no", "0:1 pull no", "0:1 store skipped", "0:1 load skipped",
                     "1:0 map error205", "1:0 push no", "1:0 pull no", "1:0 store skipped", "1:0 load skipped"}));
    EXPECT_EQ(verdicts.status, Status::broken);
    EXPECT_EQ(verdicts.route(0, 1)->use, RouteVerdict::Use::staged);
    auto const& push = (*verdicts.pair(0, 1))[Check::push];
    EXPECT_NE(push.reason.find("205"), std::string::npos) << push.reason;
    EXPECT_NE(push.reason.find("stage"), std::string::npos) << push.reason;
}

TEST(Table, SlotsAreEnoughForOnePairAtATime) {
    EXPECT_EQ(complaints(prove_with(machine_of(5), {"map:any:any=limit1"}).verdicts), Lines{});
    auto const verdicts = prove_with(machine_of(2), {"map:any:any=limit0"}).verdicts;
    EXPECT_EQ(verdicts.status, Status::degraded);
    EXPECT_EQ((*verdicts.pair(0, 1))[Check::map].result, Result::no);
    EXPECT_EQ((*verdicts.pair(0, 1))[Check::map].code, 711);
}

TEST(Table, TheStagedPathWrongIsInconclusive) {
    for (auto const* effect : {"flip", "zero", "stale", "offset"}) {
        auto const verdicts = prove_with(machine_of(3), {std::string("host:0:1=") + effect}).verdicts;
        EXPECT_EQ(verdicts.status, Status::inconclusive) << effect;
        auto const lines = complaints(verdicts);
        ASSERT_EQ(lines.size(), 1u) << effect;
        EXPECT_EQ(lines[0].rfind("control 0>1 ", 0), 0u) << lines[0];
        EXPECT_NE(lines[0].find(effect), std::string::npos) << lines[0];
        EXPECT_EQ(verdicts.route(0, 1)->use, RouteVerdict::Use::direct);
    }
}

TEST(Table, ASlowDirectPathIsStagedAndDegraded) {
    auto const verdicts = prove_with(machine_of(3), {"rate:0:1=2GB/s"}).verdicts;
    EXPECT_EQ(complaints(verdicts), Lines{});
    EXPECT_EQ(verdicts.status, Status::degraded);
    EXPECT_EQ(verdicts.route(0, 1)->use, RouteVerdict::Use::staged);
    EXPECT_NEAR(*verdicts.route(0, 1)->direct_gbs, 2, 0.1);
    EXPECT_EQ(verdicts.route(1, 0)->use, RouteVerdict::Use::direct);
}

TEST(Table, AThirdOfThePushRateIsPulledInstead) {
    auto const verdicts = prove_with(machine_of(2, PathClass::nv), {"push:0:1=x0.3"}).verdicts;
    EXPECT_EQ(complaints(verdicts), Lines{});
    EXPECT_EQ(verdicts.route(0, 1)->use, RouteVerdict::Use::direct);
    EXPECT_EQ(verdicts.route(0, 1)->issuer, 1);
    EXPECT_EQ(verdicts.route(1, 0)->issuer, 1);
}

prove::ProveOptions everything() {
    auto options = all_checks_of_it();
    options.sizes.assign(prove::full_sizes.begin(), prove::full_sizes.end());
    options.ways = true;
    options.groups = true;
    return options;
}

TEST(Table, SixteenDevicesWholeLadder) {
    auto const verdicts = prove_with(machine_of(16, PathClass::nv), {}, everything()).verdicts;
    EXPECT_EQ(complaints(verdicts), Lines{});
    EXPECT_EQ(verdicts.status, Status::healthy);
    EXPECT_EQ(verdicts.pairs.size(), 240u);
    EXPECT_EQ(verdicts.groups.size(), 2u * (16 + 16 + 1 + 1));
    for (auto const& group : verdicts.groups) {
        EXPECT_EQ(group.result, Result::ok) << group.name << " " << group.reason;
    }
}

// A boot console that shifts one window: tinygrad/open-gpu-kernel-modules#49, #48
TEST(Table, B19OneDirectionCorrupt) {
    auto const verdicts =
        prove_with(machine_of(2), {"push:1:0=offset", "pull:1:0=offset", "store:1:0=offset", "load:1:0=offset"})
            .verdicts;
    EXPECT_EQ(complaints(verdicts), (Lines{"1:0 push wrong(offset)", "1:0 pull wrong(offset)",
                                           "1:0 store wrong(offset)", "1:0 load wrong(offset)"}));
    EXPECT_EQ(verdicts.route(0, 1)->issuer, 0);
    EXPECT_EQ(verdicts.route(1, 0)->issuer, 0) << "device 0 pulls";
}

// NVIDIA/nccl#2335
TEST(Table, B23MirrorOnEveryCheck) {
    auto const verdicts = prove_with(machine_of(2), {"push:any:any=mirror", "pull:any:any=mirror",
                                                     "store:any:any=mirror", "load:any:any=mirror"})
                              .verdicts;
    for (auto const& line : complaints(verdicts)) {
        EXPECT_NE(line.find("wrong(mirror)"), std::string::npos) << line;
    }
    EXPECT_EQ(complaints(verdicts).size(), 8u);
    EXPECT_EQ(verdicts.status, Status::broken);
    EXPECT_EQ(verdicts.route(0, 1)->use, RouteVerdict::Use::staged);
}

// vllm-project/vllm#5528: 56 directed pairs, one of them hangs, the other 55 are judged.
TEST(Table, B132OneHangAmongManyPairs) {
    auto const start = std::chrono::steady_clock::now();
    auto const proof = prove_with(machine_of(8), {"store:0:1=hang"});
    EXPECT_EQ(complaints(proof.verdicts), Lines{"0:1 store hang"});
    EXPECT_EQ(proof.verdicts.pairs.size(), 56u);
    EXPECT_EQ(proof.opened, 2) << "a fresh driver after the hang";
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Table, EveryStepIsJournalledBeforeItRunsAndAfter) {
    auto const proof = prove_with(machine_of(2), {"store:0:1=freeze"});
    ASSERT_EQ(proof.journal.size(), 2u * 14);
    for (std::size_t i = 0; i < proof.journal.size(); i += 2) {
        EXPECT_EQ(proof.journal[i].rfind("begin ", 0), 0u);
        EXPECT_EQ(proof.journal[i + 1].rfind("end " + proof.journal[i].substr(6), 0), 0u);
    }
}

TEST(Table, OtherSizesDownToOneByte) {
    prove::ProveOptions options;
    options.sizes = {1, 8, 4096 + 1, 64 * KiB, 512 * KiB + 4};
    EXPECT_EQ(complaints(prove_with(machine_of(2), {}, options).verdicts), Lines{});
    for (auto const* kind : {"zero", "stale", "flip", "mirror"}) {
        auto const verdicts = prove_with(machine_of(2), {std::string("push:0:1=") + kind}, options).verdicts;
        EXPECT_EQ(complaints(verdicts), Lines{std::string("0:1 push wrong(") + kind + ")"});
        EXPECT_EQ((*verdicts.pair(0, 1))[Check::push].at_bytes, 1u);
    }
}

TEST(Table, TheSameSeedGivesTheSameVerdictsAndAnotherTheSameWords) {
    prove::ProveOptions one, other;
    other.seed = 987654321;
    auto const faults = std::vector<std::string>{"push:0:1=flip", "load:1:0=zero"};
    auto const a = prove_with(machine_of(2), faults, one).verdicts;
    EXPECT_EQ(a, prove_with(machine_of(2), faults, one).verdicts);
    EXPECT_EQ(complaints(a), complaints(prove_with(machine_of(2), faults, other).verdicts));
}

}  // namespace
}  // namespace peerlane
