#include <functional>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "kernels/check.hpp"
#include "kernels/fill.hpp"
#include "prove/run.hpp"
#include "prove/transfer.hpp"

namespace peerlane::prove {
namespace {

constexpr std::uint64_t bytes = 4096;

MappingWay skipped(const char* way, std::string reason) {
    return {way, Result::skipped, std::nullopt, std::move(reason)};
}

/// The owner poisons, the accessor's kernel stores, the owner looks.
MappingWay reach(Run& run, const char* way, Address memory) {
    auto& driver = run.bench.driver();
    auto const& step = run.step;
    auto& owner = run.bench.side(step.owner);
    auto& accessor = run.bench.side(step.accessor);
    Pattern const expected{
        pattern_key(step.seed, static_cast<std::uint64_t>(step.accessor), static_cast<std::uint64_t>(memory)), 0};
    Pattern const poison{mix64(expected.key), 0};

    FillArguments arguments{memory, bytes, poison, 16};
    driver.launch(owner.stream.view(), fill_kernel, &arguments);
    driver.record(owner.done.view(), owner.stream.view());
    driver.wait(accessor.stream.view(), owner.done.view());
    arguments.pattern = expected;
    driver.launch(accessor.stream.view(), fill_kernel, &arguments);
    run.bench.wait(step.accessor);

    CheckOutcome found{0, bytes, 0, 0};
    driver.write_host(run.bench.pinned(), &found, sizeof found);
    CheckArguments const look{memory, bytes, expected, poison, run.bench.pinned()};
    driver.launch(owner.stream.view(), check_kernel, &look);
    run.bench.wait(step.owner);
    driver.read_host(run.bench.pinned(), &found, sizeof found);
    if (found.bad == 0) {
        return {way, Result::ok};
    }
    return {way, Result::wrong, std::nullopt,
            fmt::format("{} of {} bytes that device {} stored are wrong", found.bad, bytes, step.accessor)};
}

/// What the driver says instead of doing what the way needs beforehand belongs to the machine, not to the pair.
MappingWay try_way(Run& run, const char* way, const std::function<Allocation()>& allocate,
                   const std::function<MappingOutcome(Address, Access)>& grant) {
    Allocation memory;
    try {
        memory = allocate();
    } catch (const Error& error) {
        if (error.info().sticky) {
            throw;
        }
        return skipped(way, error.what());
    }
    auto const outcome = grant(memory.address(), Access::read_write);
    if (!outcome.usable()) {
        return {way, Result::error, outcome.code, refusal(run.step, outcome)};
    }
    try {
        auto result = reach(run, way, memory.address());
        static_cast<void>(grant(memory.address(), Access::none));
        return result;
    } catch (const TimeUp&) {
        memory.release();  // freeing would wait for what hangs
        run.bench.abandon();
        return {way, Result::hang, std::nullopt,
                fmt::format("not done after {}", seconds_text(run.limits.seconds_per_size))};
    } catch (const Error& error) {
        if (error.info().sticky) {
            memory.release();
            run.bench.abandon();
        }
        return {way, Result::error, error.code(), error.what()};
    }
}

/// A pool of its own: a grant on the default pool would be everybody's.
class OwnPool {
  public:
    OwnPool(Driver& driver, int device) : driver_(driver), pool_(driver.create_pool(device)) {}
    OwnPool(const OwnPool&) = delete;
    OwnPool& operator=(const OwnPool&) = delete;
    ~OwnPool() {
        try {
            driver_.destroy_pool(pool_);
        } catch (const std::exception&) {  // after a hang or a sticky error: it ends with the process
        }
    }
    [[nodiscard]] PoolId id() const { return pool_; }

  private:
    Driver& driver_;
    PoolId pool_;
};

MappingWay pool_way(Run& run) {
    auto& driver = run.bench.driver();
    auto const owner = run.step.owner;
    if (!driver.capabilities(owner).pools) {
        return skipped("pool", fmt::format("device {} has no memory pools", owner));
    }
    OwnPool const pool(driver, owner);
    return try_way(
        run, "pool",
        [&] {
            return Allocation(driver,
                              {gpu(owner), bytes, MemoryKind::pool, pool.id(), run.bench.side(owner).stream.view()});
        },
        [&](Address, Access access) { return driver.grant(pool.id(), run.step.accessor, access); });
}

MappingWay virtual_way(Run& run) {
    auto& driver = run.bench.driver();
    auto const owner = run.step.owner;
    if (!driver.capabilities(owner).virtual_memory) {
        return skipped("virtual", fmt::format("device {} has no virtual memory management", owner));
    }
    return try_way(
        run, "virtual",
        [&] {
            return Allocation(driver, {gpu(owner), bytes, MemoryKind::virtual_memory});
        },
        [&](Address at, Access access) { return driver.grant(at, run.step.accessor, access); });
}

}  // namespace

void check_ways(Run& run) {
    if (!claimed(run)) {
        run.result = answer(Result::skipped, no_claim(run.step));
        return;
    }
    if (!run.limits.kernels) {
        throw NotTried{"stores or loads of this pair are not right, so that no grant could be told from them"};
    }
    for (auto const device : {run.step.accessor, run.step.owner}) {
        run.bench.side(device, room_for(0));
    }
    run.result.result = Result::ok;
    for (auto const way : {pool_way, virtual_way, import_legacy_way, import_virtual_way}) {
        if (!run.bench.usable()) {
            return;
        }
        run.bench.allow(run.limits.seconds_per_size);
        run.result.ways.push_back(way(run));
        if (run.result.ways.back().result == Result::hang) {  // for the host, which looks after the devices then
            run.result.result = Result::hang;
            run.result.reason = run.result.ways.back().reason;
        }
    }
}

void check_idle(Run& run) {
    auto const device = run.step.owner;
    auto& side = run.bench.side(device, room_for(0));
    run.bench.allow(run.limits.seconds_per_size);
    FillArguments const arguments{side.memory.address(), 64, {1, 0}, 16};
    run.bench.driver().launch(side.stream.view(), fill_kernel, &arguments);
    run.bench.wait(device);
    run.result = answer(Result::ok);
}

}  // namespace peerlane::prove
