// Plans that know of each other. Each flow is cut into equal parts; each part in turn takes the way that adds least to
// a steep sum over the times that links (and the flow's own rate limits) would be busy. A few rounds of taking a part
// away and placing it anew follow. A steep sum of busy times is close to their maximum, which is what the makespan
// cannot fall below.

#include <algorithm>
#include <map>

#include <peerlane/units.hpp>

#include "traffic/run/leg_book.hpp"
#include "traffic/run/plans.hpp"

namespace peerlane::traffic {
namespace {

constexpr int rounds = 4;
constexpr std::size_t most_relays = 4;         ///< third devices tried for a pair
constexpr std::uint64_t least_part = 1 * MiB;  ///< smaller ones cost more in calls than they win
constexpr std::size_t most_relay_search = 32;  ///< devices; beyond, third devices are not looked for

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

struct Way {
    Route route{};
    std::vector<std::pair<int, double>> s_per_byte{};  ///< of each link
    double own_s_per_byte = 0;                         ///< what one transfer of this way takes at least
};

class Balancer {
  public:
    Balancer(const sim::Truth& truth, const std::vector<Flow>& flows, int parts)
        : book_(truth), flows_(flows), parts_(parts), busy_(truth.network.capacity.size(), 0.0) {}

    Plans plans() {
        place_all();
        for (int round = 0; round < rounds; ++round) {
            replace_all();
        }
        return written();
    }

  private:
    struct Part {
        std::uint32_t flow;
        int way = -1;
        double bytes = 0;
    };

    Place settled(Place place, Place other) const {
        return place.is_device() || place.index != Place::any ? place
                                                              : host(book_.truth().network.numa[at(other.index)]);
    }

    /// Adds what a leg takes; false when there is no such leg.
    bool use(Way& way, Place from, Place to) {
        auto const* const facts = book_.leg(settled(from, to), settled(to, from));
        if (facts == nullptr) {
            return false;
        }
        for (auto const& link : facts->uses) {
            way.s_per_byte.emplace_back(link.link, link.weight / book_.truth().network.capacity[at(link.link)]);
        }
        way.own_s_per_byte = std::max(way.own_s_per_byte, facts->s_per_byte);
        return true;
    }

    void add_single(std::vector<Way>& ways, Place src, Place dst) {
        Way way;
        way.route = {1.0, {{src, dst, Engine::copy, src.is_device() ? src : dst}}, 0, 0};
        (void)use(way, src, dst);
        ways.push_back(std::move(way));
    }

    void add_over(std::vector<Way>& ways, Place src, Place middle, Place dst) {
        Way way;
        way.route = staged_route(src, middle, dst, 1);
        if (use(way, src, middle) && use(way, middle, dst)) {
            ways.push_back(std::move(way));
        }
    }

    bool reaches(Place src, int k, Place dst) const {
        return (src.is_host() || book_.direct(src.index, k)) && (dst.is_host() || book_.direct(k, dst.index));
    }

    /// Those third devices over which a transfer alone is fastest.
    void add_relays(std::vector<Way>& ways, Place src, Place dst) {
        auto const devices = static_cast<int>(book_.truth().machine.devices.size());
        std::vector<Way> over;
        for (int k = 0; k < devices && at(devices) <= most_relay_search; ++k) {
            if (gpu(k) != src && gpu(k) != dst && reaches(src, k, dst)) {
                add_over(over, src, gpu(k), dst);
            }
        }
        std::stable_sort(over.begin(), over.end(),
                         [](const Way& a, const Way& b) { return a.own_s_per_byte < b.own_s_per_byte; });
        over.resize(std::min(over.size(), most_relays));
        ways.insert(ways.end(), std::make_move_iterator(over.begin()), std::make_move_iterator(over.end()));
    }

    const std::vector<Way>& ways_of(const Flow& flow) {
        auto const [found, added] = ways_.try_emplace({flow.src, flow.dst});
        auto& ways = found->second;
        if (!added) {
            return ways;
        }
        add_single(ways, flow.src, flow.dst);
        if (flow.src == flow.dst) {
            return ways;
        }
        if (flow.src.is_device() && flow.dst.is_device()) {
            auto const& numa = book_.truth().network.numa;
            auto const near_source = numa[at(flow.src.index)], near_destination = numa[at(flow.dst.index)];
            add_over(ways, flow.src, host(near_source), flow.dst);
            if (near_source != near_destination) {
                add_over(ways, flow.src, host(near_destination), flow.dst);
            }
        }
        add_relays(ways, flow.src, flow.dst);
        return ways;
    }

    static double steep(double busy) {
        auto const square = busy * busy;
        return square * square * square;
    }

    double added(const Part& part, const Way& way, double own_busy) const {
        double sum = 0;
        for (auto const& [link, s_per_byte] : way.s_per_byte) {
            auto const before = busy_[at(link)];
            sum += steep(before + part.bytes * s_per_byte) - steep(before);
        }
        auto const own = part.bytes * way.own_s_per_byte;
        return sum + steep(own_busy + own) - steep(own_busy);
    }

    void account(const Part& part, double sign) {
        auto const& way = ways_of(flows_[part.flow])[at(part.way)];
        for (auto const& [link, s_per_byte] : way.s_per_byte) {
            busy_[at(link)] = std::max(0.0, busy_[at(link)] + sign * part.bytes * s_per_byte);
        }
        own_[{part.flow, part.way}] += sign * part.bytes * way.own_s_per_byte;
    }

    void place(Part& part) {
        auto const& ways = ways_of(flows_[part.flow]);
        auto least = 0.0;
        part.way = -1;
        for (std::size_t w = 0; w < ways.size(); ++w) {
            auto const own = own_.find({part.flow, static_cast<int>(w)});
            auto const cost = added(part, ways[w], own == own_.end() ? 0.0 : own->second);
            if (part.way < 0 || cost < least * (1 - 1e-9)) {
                least = cost;
                part.way = static_cast<int>(w);
            }
        }
        account(part, 1);
    }

    void place_all() {
        for (int turn = 0; turn < parts_; ++turn) {
            for (std::uint32_t f = 0; f < flows_.size(); ++f) {
                auto const bytes = flows_[f].bytes;
                auto const parts = std::clamp<std::uint64_t>(bytes / least_part, 1, static_cast<std::uint64_t>(parts_));
                if (static_cast<std::uint64_t>(turn) < parts) {
                    placed_.push_back({f, -1, static_cast<double>(bytes) / static_cast<double>(parts)});
                    place(placed_.back());
                }
            }
        }
    }

    void replace_all() {
        for (auto& part : placed_) {
            account(part, -1);
            place(part);
        }
    }

    Plans written() {
        Plans plans;
        std::vector<std::map<int, double>> bytes_by_way(flows_.size());
        for (auto const& part : placed_) {
            bytes_by_way[part.flow][part.way] += part.bytes;
        }
        for (std::size_t f = 0; f < flows_.size(); ++f) {
            auto const& ways = ways_of(flows_[f]);
            auto const whole = static_cast<double>(flows_[f].bytes);
            Ways chosen;
            for (auto const& [w, bytes] : bytes_by_way[f]) {
                auto route = ways[at(w)].route;
                if (route.legs.size() > 1) {
                    route.chunk = staged_route(route.legs[0].from, route.legs[0].to, route.legs[1].to,
                                               static_cast<std::uint64_t>(bytes) + 1)
                                      .chunk;
                }
                route.share = bytes / whole;
                chosen.push_back(std::move(route));
            }
            plans.of_flow.push_back(static_cast<int>(plans.plans.size()));
            plans.plans.push_back(std::move(chosen));
        }
        return plans;
    }

    LegBook book_;
    const std::vector<Flow>& flows_;
    int parts_;
    std::vector<double> busy_;                               ///< seconds, of each link
    std::map<std::pair<std::uint32_t, int>, double> own_{};  ///< seconds, of a flow's way
    std::map<std::pair<Place, Place>, std::vector<Way>> ways_{};
    std::vector<Part> placed_{};
};

}  // namespace

Plans balanced_plans(const sim::Truth& truth, const std::vector<Flow>& flows, int parts) {
    return Balancer(truth, flows, parts).plans();
}

}  // namespace peerlane::traffic
