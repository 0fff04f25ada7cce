#include "plan/score.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "model/split.hpp"

namespace peerlane::plan {
namespace {

/// From an event to a stream of another device that waits for it (h200-pair: part of what a staged chunk costs beside
/// its bytes).
constexpr double handoff_s = 1e-6;
/// What a chunk on its way to the host costs beside its time while the same device has a long copy to a peer under way,
/// where nobody measured the routes together (two H200, bench/results splits: 6 chunks of 1 MiB took 57 us more than
/// alone, 14 of 8 MiB 134 us; beside copies from and to the host there was no such cost).
constexpr double beside_s = 9e-6;
/// Small enough to tell what is spent once for a transfer that somebody waits for.
constexpr double small_bytes = 4096;
constexpr double granule = 4096;  ///< shares are carried out in multiples of it
constexpr double giga = 1e9;
constexpr double nearest_power = 1.41;     ///< of two: what lies below is rounded down
constexpr std::uint64_t least_chunks = 8;  ///< of a pipeline beside others, which share the chunks of a copy

double per_byte(double rate) {
    return 1 / rate;
}

}  // namespace

Scorer::Scorer(const LegCosts& costs, const Load& load, std::uint64_t staging_bytes)
    : load_(&load), host_(costs.profile().host_costs) {
    limits_.memory = staging_bytes;
}

double Scorer::issue_s(const Lane& lane) const {
    // Each leg: the copy, a wait before it and a record behind it.
    return static_cast<double>(lane.legs.size()) * (host_.copy_call_s + 2 * host_.event_s);
}

/// Streams of the lane wait for the caller's, and for whoever had its buffers before.
double Scorer::begin_s(const Lane& lane) const {
    return (2 * static_cast<double>(lane.legs.size()) - 1) * host_.event_s;
}

Scorer::Timed Scorer::timed(const Lane& lane, double rate, std::uint64_t bytes, const Beside& beside,
                            std::uint64_t chunk) const {
    auto const size = static_cast<double>(bytes);
    auto const legs = static_cast<double>(lane.legs.size());
    auto const slower = [&](const LegCost& cost) { return std::max(0.0, per_byte(rate) - per_byte(cost.rate)); };
    // Streams of its own, which the caller's stream joins at the begin and at the end.
    auto const joining = (2 + legs) * host_.event_s + handoff_s;
    if (lane.legs.size() == 1) {
        auto const& cost = lane.costs.front();
        auto const more = slower(cost);
        return {cost.once.seconds(size) + more * size + (lane.at_home() ? 0.0 : joining) + beside.issued_s,
                std::max(cost.once.slope(size) + more, 1e-15),
                {}};
    }
    model::Pipeline pipeline;
    pipeline.handoff_s = handoff_s;
    pipeline.issue_s = issue_s(lane);
    pipeline.other_issue_s = beside.issue_s;
    auto const slowest = lane.rate();
    for (auto const& cost : lane.costs) {
        // What the lane loses to others, or to itself, it loses where it is slowest.
        auto const lost = cost.rate <= slowest ? slower(cost) : 0.0;
        auto const waits = &cost == &lane.costs.front() ? beside.wait_s : 0.0;
        auto const stage = pipeline.stages.size();
        pipeline.stages.push_back(lost > 0 || waits > 0 ? cost.queued + model::Cost::linear(waits, lost) : cost.queued);
        // Alone, a lane's own legs are what it loses to.
        pipeline.ends.push_back(beside.crowd.empty() ? -lost
                                                     : std::max(0.0, (beside.crowd[stage] - 1) / cost.rate - lost));
    }
    auto const& first = lane.costs.front();
    auto const once = std::max(1e-6, first.once.seconds(small_bytes) - first.queued.seconds(small_bytes));
    auto const most = std::max(least_chunks, limits_.chunks / std::max<std::uint64_t>(beside.pipelines, 1));
    Timed timed;
    if (chunk == 0) {
        auto limits = limits_;
        limits.chunks = most;
        timed.chunking = model::best_chunk(pipeline, bytes, limits);
    } else {
        auto const chunks = model::chunk_sizes(bytes, chunk, most);
        auto const fit = std::clamp<std::uint64_t>(limits_.memory / chunk, 1, chunks.size());
        timed.chunking = {chunk, static_cast<int>(std::min<std::uint64_t>(fit, static_cast<unsigned>(limits_.buffers))),
                          0};
        timed.chunking.seconds = model::seconds(pipeline, chunks, timed.chunking.buffers);
    }
    timed.seconds = once + joining + beside.issued_s + timed.chunking.seconds;
    timed.s_per_byte = model::s_per_byte(pipeline, static_cast<double>(timed.chunking.chunk));
    return timed;
}

Scored Scorer::one(const Lane& lane, std::uint64_t bytes) const {
    const Stream* const stream = &lane.load;
    auto const rate = load_->rates({&stream, 1}).front();
    auto const time = timed(lane, rate, bytes, {});
    return {{{1.0, lane.legs, time.chunking.chunk, time.chunking.buffers}}, time.seconds, {rate / giga}};
}

std::vector<Scorer::Beside> Scorer::beside(const std::vector<const Lane*>& lanes) const {
    // Single legs first, one after the other; then all pipelines begin, and their chunks come in turns.
    std::vector<Beside> all(lanes.size());
    double singles = 0, begins = 0, chunks = 0;
    std::uint64_t pipelines = 0;
    for (auto const* lane : lanes) {
        auto const pipelined = lane->legs.size() > 1;
        begins += pipelined ? begin_s(*lane) : 0.0;
        chunks += pipelined ? issue_s(*lane) : 0.0;
        pipelines += pipelined ? 1 : 0;
    }
    std::vector<const Stream*> streams;
    for (auto const* lane : lanes) {
        streams.push_back(&lane->load);
    }
    auto const waits = load_->chunk_waits(streams);
    double before = 0;  // of a round of chunks
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        if (lanes[i]->legs.size() == 1) {
            all[i].issued_s = singles;
            singles += host_.copy_call_s + 2 * host_.event_s;
            continue;
        }
        auto const& first = lanes[i]->legs.front();
        auto const pushes = first.to.is_host() && std::any_of(lanes.begin(), lanes.end(), [&](const Lane* other) {
                                auto const& leg = other->legs.front();
                                return other->legs.size() == 1 && leg.from == first.from && leg.to.is_device();
                            });
        all[i].wait_s = waits.empty() ? (pushes ? beside_s : 0.0) : waits[i];
        all[i].issued_s = singles + begins - begin_s(*lanes[i]) + before;
        all[i].issue_s = chunks - issue_s(*lanes[i]);
        all[i].pipelines = pipelines;
        for (std::size_t leg = 0; leg < lanes[i]->legs.size() && lanes.size() > 1; ++leg) {
            all[i].crowd.push_back(load_->crowd(streams, i, leg));
        }
        before += issue_s(*lanes[i]);
    }
    return all;
}

/// Copies of one engine come in turns, so pipelines that meet get what their chunks are to each other: as many of each,
/// that each gets its part. 0: as is best for itself.
std::vector<std::uint64_t> Scorer::even_chunks(const std::vector<Beside>& around, const std::vector<double>& parts,
                                               const std::vector<Timed>& times) const {
    std::vector<std::uint64_t> chunks(parts.size(), 0);
    std::vector<std::size_t> meet;
    double most = 1;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        auto const& crowd = around[i].crowd;
        if (std::any_of(crowd.begin(), crowd.end(), [](double times_longer) { return times_longer > 1.05; })) {
            meet.push_back(i);
            most = std::max(most, std::ceil(parts[i] / static_cast<double>(times[i].chunking.chunk)));
        }
    }
    auto const largest = std::max(std::bit_floor(limits_.memory / 2), limits_.least);
    for (auto const i : meet) {
        auto const even = std::bit_floor(static_cast<std::uint64_t>(parts[i] / most * nearest_power));
        chunks[i] = meet.size() > 1 ? std::clamp(even, limits_.least, largest) : 0;
    }
    return chunks;
}

Scored Scorer::together(std::vector<const Lane*> lanes, std::uint64_t bytes) const {
    std::stable_sort(lanes.begin(), lanes.end(),
                     [](const Lane* a, const Lane* b) { return a->legs.size() < b->legs.size(); });
    std::vector<const Stream*> streams;
    for (auto const* lane : lanes) {
        streams.push_back(&lane->load);
    }
    Scored scored;
    auto const rates = load_->rates(streams, &scored.guessed);
    auto const around = beside(lanes);
    auto const size = static_cast<double>(bytes);
    double all = 0;
    for (auto const rate : rates) {
        all += rate;
    }
    std::vector<double> parts;
    for (auto const rate : rates) {
        parts.push_back(size * rate / all);
    }
    // The cost of a lane is not straight in its bytes, and its chunk depends on them: solved for what it is near the
    // parts of the round before.
    std::vector<Timed> times(lanes.size());
    std::vector<model::Finisher> ways(lanes.size());
    for (int round = 0; round < 5; ++round) {
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            auto const part = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(parts[i]));
            times[i] = timed(*lanes[i], rates[i], part, around[i]);
            ways[i] = {times[i].seconds - static_cast<double>(part) * times[i].s_per_byte, times[i].s_per_byte};
        }
        parts = model::equal_finish(ways, size).bytes;
        if (*std::min_element(parts.begin(), parts.end()) < 2 * granule) {
            return {};
        }
    }
    // More chunks than a copy may have, of the largest that memory allows, go the way that needs none.
    auto const room =
        static_cast<double>(limits_.chunks * std::bit_floor(std::max<std::uint64_t>(limits_.memory / 2, 1)));
    for (std::size_t i = 1; i < lanes.size() && lanes.front()->legs.size() == 1; ++i) {
        if (lanes[i]->legs.size() > 1 && parts[i] > room) {
            parts.front() += parts[i] - room;
            parts[i] = room;
        }
    }
    auto const chunks = even_chunks(around, parts, times);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        auto const time = timed(*lanes[i], rates[i], static_cast<std::uint64_t>(parts[i]), around[i], chunks[i]);
        scored.seconds = std::max(scored.seconds, time.seconds);
        scored.routes.push_back({parts[i] / size, lanes[i]->legs, time.chunking.chunk, time.chunking.buffers});
        scored.loaded_gbs.push_back(rates[i] / giga);
    }
    return scored;
}

double Scorer::given(const std::vector<Lane>& lanes, const std::vector<Route>& routes, std::uint64_t bytes) const {
    std::vector<const Lane*> all;
    std::vector<const Stream*> streams;
    for (auto const& lane : lanes) {
        all.push_back(&lane);
        streams.push_back(&lane.load);
    }
    auto const rates = load_->rates(streams);
    auto const around = beside(all);
    double longest = 0;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        auto const part = std::max(1.0, routes[i].share * static_cast<double>(bytes));
        auto const chunk = lanes[i].legs.size() > 1 ? std::max<std::uint64_t>(routes[i].chunk, 1) : 0;
        auto const time = timed(lanes[i], rates[i], static_cast<std::uint64_t>(part), around[i], chunk);
        longest = std::max(longest, time.seconds);
    }
    return longest;
}

}  // namespace peerlane::plan
