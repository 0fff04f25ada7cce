// Routes that were measured together, as a plan has them.
#include "plan/load.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "plan/load_places.hpp"

namespace peerlane::plan {
namespace {

/// Chunks that the host issues nearly as fast as they move tell nothing of what they wait for.
constexpr double host_bound_part = 1.3;
constexpr double alike_part = 0.05;  ///< routes that reach the same alone but for this part are of one kind

double alone(const Stream& stream) {
    auto rate = std::numeric_limits<double>::infinity();
    for (auto const& use : stream) {
        rate = std::min(rate, use.rate);
    }
    return rate;
}

/// Direct, over the host or over another device.
bool kin(const Stream& a, const Stream& b) {
    return a.size() == b.size() && a.front().leg.to.is_host() == b.front().leg.to.is_host();
}

bool alike_alone(const Stream& a, const Stream& b) {
    return std::abs(alone(a) - alone(b)) <= alike_part * std::max(alone(a), alone(b));
}

}  // namespace

/// Chunks pay what each transfer costs: what a route loses to the others is what it took beyond that, of each chunk and
/// of each byte. `round_s`: of the host, to issue a chunk of each route.
void Load::learn_route(const LoadedRoute& route, double round_s, Known& known) const {
    Stream stream;
    for (auto const& leg : route.legs) {
        if (auto const cost = costs_->leg(leg)) {
            stream.push_back({leg, cost->rate, links_of(leg)});
        }
    }
    if (stream.size() != route.legs.size()) {
        return;
    }
    auto const lost = [&](std::uint64_t bytes, double gbs) {
        auto chunk_s = route.legs.size() > 1 ? round_s : 0.0;
        for (auto const& leg : route.legs) {
            chunk_s = std::max(chunk_s, costs_->leg(leg)->queued.seconds(static_cast<double>(bytes)));
        }
        return std::max(0.0, static_cast<double>(bytes) / (gbs * 1e9) - chunk_s);
    };
    auto const bytes = static_cast<double>(route.bytes);
    auto per_byte = lost(route.bytes, route.gbs) / bytes;
    double wait = 0;
    if (route.small_gbs > 0) {
        auto const small = static_cast<double>(route.small_bytes);
        auto const small_lost = lost(route.small_bytes, route.small_gbs);
        wait = std::max(0.0, (small_lost * bytes - per_byte * bytes * small) / (bytes - small));
        auto const host_bound = small / (route.small_gbs * 1e9) < round_s * host_bound_part;
        wait = host_bound ? 0.0 : std::min(wait, per_byte * bytes);
        per_byte -= wait / bytes;
    }
    known.rates.push_back(1 / (1 / alone(stream) + per_byte));
    known.waits.push_back(wait);
    known.streams.push_back(std::move(stream));
}

void Load::learn_plans() {
    HostTimes const host(costs_->profile().host_costs);
    for (auto const& plans = costs_->profile().plans; learned_ < plans.size(); ++learned_) {
        auto const& plan = plans[learned_];
        Known known;
        double round_s = 0;
        for (auto const& route : plan.routes) {
            auto const legs = static_cast<double>(route.legs.size());
            round_s += legs > 1 ? legs * (host.copy_call_s + 2 * host.event_s) : 0.0;
        }
        for (auto const& route : plan.routes) {
            learn_route(route, round_s, known);
        }
        if (known.streams.size() != plan.routes.size() || known.streams.empty()) {
            continue;
        }
        std::vector<const Stream*> streams;
        for (auto const& stream : known.streams) {
            streams.push_back(&stream);
        }
        auto const all = expected(streams, nullptr);
        known.kept = std::min(1.0, std::accumulate(known.rates.begin(), known.rates.end(), 0.0) /
                                       std::accumulate(all.begin(), all.end(), 0.0));
        known_.push_back(std::move(known));
    }
}

std::vector<double> Load::chunk_waits(std::span<const Stream* const> streams) const {
    auto const* const plan = known(streams);
    auto const* const of = plan != nullptr ? plan : alike(streams);
    std::vector<double> waits;
    for (auto const* stream : streams) {
        if (of == nullptr || !busy_.empty()) {
            return {};
        }
        auto most = 0.0;
        for (std::size_t i = 0; i < of->streams.size(); ++i) {
            if (plan != nullptr ? same_stream(of->streams[i], *stream) : kin(of->streams[i], *stream)) {
                most = std::max(most, of->waits[i]);
            }
        }
        waits.push_back(most);
    }
    return waits;
}

const Load::Known* Load::known(std::span<const Stream* const> streams) const {
    auto const found = std::find_if(known_.begin(), known_.end(), [&](const Known& plan) {
        return plan.streams.size() == streams.size() &&
               std::all_of(streams.begin(), streams.end(),
                           [&](const Stream* stream) { return place_of(*stream, plan.streams) >= 0; });
    });
    return found == known_.end() ? nullptr : &*found;
}

std::vector<Load::Measured> Load::measured_between(Place from, Place to) const {
    std::map<std::size_t, Measured> best;  // by the number of routes: few begin sooner, many move more
    for (auto const& plan : known_) {
        auto const& one = plan.streams.front();
        if (plan.streams.size() < 2 || !busy_.empty() || !same(one.front().leg.from, from) ||
            !same(one.back().leg.to, to)) {
            continue;
        }
        auto const rate = std::accumulate(plan.rates.begin(), plan.rates.end(), 0.0);
        auto& of = best[plan.streams.size()];
        if (rate > of.rate) {
            of = {plan.streams, rate};
        }
    }
    std::vector<Measured> plans;
    for (auto& [routes, plan] : best) {
        plans.push_back(std::move(plan));
    }
    return plans;
}

const Load::Known* Load::alike(std::span<const Stream* const> streams) const {
    auto const least_of = [&](bool close) {
        const Known* least = nullptr;
        for (auto const& plan : known_) {
            if (plan.streams.size() != streams.size() || !same_ends(plan.streams.front(), *streams.front())) {
                continue;
            }
            std::vector<bool> taken(streams.size());
            auto all = true;
            for (auto const* stream : streams) {
                std::size_t i = 0;
                while (i < taken.size() && (taken[i] || !kin(plan.streams[i], *stream) ||
                                            (close && !alike_alone(plan.streams[i], *stream)))) {
                    ++i;
                }
                all = all && i < taken.size();
                if (all) {
                    taken[i] = true;
                }
            }
            least = all && (least == nullptr || plan.kept < least->kept) ? &plan : least;
        }
        return least;
    };
    if (!busy_.empty()) {
        return nullptr;
    }
    auto const* const close = least_of(true);
    return close != nullptr || hopeful_ ? close : least_of(false);
}

}  // namespace peerlane::plan
