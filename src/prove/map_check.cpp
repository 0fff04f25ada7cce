#include <vector>

#include <fmt/format.h>

#include <peerlane/error.hpp>

#include "prove/run.hpp"

namespace peerlane::prove {

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

void check_claim(Run& run) {
    run.result = claimed(run) ? answer(Result::ok) : answer(Result::no, no_claim(run.step));
}

void check_places(Run& run) {
    auto& driver = run.bench.driver();
    std::vector<AccessEdge> taken;
    run.result = answer(Result::ok);
    for (auto const& [accessor, owner] : run.step.pairs) {
        auto const outcome = driver.enable_access({accessor, owner});
        if (outcome.kind == MappingOutcome::Kind::done) {
            taken.push_back({accessor, owner});
        }
        MappingWay way{"together", outcome.usable() ? Result::ok : Result::no, std::nullopt, {}};
        if (!outcome.usable()) {
            way.code = outcome.code == 0 ? code::too_many_peers : outcome.code;
            way.reason = fmt::format("no place left for device {} while device {} maps {} others", owner, accessor,
                                     run.result.ways.size());
        }
        run.result.ways.push_back(std::move(way));
    }
    for (auto const& edge : taken) {
        static_cast<void>(driver.disable_access(edge));
    }
}

void check_map(Run& run) {
    if (!claimed(run)) {
        run.result = answer(Result::skipped, no_claim(run.step));
        return;
    }
    auto const& outcome = run.bench.map(run.step.accessor, run.step.owner);
    if (outcome.usable()) {
        run.result = answer(Result::ok);
        run.result.ways = {{"enable", Result::ok}};
        return;
    }
    auto const no_slot = outcome.kind == MappingOutcome::Kind::no_slot;
    run.result = answer(no_slot ? Result::no : Result::error, refusal(run.step, outcome));
    run.result.code = no_slot && outcome.code == 0 ? code::too_many_peers : outcome.code;
    run.result.ways = {{"enable", run.result.result, run.result.code}};
}

}  // namespace peerlane::prove
