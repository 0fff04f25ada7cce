#include "measure/group_probe.hpp"

#include <algorithm>
#include <cmath>

#include "measure/statistics.hpp"

namespace peerlane::measuring {
namespace {

constexpr int fewest_transfers = 6;  ///< of the slowest leg
constexpr int most_transfers = 240;  ///< in one stream
constexpr int most_corrections = 4;
constexpr double close_enough = 0.15;  ///< of the longest time: how much earlier another leg may end
constexpr double longest_transfer_s = 2e-3;
constexpr std::uint64_t least_bytes = 256 * 1024;
/// Transfers at either end that are not counted, part of all.
constexpr int trimmed_part = 6;

/// Seconds of one transfer in a queue, in proportion to the largest measured size where that is smaller.
double seconds_of(const LegCurve& curve, std::uint64_t bytes) {
    auto const& points = curve.queued.points.empty() ? curve.curve.points : curve.queued.points;
    auto const at = std::find_if(points.begin(), points.end(), [&](const CurvePoint& p) { return p.bytes >= bytes; });
    auto const& point = at == points.end() ? points.back() : *at;
    return point.seconds * static_cast<double>(bytes) / static_cast<double>(point.bytes);
}

}  // namespace

const LegCurve* GroupProbe::best_leg(const Move& move, std::uint64_t bytes) const {
    const LegCurve* best = nullptr;
    for (auto const& curve : legs_) {
        if (curve.leg.from != move.first || curve.leg.to != move.second || curve.curve.points.empty()) {
            continue;
        }
        auto const better = best == nullptr ||
                            (curve.leg.engine == best->leg.engine ? seconds_of(curve, bytes) < seconds_of(*best, bytes)
                                                                  : curve.leg.engine == Engine::copy);
        best = better ? &curve : best;
    }
    return best;
}

std::uint64_t GroupProbe::bytes_for(const GroupPlan& plan) const {
    auto bytes = rules_.bytes;
    for (auto const& move : plan.moves) {
        for (auto const place : {move.first, move.second}) {
            while (bytes > least_bytes && bytes * 4 > bench_.memory(place).bytes()) {
                bytes /= 2;
            }
        }
        auto const* const leg = best_leg(move, bytes);
        while (leg != nullptr && bytes > least_bytes && seconds_of(*leg, bytes) > longest_transfer_s) {
            bytes /= 2;
        }
    }
    return bytes;
}

bool GroupProbe::map_all(const std::vector<Running>& running) {
    // Twice: where slots are few, mapping one leg may have taken another's away.
    for (int round = 0; round < 2; ++round) {
        for (auto const& one : running) {
            if (!bench_.map(one.leg)) {
                return false;
            }
        }
    }
    return true;
}

/// Each leg gets memory of its own at both places, as far as there is enough.
void GroupProbe::place(std::vector<Running>& running, std::uint64_t bytes) {
    std::map<Place, std::uint64_t> taken;
    auto const next = [&](Place where) {
        auto const& memory = bench_.memory(where);
        auto const offset = taken[where]++ * bytes % (memory.bytes() / bytes * bytes);
        return memory.location(offset);
    };
    for (auto& one : running) {
        one.from = next(one.leg.from);
        one.to = next(one.leg.to);
    }
}

void GroupProbe::run(std::vector<Running>& running, std::uint64_t bytes) {
    bench_.look();
    auto& driver = bench_.driver();
    std::map<int, std::size_t> timers;  // events used so far, by device
    struct Lane {
        StreamView stream;
        int first = 0, last = 0;  // transfers after which the timed stretch begins and ends
        EventView begin, end, start, finish;
    };
    std::vector<Lane> lanes;
    std::map<int, std::size_t> streams;
    int rounds = 0;
    for (auto const& one : running) {
        auto const device = one.leg.issuer.index;
        Lane lane;
        lane.stream = bench_.stream(device, streams[device]++);
        auto const trimmed = std::max(1, one.transfers / trimmed_part);
        lane.first = trimmed;
        lane.last = std::max(one.transfers - trimmed, trimmed + 1);
        for (auto* const event : {&lane.begin, &lane.end, &lane.start, &lane.finish}) {
            *event = bench_.timer(device, timers[device]++);
        }
        lanes.push_back(lane);
        rounds = std::max(rounds, one.transfers);
    }
    // In turns, so that none of them starts late.
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < running.size(); ++i) {
            auto const& one = running[i];
            auto const& lane = lanes[i];
            if (round >= one.transfers) {
                continue;
            }
            if (round == 0) {
                driver.record(lane.start, lane.stream);
            }
            bench_.issue(one.leg, lane.stream, one.to, one.from, bytes);
            for (auto const& [at, event] : {std::pair(lane.first, lane.begin), std::pair(lane.last, lane.end),
                                            std::pair(one.transfers, lane.finish)}) {
                if (round + 1 == at) {
                    driver.record(event, lane.stream);
                }
            }
        }
    }
    for (std::size_t i = 0; i < running.size(); ++i) {
        bench_.finish(lanes[i].stream, bytes * static_cast<std::uint64_t>(running[i].transfers) * running.size());
    }
    for (std::size_t i = 0; i < running.size(); ++i) {
        auto const moved = static_cast<double>(bytes) * (lanes[i].last - lanes[i].first);
        running[i].seconds = driver.elapsed(lanes[i].start, lanes[i].finish);
        auto const timed = driver.elapsed(lanes[i].begin, lanes[i].end);
        running[i].gbs = timed > 0 ? moved / timed / 1e9 : 0;
    }
}

double GroupProbe::alone_gbs(Running running, std::uint64_t bytes) {
    auto const& leg = running.leg;
    auto const key = std::tuple(leg.from, leg.to, leg.engine, leg.issuer, bytes);
    auto found = alone_.find(key);
    if (found == alone_.end()) {
        running.transfers = fewest_transfers + 2;
        std::vector<Running> one{running};
        std::vector<double> rates;
        for (int i = 0; i < rules_.runs; ++i) {
            run(one, bytes);
            rates.push_back(one[0].gbs);
        }
        found = alone_.emplace(key, summarize(rates).median).first;
    }
    return found->second;
}

std::optional<LoadedGroup> GroupProbe::measure(const GroupPlan& plan) {
    std::vector<Running> running;
    for (auto const& move : plan.moves) {
        auto const* const best = best_leg(move, rules_.bytes);
        if (best == nullptr) {
            return std::nullopt;
        }
        running.push_back({best->leg, {}, {}, 0, 0, 0});
    }
    auto const bytes = bytes_for(plan);
    if (!map_all(running)) {
        return std::nullopt;
    }
    place(running, bytes);

    LoadedGroup group{plan.name, bytes, {}};
    double longest = 0;
    for (auto const& one : running) {
        auto const alone = alone_gbs(one, bytes);
        if (!(alone > 0)) {
            return std::nullopt;
        }
        group.legs.push_back({one.leg, alone, 0});
        longest = std::max(longest, static_cast<double>(bytes) / alone / 1e9);
    }
    // As often as fits into the time of the slowest, as if none of them disturbed another.
    for (std::size_t i = 0; i < running.size(); ++i) {
        auto const one_s = static_cast<double>(bytes) / group.legs[i].alone_gbs / 1e9;
        running[i].transfers = std::clamp(static_cast<int>(std::lround(fewest_transfers * longest / one_s)),
                                          fewest_transfers, most_transfers);
    }
    for (int correction = 0; correction < most_corrections; ++correction) {
        run(running, bytes);
        double latest = 0;
        for (auto const& one : running) {
            latest = std::max(latest, one.seconds);
        }
        bool changed = false;
        for (auto& one : running) {
            if (one.seconds > (1 - close_enough) * latest || one.transfers >= most_transfers) {
                continue;
            }
            auto const wanted = static_cast<int>(std::lround(one.transfers * latest / one.seconds));
            changed = changed || wanted != one.transfers;
            one.transfers = std::clamp(wanted, fewest_transfers, most_transfers);
        }
        if (!changed) {
            break;
        }
    }
    std::vector<std::vector<double>> rates(running.size());
    for (int i = 0; i < rules_.runs; ++i) {
        run(running, bytes);
        for (std::size_t j = 0; j < running.size(); ++j) {
            rates[j].push_back(running[j].gbs);
        }
    }
    for (std::size_t j = 0; j < running.size(); ++j) {
        group.legs[j].gbs = summarize(rates[j]).median;
        if (!(group.legs[j].gbs > 0)) {
            return std::nullopt;
        }
    }
    return group;
}

}  // namespace peerlane::measuring
