#include "measure/plan_probe.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "measure/statistics.hpp"

namespace peerlane::measuring {
namespace {

constexpr int buffers = 4;
constexpr std::uint64_t least_chunk = 64 << 10, most_chunk = 8 << 20;
constexpr int most_transfers = 64, fewest_chunks = 9, usual_chunks = 32, most_chunks = 120;
constexpr int most_corrections = 4;
constexpr double close_enough = 0.1;  ///< of the longest time: how much earlier a route may end
constexpr int trimmed_part = 6;       ///< of the chunks, at either end, that are not counted
constexpr std::uint64_t granule = 4096;
constexpr std::uint64_t small_part = 8;  ///< of a chunk: one of the small ones
constexpr double small_run_part = 4;

}  // namespace

/// One route under way.
struct PlanProbe::Lane {
    std::vector<StreamView> streams{};                        // one a leg
    std::vector<std::vector<EventView>> filled{}, drained{};  // [between two legs][buffer]
    std::vector<std::vector<Location>> rings{};               // the same
    Location from, to;
    EventView start, begin, end, finish;
};

const LegCurve* PlanProbe::curve_of(const Leg& leg) const {
    auto const found =
        std::find_if(legs_.begin(), legs_.end(), [&](const LegCurve& curve) { return curve.leg == leg; });
    return found == legs_.end() || found->curve.points.empty() ? nullptr : &*found;
}

/// So many bytes, as far as there is memory for them.
void PlanProbe::size(Running& running, double bytes) const {
    auto const& legs = *running.legs;
    if (legs.size() == 1) {
        auto const room = std::min(bench_.memory(legs[0].from).bytes(), bench_.memory(legs[0].to).bytes());
        auto const wanted = static_cast<std::uint64_t>(bytes) / granule * granule;
        running.chunks = static_cast<int>(std::clamp<std::uint64_t>((wanted + room / 2) / room, 1, most_transfers));
        running.chunk = std::clamp(wanted / static_cast<unsigned>(running.chunks) / granule * granule, granule, room);
        return;
    }
    if (running.chunk == 0) {
        running.chunk =
            std::clamp(std::bit_floor(static_cast<std::uint64_t>(bytes) / usual_chunks + 1), least_chunk, most_chunk);
        for (auto const& leg : legs) {
            for (auto const place : {leg.from, leg.to}) {
                while (running.chunk > least_chunk && running.chunk * 16 > bench_.memory(place).bytes()) {
                    running.chunk /= 2;
                }
            }
        }
    }
    running.chunks = std::clamp(static_cast<int>(std::lround(bytes / static_cast<double>(running.chunk))),
                                fewest_chunks, most_chunks);
}

/// Memory that is not taken yet, as far as there is enough.
Location PlanProbe::next(Place place, std::uint64_t bytes) {
    auto const& memory = bench_.memory(place);
    auto& taken = taken_[place];
    if (taken + bytes > memory.bytes()) {
        taken = 0;
    }
    auto const where = memory.location(taken);
    taken += bytes;
    return where;
}

PlanProbe::Lane PlanProbe::lane_of(const Running& running) {
    Lane lane;
    auto const& legs = *running.legs;
    auto const event = [&](int device) { return bench_.timer(device, timers_[device]++); };
    for (auto const& leg : legs) {
        lane.streams.push_back(bench_.stream(leg.issuer.index, streams_[leg.issuer.index]++));
    }
    lane.from = next(legs.front().from, running.chunk);
    lane.to = next(legs.back().to, running.chunk);
    for (std::size_t i = 0; i + 1 < legs.size(); ++i) {
        lane.filled.emplace_back();
        lane.drained.emplace_back();
        lane.rings.emplace_back();
        for (int b = 0; b < buffers; ++b) {
            lane.filled[i].push_back(event(legs[i].issuer.index));
            lane.drained[i].push_back(event(legs[i + 1].issuer.index));
            lane.rings[i].push_back(next(legs[i].to, running.chunk));
        }
    }
    for (auto* const which : {&lane.start, &lane.begin, &lane.end, &lane.finish}) {
        *which = event(legs.back().issuer.index);
    }
    return lane;
}

void PlanProbe::issue_chunk(const Running& running, Lane& lane, int number) {
    auto& driver = bench_.driver();
    auto const& legs = *running.legs;
    auto const b = static_cast<std::size_t>(number % buffers);
    auto const trimmed = std::max(1, running.chunks / trimmed_part);
    if (number == 0) {
        driver.record(lane.start, lane.streams.back());
    }
    for (std::size_t i = 0; i < legs.size(); ++i) {
        auto const first = i == 0, final = i + 1 == legs.size();
        if (!first) {
            driver.wait(lane.streams[i], lane.filled[i - 1][b]);
        }
        if (!final && number >= buffers) {
            driver.wait(lane.streams[i], lane.drained[i][b]);
        }
        bench_.issue(legs[i], lane.streams[i], final ? lane.to : lane.rings[i][b],
                     first ? lane.from : lane.rings[i - 1][b], running.chunk);
        if (!final) {
            driver.record(lane.filled[i][b], lane.streams[i]);
        }
        if (!first && number + buffers < running.chunks) {
            driver.record(lane.drained[i - 1][b], lane.streams[i]);
        }
    }
    for (auto const& [at, event] : {std::pair(trimmed, lane.begin), std::pair(running.chunks - trimmed, lane.end),
                                    std::pair(running.chunks, lane.finish)}) {
        if (number + 1 == at) {
            driver.record(event, lane.streams.back());
        }
    }
}

void PlanProbe::run(std::vector<Running>& running) {
    bench_.look();
    auto& driver = bench_.driver();
    taken_.clear();
    streams_.clear();
    timers_.clear();
    std::vector<Lane> lanes;
    auto most = 0;
    double bytes = 0;
    for (auto const& one : running) {
        lanes.push_back(lane_of(one));
        most = std::max(most, one.chunks);
        bytes += static_cast<double>(one.chunk) * one.chunks;
    }
    for (int number = 0; number < most; ++number) {
        for (std::size_t i = 0; i < running.size(); ++i) {
            if (number < running[i].chunks) {
                issue_chunk(running[i], lanes[i], number);
            }
        }
    }
    for (auto const& lane : lanes) {
        bench_.finish(lane.streams.back(), static_cast<std::uint64_t>(bytes));
    }
    for (std::size_t i = 0; i < running.size(); ++i) {
        auto& one = running[i];
        one.seconds = driver.elapsed(lanes[i].start, lanes[i].finish);
        auto const trimmed = std::max(1, one.chunks / trimmed_part);
        auto const whole = one.legs->size() == 1;
        auto const timed = whole ? one.seconds : driver.elapsed(lanes[i].begin, lanes[i].end);
        auto const counted = whole ? one.chunks : one.chunks - 2 * trimmed;
        one.rate = timed > 0 ? static_cast<double>(one.chunk) * counted / timed : 0;
    }
}

bool PlanProbe::close(const std::vector<Running>& running) {
    auto const [earliest, latest] = std::minmax_element(
        running.begin(), running.end(), [](const Running& a, const Running& b) { return a.seconds < b.seconds; });
    return earliest->seconds > (1 - close_enough) * latest->seconds;
}

std::optional<LoadedPlan> PlanProbe::measure(const std::vector<std::vector<Leg>>& routes) {
    std::vector<Running> running;
    for (auto const& legs : routes) {
        Running one;
        one.legs = &legs;
        for (auto const& leg : legs) {
            auto const* const curve = curve_of(leg);
            if (curve == nullptr) {
                return std::nullopt;
            }
            auto const& points = curve->queued.points.empty() ? curve->curve.points : curve->queued.points;
            auto const rate = static_cast<double>(points.back().bytes) / points.back().seconds;
            one.alone = one.alone > 0 ? std::min(one.alone, rate) : rate;
        }
        running.push_back(one);
    }
    std::stable_sort(running.begin(), running.end(),
                     [](const Running& a, const Running& b) { return a.legs->size() < b.legs->size(); });
    // Twice: where slots are few, mapping one leg may have taken another's away.
    for (int round = 0; round < 2; ++round) {
        for (auto const& one : running) {
            for (auto const& leg : *one.legs) {
                if (!bench_.map(leg)) {
                    return std::nullopt;
                }
            }
        }
    }
    for (auto& one : running) {
        size(one, one.alone * rules_.run_s);
    }
    run(running);
    for (int correction = 0; correction < most_corrections && !close(running); ++correction) {
        for (auto& one : running) {
            size(one, static_cast<double>(one.chunk) * one.chunks / one.seconds * rules_.run_s);
        }
        run(running);
    }
    LoadedPlan plan;
    auto const rates = rates_of(running, rules_.runs);
    for (std::size_t i = 0; i < running.size(); ++i) {
        if (!(rates[i] > 0)) {
            return std::nullopt;
        }
        plan.routes.push_back({*running[i].legs, running[i].chunk, rates[i] / 1e9});
    }
    // Small chunks show what each of them waits for.
    for (auto& one : running) {
        auto const bytes = static_cast<double>(one.chunk) * one.chunks / small_run_part;
        if (one.legs->size() > 1) {
            one.chunk = std::max(one.chunk / small_part, least_chunk);
        }
        size(one, bytes);
    }
    auto const small = rates_of(running, 1);
    for (std::size_t i = 0; i < running.size(); ++i) {
        auto& route = plan.routes[i];
        if (route.legs.size() > 1 && running[i].chunk < route.bytes && small[i] > 0) {
            route.small_bytes = running[i].chunk;
            route.small_gbs = small[i] / 1e9;
        }
    }
    return plan;
}

std::vector<double> PlanProbe::rates_of(std::vector<Running>& running, int runs) {
    std::vector<std::vector<double>> rates(running.size());
    for (int i = 0; i < runs; ++i) {
        run(running);
        auto const together = close(running);
        double latest = 0;
        for (auto const& one : running) {
            latest = std::max(latest, one.seconds);
        }
        for (std::size_t j = 0; j < running.size(); ++j) {
            // Routes that take turns, as those do that need the same engine, have no more than they had in all.
            auto const& one = running[j];
            auto const bytes = static_cast<double>(one.chunk) * one.chunks;
            rates[j].push_back(together ? one.rate : std::min(one.rate, bytes / latest));
        }
    }
    std::vector<double> medians;
    for (auto const& samples : rates) {
        medians.push_back(summarize(samples).median);
    }
    return medians;
}

}  // namespace peerlane::measuring
