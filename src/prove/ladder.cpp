#include "prove/ladder.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "prove/self_test.hpp"
#include "prove/transfer.hpp"

namespace peerlane::prove {
namespace {

/// Below this a rate says more about the call than about the path.
constexpr std::uint64_t rated_from_bytes = 64 * KiB;

CheckResult answer(Result result, std::string reason = {}) {
    CheckResult check;
    check.result = result;
    check.reason = std::move(reason);
    return check;
}

/// What a step needs while it runs; `result` grows with each size.
struct Run {
    Bench& bench;
    const ProbeStep& step;
    Limits limits;
    CheckResult& result;
};

std::string no_claim(const ProbeStep& step) {
    return fmt::format("the driver says that device {} cannot reach device {}", step.accessor, step.owner);
}

bool claimed(const Run& run) {
    return run.bench.driver().can_access(run.step.accessor, run.step.owner);
}

std::string refusal(const ProbeStep& step, const MappingOutcome& outcome) {
    auto const why = outcome.kind == MappingOutcome::Kind::no_slot
                         ? std::string("no mapping slot left")
                         : fmt::format("{}, code {}", code_text(outcome.code), outcome.code);
    return fmt::format("mapping device {} for device {} was refused: {}", step.owner, step.accessor, why);
}

void check_claim(Run& run) {
    run.result = claimed(run) ? answer(Result::ok) : answer(Result::no, no_claim(run.step));
}

void check_map(Run& run) {
    if (!claimed(run)) {
        run.result = answer(Result::skipped, no_claim(run.step));
        return;
    }
    auto const& outcome = run.bench.map(run.step.accessor, run.step.owner);
    if (outcome.usable()) {
        run.result = answer(Result::ok);
        return;
    }
    auto const no_slot = outcome.kind == MappingOutcome::Kind::no_slot;
    run.result = answer(no_slot ? Result::no : Result::error, refusal(run.step, outcome));
    run.result.code = no_slot && outcome.code == 0 ? code::too_many_peers : outcome.code;
}

/// Ways in which one size is tried. Kernels start anywhere and access in several widths.
struct Variant {
    unsigned width;
    std::uint64_t from_start, to_start;
};

std::span<const Variant> variants_of(Way way, std::uint64_t bytes) {
    static constexpr std::array<Variant, 4> all{{{16, 0, 0}, {16, 3, 5}, {8, 0, 8}, {4, 12, 4}}};
    auto const count = way != Way::kernel ? 1 : bytes <= MiB ? all.size() : 2;
    return std::span(all).first(count);
}

/// True when something is wrong, which the result then tells.
bool wrong(CheckResult& result, const Observation& seen) {
    result.kind = classify(seen);
    if (!result.kind) {
        return false;
    }
    result.result = Result::wrong;
    result.first_bad_offset = first_bad_offset(seen);
    result.bad_bytes = seen.payload.bad + seen.before.bad + seen.after.bad;
    return true;
}

/// `number`: of the variant. Its pattern is named by check and variant, beside pair and size.
Transfer transfer_of(const Run& run, Way way, bool pull, std::uint64_t bytes, const Variant& variant,
                     std::uint64_t number) {
    auto const& step = run.step;
    auto const check = static_cast<std::uint64_t>(step.kind) << 8 | static_cast<std::uint64_t>(step.check);
    return {.from = pull ? step.owner : step.accessor,
            .to = pull ? step.accessor : step.owner,
            .issuer = step.accessor,
            .way = way,
            .bytes = bytes,
            .width = variant.width,
            .from_start = variant.from_start,
            .to_start = variant.to_start,
            .name = check << 8 | number,
            .seed = step.seed};
}

void rate(CheckResult& result, std::uint64_t bytes, std::optional<double> seconds) {
    if (!seconds || *seconds <= 0) {
        return;
    }
    result.seconds = seconds;
    result.gbs.reset();
    if (bytes >= rated_from_bytes) {
        result.gbs = static_cast<double>(bytes) / *seconds / 1e9;
    }
}

/// True when what was seen is right; else the result says what is wrong.
bool right(Run& run, const Transfer& transfer, const Observation& seen) {
    if (!wrong(run.result, seen)) {
        return true;
    }
    auto const reads = transfer.way != Way::through_host && transfer.issuer == transfer.to;
    if (reads && run.limits.decoy && run.bench.usable()) {
        auto const behind = read_behind_decoy(run.bench, transfer);
        if (behind && behind->own_bytes_back) {
            wrong(run.result, *behind);
        }
    }
    return false;
}

/// True when every variant of this size is right.
bool send_size(Run& run, Way way, bool pull, std::uint64_t bytes) {
    run.bench.allow(run.limits.seconds_per_size);
    std::uint64_t number = 0;
    for (auto const& variant : variants_of(way, bytes)) {
        auto const transfer = transfer_of(run, way, pull, bytes, variant, number);
        auto const seen = send_and_look(run.bench, transfer);
        if (!right(run, transfer, seen.what)) {
            return false;
        }
        if (number++ == 0) {
            auto seconds = seen.seconds;
            if (bytes >=
                rated_from_bytes) {  // the first one of a size pays for what is set up once: mappings, caches, clocks
                auto const again = send_and_look(run.bench, transfer);
                if (!right(run, transfer, again.what)) {
                    return false;
                }
                seconds = std::min(seconds, again.seconds);
            }
            rate(run.result, bytes, seconds);
        }
    }
    return true;
}

/// True when no size brings back a decoy. Last of all, for a decoy that hangs ends the use of the bench.
bool no_decoy_comes_back(Run& run, Way way) {
    for (auto const bytes : run.step.sizes) {
        run.bench.allow(run.limits.seconds_per_size);
        auto const behind = read_behind_decoy(run.bench, transfer_of(run, way, true, bytes, {16, 0, 0}, 0));
        if (!run.bench.usable()) {
            return true;
        }
        if (behind && wrong(run.result, *behind)) {
            run.result.at_bytes = bytes;
            return false;
        }
    }
    return true;
}

/// Sends every size, smallest first, until one is not right.
void send_sizes(Run& run, Way way, bool pull) {
    auto const& sizes = run.step.sizes;
    for (auto const device : {run.step.accessor, run.step.owner}) {
        run.bench.side(device, room_for(sizes.empty() ? 0 : sizes.back()));
    }
    for (auto const bytes : sizes) {
        run.result.sizes.push_back(bytes);
        run.result.at_bytes = bytes;  // should it throw
        if (!send_size(run, way, pull, bytes)) {
            return;
        }
    }
    if (pull && run.limits.decoy && !no_decoy_comes_back(run, way)) {
        return;
    }
    run.result.at_bytes.reset();
    run.result.result = Result::ok;
}

/// A copy engine goes direct when either direction is mapped; with neither the driver stages the bytes, and that proves
/// nothing.
bool copies_go_direct(Run& run) {
    auto const& step = run.step;
    if (!claimed(run)) {
        run.result = answer(Result::no, no_claim(step));
        return false;
    }
    auto const& outcome = run.bench.map(step.accessor, step.owner);
    if (outcome.usable()) {
        return true;
    }
    if (run.bench.driver().can_access(step.owner, step.accessor) && run.bench.map(step.owner, step.accessor).usable()) {
        return true;
    }
    run.result = answer(Result::no, refusal(step, outcome) + "; the driver would stage the copy");
    return false;
}

bool kernels_may_reach(Run& run) {
    if (!claimed(run)) {
        run.result = answer(Result::skipped, no_claim(run.step));
        return false;
    }
    auto const& outcome = run.bench.map(run.step.accessor, run.step.owner);
    if (!outcome.usable()) {
        run.result = answer(Result::skipped, refusal(run.step, outcome));
    }
    return outcome.usable();
}

template <bool pull>
void check_copy(Run& run) {
    if (copies_go_direct(run)) {
        send_sizes(run, Way::copy_engine, pull);
    }
}

template <bool pull>
void check_kernel_access(Run& run) {
    if (kernels_may_reach(run)) {
        send_sizes(run, Way::kernel, pull);
    }
}

void check_control(Run& run) {
    send_sizes(run, Way::through_host, false);
}

void check_those_that_look(Run& run) {
    run.bench.allow(run.limits.seconds_per_size);
    run.result = self_test(run.bench, run.step.owner, run.step.seed);
}

using CheckFunction = void (*)(Run&);

/// In the order of `Check`. Empty: not part of this proof.
constexpr std::array<CheckFunction, all_checks.size()> ladder{
    check_claim, check_map, check_copy<false>, check_copy<true>, check_kernel_access<false>, check_kernel_access<true>,
    nullptr,     nullptr};

/// An answer that a driver gives instead of doing a thing, as against one that breaks.
bool says_not_here(int error_code) {
    return error_code == code::peer_access_unsupported || error_code == code::not_supported;
}

}  // namespace

CheckResult Prober::run(const ProbeStep& step, const Limits& limits) {
    CheckResult result;
    auto const function = step.kind == ProbeStep::Kind::control     ? check_control
                          : step.kind == ProbeStep::Kind::self_test ? check_those_that_look
                                                                    : ladder[static_cast<std::size_t>(step.check)];
    if (function == nullptr) {
        return answer(Result::skipped, "not part of this proof");
    }
    Run run{bench_, step, limits, result};
    try {
        bench_.focus(step.accessor, step.owner);
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
    auto const writing = step.check == Check::pull ? Check::push : Check::store;
    for (auto const& outcome : before) {
        auto const& other = outcome.step;
        auto const ended = outcome.result.result != Result::hang && outcome.result.result != Result::error;
        if (other.kind == ProbeStep::Kind::check && other.check == writing && other.accessor == step.accessor &&
            other.owner == step.owner && !ended) {
            limits.decoy = false;
        }
    }
    return limits;
}

}  // namespace peerlane::prove
