#include "measure/access_probe.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/add.hpp"
#include "kernels/chase.hpp"
#include "kernels/kernel.hpp"
#include "kernels/line.hpp"
#include "kernels/scribble.hpp"
#include "kernels/touch.hpp"
#include "measure/statistics.hpp"

namespace peerlane::measuring {
namespace {

constexpr std::uint64_t mebi = 1024 * 1024;

/// A launch is timed with few rounds and with many: the difference is free of what a launch costs.
struct Rounds {
    std::uint32_t few, many;
};
constexpr Rounds chase_loads{64, 320};
constexpr Rounds line_batches{16, 80};
constexpr Rounds add_rounds{8, 40}, dependent_adds{32, 160};
constexpr std::uint32_t add_lanes = 256;
/// Rounds of a touch last at least this long, so that the clock's resolution (0.5 us) does not count.
constexpr double touched_s = 100e-6;
constexpr std::uint32_t most_rounds = 512;

constexpr std::uint64_t chase_bytes = mebi;  ///< beyond a first-level cache, and within the owner's second-level one
constexpr std::uint64_t chase_stride = 256;

struct Shape {
    std::uint32_t width, stride;
};
constexpr Shape whole_shapes[] = {{4, 4}, {4, 8},   {4, 32},  {4, 128},  {4, 4096},
                                  {8, 8}, {8, 128}, {16, 16}, {16, 128}, {16, 4096}};
constexpr Shape short_shapes[] = {{4, 4}, {4, 128}, {16, 16}};
constexpr std::uint64_t whole_touches[] = {4096, 65536, mebi, 16 * mebi, 256 * mebi};
constexpr std::uint64_t short_touches[] = {65536, 16 * mebi};

class AccessProbe {
  public:
    AccessProbe(Bench& bench, const AccessPlan& plan, const AccessRules& rules)
        : bench_(bench), driver_(bench.driver()), plan_(plan), rules_(rules), stream_(bench.stream(plan.accessor)) {
        auto const& memory = bench.memory(plan.place);
        base_ = memory.address();
        most_ = std::min(memory.bytes(), rules.most_bytes);
    }

    AccessCosts result() {
        AccessCosts costs;
        costs.accessor = plan_.accessor;
        costs.place = plan_.place;
        costs.load_s = per_round(chase_loads, [&](std::uint32_t loads) {
            ChaseArguments const a{base_, std::min(chase_bytes, most_), chase_stride, loads};
            return launched(chase_kernel, &a);
        });
        auto const shapes = plan_.whole ? std::span<const Shape>(whole_shapes) : std::span<const Shape>(short_shapes);
        auto const range = range_for(rules_.longest_round_s);
        for (auto const& shape : shapes) {
            if (auto const once = touch(range, shape)) {
                auto const asked = static_cast<double>(range / shape.stride) * shape.width;
                costs.reads.push_back({shape.width, shape.stride, asked / once->seconds / 1e9});
            }
        }
        auto const largest = range_for(rules_.longest_touch_s);
        for (auto const bytes : plan_.whole ? std::span<const std::uint64_t>(whole_touches)
                                            : std::span<const std::uint64_t>(short_touches)) {
            if (bytes > largest) {
                break;
            }
            if (auto const once = touch(bytes, {16, 16})) {
                costs.touches.push_back(*once);
            }
        }
        if (plan_.whole) {
            lines(costs);
        }
        if (plan_.atomics) {
            auto const adds = [&](std::uint32_t lanes) {
                return [this, lanes](std::uint32_t rounds) {
                    AddArguments const a{base_, lanes, rounds};
                    return launched(add_kernel, &a);
                };
            };
            costs.dependent_fetch_add_s = per_round(dependent_adds, adds(1));
            if (auto const round = per_round(add_rounds, adds(add_lanes))) {
                costs.fetch_add_s = *round / add_lanes;
            }
        }
        return costs;
    }

  private:
    /// Seconds on the device around one launch.
    double launched(const Kernel& kernel, const void* arguments) {
        auto const start = bench_.timer(plan_.accessor, 0);
        auto const end = bench_.timer(plan_.accessor, 1);
        driver_.record(start, stream_);
        driver_.launch(stream_, kernel, arguments);
        driver_.record(end, stream_);
        bench_.finish(stream_, most_);
        return driver_.elapsed(start, end);
    }

    template <class Launch>
    Summary rounds_of(Rounds rounds, const Launch& launch) {
        static_cast<void>(launch(rounds.few));  // warms up
        return summarize(bench_.sampled(rules_.stop, [&] {
            auto const few = launch(rounds.few);
            return (launch(rounds.many) - few) / (rounds.many - rounds.few);
        }));
    }

    template <class Launch>
    std::optional<double> per_round(Rounds rounds, const Launch& launch) {
        auto const summary = rounds_of(rounds, launch);
        return summary.median > 0 ? std::optional(summary.median) : std::nullopt;
    }

    /// As much as is read within that time, by what reading a MiB took, in powers of two and not less than that.
    std::uint64_t range_for(double seconds) {
        auto const bytes = std::min(mebi, most_);
        if (!mebi_s_) {
            auto const once = touch(bytes, {16, 16});
            mebi_s_ = once ? once->seconds : 0;
        }
        auto range = most_;
        while (range > bytes && *mebi_s_ * static_cast<double>(range) / static_cast<double>(bytes) > seconds) {
            range /= 2;
        }
        return range;
    }

    /// Reading so many bytes once; rounds follow each other closely.
    std::optional<CurvePoint> touch(std::uint64_t bytes, Shape shape) {
        auto const launch = [&](std::uint32_t rounds) {
            TouchArguments const a{base_, bytes, shape.stride, rounds, shape.width};
            return launched(touch_kernel, &a);
        };
        static_cast<void>(launch(1));
        auto const guess = (launch(3) - launch(1)) / 2;
        auto const wanted = guess > 0 ? std::ceil(touched_s / guess) : most_rounds;
        auto const many = 1 + static_cast<std::uint32_t>(std::clamp(wanted, 1.0, double{most_rounds}));
        auto const summary = rounds_of({1, many}, launch);
        return summary.median > 0 ? std::optional(CurvePoint{bytes, summary.median, summary.spread}) : std::nullopt;
    }

    /// One line read again and again, alone and while its owner writes it.
    void lines(AccessCosts& costs) {
        auto const read = [&](std::uint32_t batches) {
            LineArguments const a{base_, batches};
            return launched(line_kernel, &a);
        };
        auto const batch = per_round(line_batches, read);
        if (!batch) {
            return;
        }
        costs.line_s = *batch / LineArguments::batch;
        if (!plan_.place.is_device() || plan_.place.index == plan_.accessor) {
            return;
        }
        auto const alone_s = summarize(bench_.sampled(rules_.stop, [&] { return read(line_batches.many); })).median;
        auto const launch_s = alone_s - *batch * line_batches.many;
        if (auto const beside = beside_writer(alone_s, read)) {
            auto const reads = double{line_batches.many} * LineArguments::batch;
            auto const each = (*beside - launch_s) / reads;
            costs.contended_line_s = each > 0 ? std::optional(each) : std::nullopt;
        }
    }

    /// Seconds of a launch that reads while the owner writes, from before its first read until after its last. Empty
    /// when the writer cannot be made to last.
    template <class Read>
    std::optional<double> beside_writer(double alone_s, const Read& read) {
        auto const owner = plan_.place.index;
        auto const stream = bench_.stream(owner);
        auto const begin = bench_.timer(owner, 2);
        auto const end = bench_.timer(owner, 3);
        auto const write = [&](std::uint32_t stores) {
            ScribbleArguments const a{base_, stores};
            driver_.record(begin, stream);
            driver_.launch(stream, scribble_kernel, &a);
            driver_.record(end, stream);
        };
        constexpr std::uint32_t few = 256, more = 1024;
        double seconds[2] = {};
        for (auto const round : {0, 1, 1}) {  // once more, warm
            write(round == 0 ? few : more);
            bench_.finish(stream, most_);
            seconds[round] = driver_.elapsed(begin, end);
        }
        auto const store_s = std::max((seconds[1] - seconds[0]) / (more - few), 0.1e-9);
        auto stores = (4 * alone_s + 60e-6) / store_s;
        for (int attempt = 0; attempt < 3; ++attempt, stores *= 4) {
            if (stores > ScribbleArguments::most_stores) {
                return std::nullopt;
            }
            bool lasted = true;
            auto const samples = bench_.sampled(rules_.stop, [&] {
                write(static_cast<std::uint32_t>(stores));
                auto const read_s = read(line_batches.many);
                lasted = lasted && !driver_.query(end);
                bench_.finish(stream, most_);
                return read_s;
            });
            if (lasted) {
                return summarize(samples).median;
            }
        }
        return std::nullopt;
    }

    Bench& bench_;
    Driver& driver_;
    AccessPlan plan_;
    AccessRules rules_;
    StreamView stream_;
    Address base_ = Address::null;
    std::uint64_t most_ = 0;
    std::optional<double> mebi_s_{};
};

}  // namespace

AccessCosts measure_access(Bench& bench, const AccessPlan& plan, const AccessRules& rules) {
    AccessCosts costs;
    costs.accessor = plan.accessor;
    costs.place = plan.place;
    if (plan.place.is_device() && !bench.map(plan.accessor, plan.place.index)) {
        return costs;
    }
    return AccessProbe(bench, plan, rules).result();
}

}  // namespace peerlane::measuring
