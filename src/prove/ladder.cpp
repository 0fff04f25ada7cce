#include "prove/ladder.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "prove/busy.hpp"
#include "prove/run.hpp"
#include "prove/self_test.hpp"

namespace peerlane::prove {
namespace {

void check_those_that_look(Run& run) {
    run.bench.allow(run.limits.seconds_per_size);
    run.result = self_test(run.bench, run.step.owner, run.step.seed);
}

using CheckFunction = void (*)(Run&);

/// In the order of `Check`.
constexpr std::array<CheckFunction, all_checks.size()> ladder{check_claim, check_map,  check_push,   check_pull,
                                                              check_store, check_load, check_atomic, check_flag};

CheckFunction function_of(const ProbeStep& step) {
    switch (step.kind) {
        case ProbeStep::Kind::control:
            return check_control;
        case ProbeStep::Kind::self_test:
            return check_those_that_look;
        case ProbeStep::Kind::ways:
            return check_ways;
        case ProbeStep::Kind::group:
            return step.check == Check::map ? check_places : check_group;
        case ProbeStep::Kind::idle:
            return check_idle;
        case ProbeStep::Kind::check:
            break;
    }
    return ladder[static_cast<std::size_t>(step.check)];
}

/// An answer that a driver gives instead of doing a thing, as against one that breaks.
bool says_not_here(int error_code) {
    return error_code == code::peer_access_unsupported || error_code == code::not_supported;
}

}  // namespace

CheckResult answer(Result result, std::string reason) {
    CheckResult check;
    check.result = result;
    check.reason = std::move(reason);
    return check;
}

std::uint32_t rounds_within(double seconds, double one_s, std::uint32_t most) {
    if (one_s <= 0 || seconds / one_s >= most) {
        return most;
    }
    return std::max(1u, static_cast<std::uint32_t>(seconds / one_s));
}

CheckResult Prober::run(const ProbeStep& step, const Limits& limits) {
    CheckResult result;
    auto const function = function_of(step);
    Run run{bench_, step, limits, result, partners_};
    try {
        bench_.focus(devices_of(step));
        function(run);
    } catch (const TimeUp&) {
        bench_.abandon();
        result.result = Result::hang;
        result.reason = fmt::format("not done after {}", seconds_text(limits.seconds_per_size));
    } catch (const NotTried& not_tried) {
        result = answer(Result::skipped, not_tried.reason);
    } catch (const Error& error) {
        if (error.info().sticky) {
            bench_.abandon();
        }
        result.result = says_not_here(error.code()) ? Result::no : Result::error;
        result.code = error.code();
        result.reason = error.what();
    } catch (const std::exception& error) {  // a precondition: the machine told of has not what the driver has
        result.result = Result::error;
        result.code = code::invalid_value;
        result.reason = error.what();
    }
    if (result.result != Result::ok && result.result != Result::wrong) {
        result.seconds.reset();
        result.small_seconds.reset();
        result.gbs.reset();
    }
    return result;
}

CheckResult run_step(Driver& driver, const ProbeStep& step, const Limits& limits) {
    return Prober(driver).run(step, limits);
}

Limits limits_of(const ProbeStep& step, const std::vector<ProbeOutcome>& before, double seconds_per_step) {
    auto const sizes = static_cast<double>(std::max<std::size_t>(1, step.sizes.size()));
    Limits limits{std::min(Limits{}.seconds_per_size, 0.8 * seconds_per_step / sizes)};
    if (step.kind == ProbeStep::Kind::group) {  // together they may be far slower than alone
        limits.seconds_per_size = 0.8 * seconds_per_step;
    }
    auto const writing = step.check == Check::pull ? Check::push : Check::store;
    for (auto const& outcome : before) {
        auto const& other = outcome.step;
        auto const ended = outcome.result.result != Result::hang && outcome.result.result != Result::error;
        auto const by_kernel = other.check == Check::store || other.check == Check::load;
        if (other.kind == ProbeStep::Kind::check && by_kernel && other.accessor == step.accessor &&
            other.owner == step.owner) {
            limits.kernels = limits.kernels && outcome.result.result == Result::ok;
        }
        if (other.kind == ProbeStep::Kind::check && other.check == writing && other.accessor == step.accessor &&
            other.owner == step.owner && !ended) {
            limits.decoy = false;
        }
    }
    return limits;
}

}  // namespace peerlane::prove
