#include "plan/decide.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <map>
#include "plan/load_places.hpp"

namespace peerlane::plan {
namespace {

/// Below, a lane's joining costs more than any second lane could carry.
constexpr std::uint64_t least_split = 256 << 10;
/// A lane that adds less to the others than that is not tried.
constexpr double least_part = 0.02;
constexpr std::size_t most_routes = 8;
/// Lanes are tried fastest first; after so many of a kind in a row that gained nothing slower ones of it will not. Of a
/// kind: relays, which lead over the ports of the direct lane, say nothing of the way through the host.
constexpr int most_failures = 3;

/// What a split may be made of: of the direct lanes the best by copy engine (a kernel beside one gained nothing:
/// h200-pair), and every other lane. Those over the same place stand for each other. Fastest first.
std::vector<std::vector<int>> pool_of(const std::vector<Lane>& lanes, const Decision& decision) {
    auto const seconds = [&](int index) { return decision.alone[static_cast<std::size_t>(index)].seconds; };
    std::vector<std::vector<int>> pool;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        if (!decision.alone[i].possible() ||
            (lanes[i].kind == LaneKind::direct && lanes[i].legs[0].engine != Engine::copy)) {
            continue;
        }
        auto const index = static_cast<int>(i);
        auto const same = std::find_if(pool.begin(), pool.end(), [&](const std::vector<int>& group) {
            auto const& first = lanes[static_cast<std::size_t>(group.front())];
            return first.legs.size() == lanes[i].legs.size() && first.legs.front().to == lanes[i].legs.front().to;
        });
        if (same == pool.end()) {
            pool.push_back({index});
        } else if (lanes[i].kind != LaneKind::direct) {
            same->push_back(index);
        } else if (seconds(index) < seconds(same->front()) * (1 - tie)) {
            same->front() = index;
        }
    }
    for (auto& group : pool) {
        std::stable_sort(group.begin(), group.end(), [&](int a, int b) { return seconds(a) < seconds(b); });
    }
    std::stable_sort(pool.begin(), pool.end(), [&](const std::vector<int>& a, const std::vector<int>& b) {
        return seconds(a.front()) < seconds(b.front());
    });
    return pool;
}

std::vector<const Lane*> chosen(const std::vector<Lane>& lanes, const std::vector<int>& indices) {
    std::vector<const Lane*> found;
    for (auto const index : indices) {
        found.push_back(&lanes[static_cast<std::size_t>(index)]);
    }
    return found;
}

double rate_of(const Scored& scored) {
    return std::accumulate(scored.loaded_gbs.begin(), scored.loaded_gbs.end(), 0.0);
}

/// What a split seems to gain without moving more at a time it gains at its ends alone, which nobody measured.
bool moves_more(const Scored& scored, double than_gbs) {
    return rate_of(scored) > than_gbs * (1 + least_gain);
}

/// Splits that were measured need no guess: one of them wins unless the best so far, where that is one, gains much.
void take_measured(const Scorer& scorer, const std::vector<Lane>& lanes, std::uint64_t bytes, const Decision& decision,
                   Scored& best, std::vector<int>& in) {
    auto const& load = lanes.front().load;
    if (load.empty()) {
        return;
    }
    auto const fastest = rate_of(decision.alone[static_cast<std::size_t>(in.front())]);
    Scored measured;
    std::vector<int> measured_lanes;
    for (auto const& [streams, rate] : scorer.load().measured_between(load.front().leg.from, load.back().leg.to)) {
        auto const least_s = static_cast<double>(bytes) / rate;
        std::vector<int> with;
        if (least_s > best.seconds || (measured.possible() && least_s > measured.seconds)) {
            continue;
        }
        for (auto const& stream : streams) {
            for (std::size_t i = 0; i < lanes.size(); ++i) {
                if (decision.alone[i].possible() && same_stream(stream, lanes[i].load)) {
                    with.push_back(static_cast<int>(i));
                    break;
                }
            }
        }
        if (with.size() != streams.size()) {
            continue;
        }
        auto scored = scorer.together(chosen(lanes, with), bytes);
        if (scored.possible() && moves_more(scored, fastest) &&
            (!measured.possible() || scored.seconds < measured.seconds * (1 - tie))) {
            measured = std::move(scored);
            measured_lanes = std::move(with);
        }
    }
    if (!measured.possible()) {
        return;
    }
    auto const gain = best.guessed && in.size() > 1 ? least_guessed_gain : 0.0;
    if (measured.seconds < best.seconds / (1 - gain)) {
        best = std::move(measured);
        in = std::move(measured_lanes);
    }
}

void find_split(const Scorer& scorer, const std::vector<Lane>& lanes, std::uint64_t bytes, bool forced,
                Decision& decision) {
    auto const pool = pool_of(lanes, decision);
    if (pool.size() < 2 || (bytes < least_split && !forced)) {
        return;
    }
    std::vector<int> in{pool.front().front()};
    auto best = decision.alone[static_cast<std::size_t>(in.front())];
    auto const fastest = rate_of(best);
    auto rate = lanes[static_cast<std::size_t>(in.front())].rate();
    Scored fallback;
    std::vector<int> fallback_lanes;
    std::map<LaneKind, int> failures;
    for (std::size_t i = 1; i < pool.size() && in.size() < most_routes; ++i) {
        auto& failed = failures[lanes[static_cast<std::size_t>(pool[i].front())].kind];
        if (failed >= most_failures) {
            continue;
        }
        Scored gained;
        std::vector<int> gained_lanes;
        for (auto const index : pool[i]) {
            auto const& lane = lanes[static_cast<std::size_t>(index)];
            if (lane.rate() < rate * least_part) {
                continue;
            }
            auto with = in;
            with.push_back(index);
            auto scored = scorer.together(chosen(lanes, with), bytes);
            if (!scored.possible() || (!forced && !moves_more(scored, fastest))) {
                continue;
            }
            if (!gained.possible() || scored.seconds < gained.seconds * (1 - tie)) {
                gained = std::move(scored);
                gained_lanes = std::move(with);
            }
        }
        if (!gained.possible()) {
            continue;
        }
        auto const gain = gained.guessed && !best.guessed ? least_guessed_gain : least_gain;
        if (gained.seconds < best.seconds * (1 - gain)) {
            rate += lanes[static_cast<std::size_t>(gained_lanes.back())].rate();
            in = std::move(gained_lanes);
            best = std::move(gained);
            failures.clear();
            continue;
        }
        ++failed;
        if (in.size() == 1 && (!fallback.possible() || gained.seconds < fallback.seconds)) {
            fallback = std::move(gained);
            fallback_lanes = std::move(gained_lanes);
        }
    }
    // One that was taken early may only be in the way of those behind it.
    for (std::size_t i = 0; in.size() > 2 && i < in.size();) {
        auto without = in;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        auto scored = scorer.together(chosen(lanes, without), bytes);
        if (scored.possible() && scored.seconds <= best.seconds * (1 + tie)) {
            in = std::move(without);
            best = std::move(scored);
        } else {
            ++i;
        }
    }
    if (bytes >= least_split) {
        take_measured(scorer, lanes, bytes, decision, best, in);
    }
    if (in.size() > 1) {
        decision.split = std::move(best);
        decision.split_lanes = std::move(in);
    } else if (forced && fallback.possible()) {
        decision.split = std::move(fallback);
        decision.split_lanes = std::move(fallback_lanes);
    }
    for (auto const index : decision.split_lanes) {
        decision.split_measured =
            decision.split_measured && lanes[static_cast<std::size_t>(index)].basis() == Basis::measured;
    }
    std::stable_sort(decision.split_lanes.begin(), decision.split_lanes.end(), [&](int a, int b) {
        return lanes[static_cast<std::size_t>(a)].legs.size() < lanes[static_cast<std::size_t>(b)].legs.size();
    });
}

}  // namespace

bool Decision::splits() const {
    auto const gain = split_measured ? least_split_gain : least_nominal_gain;
    return split.possible() &&
           (best_alone < 0 || split.seconds < alone[static_cast<std::size_t>(best_alone)].seconds * (1 - gain));
}

const Scored* Decision::best() const {
    if (splits()) {
        return &split;
    }
    return best_alone < 0 ? nullptr : &alone[static_cast<std::size_t>(best_alone)];
}

Decision decide(const Scorer& scorer, const std::vector<Lane>& lanes, std::uint64_t bytes, bool forced) {
    Decision decision;
    auto least = std::numeric_limits<double>::infinity();
    for (auto const& lane : lanes) {
        decision.alone.push_back(lane.usable() ? scorer.one(lane, bytes) : Scored{});
        if (decision.alone.back().possible()) {
            least = std::min(least, decision.alone.back().seconds);
        }
    }
    for (std::size_t i = 0; i < lanes.size() && decision.best_alone < 0; ++i) {
        if (decision.alone[i].possible() && decision.alone[i].seconds <= least * (1 + tie)) {
            decision.best_alone = static_cast<int>(i);
        }
    }
    find_split(scorer, lanes, bytes, forced, decision);
    return decision;
}

bool alike(const std::vector<Route>& a, const std::vector<Route>& b) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](const Route& x, const Route& y) { return x.legs == y.legs; });
}

}  // namespace peerlane::plan
