#include "measure/leg_probe.hpp"

#include <algorithm>
#include <cmath>

#include "measure/statistics.hpp"

namespace peerlane::measuring {
namespace {

/// Timed stretches of a queue: long enough that the clock's resolution (0.5 us) and the event between two of them do
/// not count, at most so many transfers, so that all of them fit into the driver's queue.
constexpr double stretch_s = 200e-6;
constexpr int most_in_stretch = 8;
constexpr std::size_t stretches = 6;
constexpr std::size_t few = 3;
constexpr std::uint64_t mebi = 1024 * 1024;  ///< time of smaller sizes is not in proportion

CurvePoint point_of(std::uint64_t bytes, const std::vector<double>& samples) {
    auto const summary = summarize(samples);
    return {bytes, summary.median, summary.spread};
}

class LegProbe {
  public:
    LegProbe(Bench& bench, const Leg& leg, const LegRules& rules)
        : bench_(bench), driver_(bench.driver()), leg_(leg), rules_(rules), stream_(bench.stream(leg.issuer.index)) {
        auto const& from = bench.memory(leg.from);
        auto const& to = bench.memory(leg.to);
        from_ = from.location();
        to_ = to.location();
        rules_.steps.last = std::min({rules_.steps.last, from.bytes(), to.bytes()});
    }

    LegCurve result() {
        LegCurve curve;
        curve.leg = leg_;
        for (auto const bytes : coarse_sizes(rules_.steps)) {
            add(curve, bytes);
            if (curve.curve.points.empty() || curve.curve.points.back().seconds > rules_.most_transfer_s) {
                break;
            }
        }
        try {
            while (auto const bytes = next(curve)) {
                add(curve, *bytes);
            }
        } catch (const Stopped&) {  // the coarse row is a curve already; whoever asks next stops at once
        }
        return curve;
    }

  private:
    [[nodiscard]] std::optional<std::uint64_t> next(const LegCurve& curve) const {
        auto const by_single = next_size(curve.curve.points, rules_.steps);
        return by_single ? by_single : next_size(curve.queued.points, rules_.steps);
    }

    void add(LegCurve& curve, std::uint64_t bytes) {
        auto const expected_s = expected(curve.curve, bytes);
        auto rule = rules_.stop;
        if (expected_s > rules_.very_long_s) {
            insert(curve.curve, {bytes, single(bytes), -1});
            return;
        }
        if (expected_s > rules_.long_s) {
            rule.least = rule.most = few;
        }
        auto const once = single_point(bytes, rule);
        auto const queued = queued_point(bytes, once.seconds, rule);
        insert(curve.curve, once);
        insert(curve.queued, queued);
    }

    /// In proportion to the largest size so far.
    static double expected(const Curve& curve, std::uint64_t bytes) {
        if (curve.points.empty()) {
            return 0;
        }
        auto const& last = curve.points.back();
        return last.seconds * static_cast<double>(bytes) / static_cast<double>(std::max(last.bytes, mebi));
    }

    static void insert(Curve& curve, const CurvePoint& point) {
        if (!(point.seconds > 0)) {  // below the resolution of the clock
            return;
        }
        auto const after = std::upper_bound(curve.points.begin(), curve.points.end(), point,
                                            [](auto const& a, auto const& b) { return a.bytes < b.bytes; });
        curve.points.insert(after, point);
    }

    double single(std::uint64_t bytes) {
        auto const start = driver_.now();
        bench_.issue(leg_, stream_, to_, from_, bytes);
        driver_.synchronize(stream_);
        return driver_.now() - start;
    }

    CurvePoint single_point(std::uint64_t bytes, const StopRule& rule) {
        bench_.look();
        bench_.issue(leg_, stream_, to_, from_, bytes);  // first of its size: warms up, and shows that it ends
        bench_.finish(stream_, bytes);
        driver_.synchronize(stream_);
        return point_of(bytes, bench_.sampled(rule, [&] { return single(bytes); }));
    }

    /// Behind others of the stream. The stop rule looks at what it costs to find out.
    CurvePoint queued_point(std::uint64_t bytes, double single_s, const StopRule& rule) {
        auto const device = leg_.issuer.index;
        auto const count = std::clamp(static_cast<int>(std::ceil(stretch_s / single_s)), 1, most_in_stretch);
        // A transfer that takes long would show its spread at a price: as few as have one.
        auto const dear = single_s * static_cast<double>(stretches) > rule.budget_s;
        auto const timed = std::min(dear ? least_for_spread : stretches, rule.most);
        std::vector<double> samples;
        double spent = 0;
        while (samples.empty() || (spent < rule.budget_s && !enough(samples, rule))) {
            bench_.look();
            auto const start = driver_.now();
            bench_.issue(leg_, stream_, to_, from_, bytes);  // what the first timed one stands behind
            driver_.record(bench_.timer(device, 0), stream_);
            for (std::size_t i = 1; i <= timed; ++i) {
                for (int k = 0; k < count; ++k) {
                    bench_.issue(leg_, stream_, to_, from_, bytes);
                }
                driver_.record(bench_.timer(device, i), stream_);
            }
            bench_.finish(stream_, bytes * static_cast<std::uint64_t>(count) * timed);
            for (std::size_t i = 1; i <= timed; ++i) {
                samples.push_back(driver_.elapsed(bench_.timer(device, i - 1), bench_.timer(device, i)) / count);
            }
            spent += driver_.now() - start;
        }
        return point_of(bytes, samples);
    }

    Bench& bench_;
    Driver& driver_;
    Leg leg_;
    LegRules rules_;
    StreamView stream_;
    Location from_, to_;
};

}  // namespace

std::optional<LegCurve> measure_leg(Bench& bench, const Leg& leg, const LegRules& rules) {
    if (!bench.map(leg)) {
        return std::nullopt;
    }
    return LegProbe(bench, leg, rules).result();
}

}  // namespace peerlane::measuring
