// What the planner predicts of each kind of way, size by size.

#include <algorithm>
#include <array>

#include <peerlane/report.hpp>
#include <peerlane/units.hpp>

#include "plan/decide.hpp"

namespace peerlane {
namespace {

constexpr std::array<const char*, 4> kinds{"direct", "staged", "relayed", "split"};
constexpr std::uint64_t least_size = 4 * KiB, most_size = GiB;

std::size_t kind_of(const std::vector<Route>& routes) {
    if (routes.size() > 1) {
        return 3;
    }
    auto const& legs = routes.front().legs;
    return legs.size() < 2 ? 0 : legs.front().to.is_host() ? 1 : 2;
}

struct Direction {
    std::array<std::vector<std::optional<double>>, kinds.size()> seconds{};
    std::vector<int> chosen{};
    std::vector<PlannedRange> ranges{};
    std::vector<Route> last{};  ///< of the range that was added last
};

/// The fastest of each kind; of the kind that was chosen the choice itself, which a tie may have given to another.
void add(Direction& direction, const Choice& choice, std::size_t at) {
    for (auto const& other : choice.rejected) {
        if (other.predicted_s && !other.routes.empty()) {
            auto& best = direction.seconds[kind_of(other.routes)][at];
            best = best ? std::min(*best, *other.predicted_s) : *other.predicted_s;
        }
    }
    auto words = std::string("nothing that may be used");
    if (choice.routes.empty() || choice.predicted_s <= 0) {
        direction.chosen.push_back(-1);
    } else {
        auto const kind = kind_of(choice.routes);
        direction.seconds[kind][at] = choice.predicted_s;
        direction.chosen.push_back(static_cast<int>(kind));
        words = brief(choice.routes);
        if (choice.routes.size() == 1 && choice.routes.front().legs.size() == 1) {
            words = describe(choice.routes.front());
        }
    }
    if (direction.ranges.empty() || !plan::alike(direction.last, choice.routes)) {
        direction.ranges.push_back({choice.bytes, std::move(words)});
        direction.last = choice.routes;
    }
}

/// Without the kinds that this direction does not have.
DirectionCurves compact(Direction&& direction, int source, int destination) {
    DirectionCurves curves{source, destination, {}, std::move(direction.chosen), std::move(direction.ranges)};
    std::array<int, kinds.size()> index{};
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        auto& seconds = direction.seconds[kind];
        index[kind] = static_cast<int>(curves.ways.size());
        if (std::any_of(seconds.begin(), seconds.end(), [](auto const& one) { return one.has_value(); })) {
            curves.ways.push_back({kinds[kind], std::move(seconds)});
        }
    }
    for (auto& way : curves.chosen) {
        way = way < 0 ? way : index[static_cast<std::size_t>(way)];
    }
    return curves;
}

}  // namespace

const DirectionCurves* Curves::of(int source, int destination) const {
    auto const found = std::find_if(directions.begin(), directions.end(), [&](const DirectionCurves& one) {
        return one.source == source && one.destination == destination;
    });
    return found == directions.end() ? nullptr : &*found;
}

Curves curves_of(const Planner& planner, const std::vector<std::pair<int, int>>& directions) {
    Curves curves;
    // A device more is a way more of every direction: the hundreds of a large machine get every other size.
    constexpr std::size_t many = 100;
    auto const step = directions.size() > many ? 4U : 2U;
    for (auto size = least_size; size <= most_size; size *= step) {
        curves.sizes.push_back(size);
    }
    for (auto const& [source, destination] : directions) {
        Direction direction;
        for (auto& seconds : direction.seconds) {
            seconds.resize(curves.sizes.size());
        }
        for (std::size_t i = 0; i < curves.sizes.size(); ++i) {
            add(direction, planner.explain(gpu(source), gpu(destination), curves.sizes[i]), i);
        }
        curves.directions.push_back(compact(std::move(direction), source, destination));
    }
    return curves;
}

Machine with_proven_rates(Machine machine, const Verdicts& verdicts) {
    for (auto& pair : machine.pairs) {
        auto const* const verdict = verdicts.pair(pair.accessor, pair.owner);
        if (verdict == nullptr) {
            continue;
        }
        auto const take = [&](std::optional<double>& rate, Check check) {
            rate = (*verdict)[check].gbs ? (*verdict)[check].gbs : rate;
        };
        take(pair.measured.write_gbs, Check::push);
        take(pair.measured.read_gbs, Check::pull);
        take(pair.measured.write_sm_gbs, Check::store);
        take(pair.measured.read_sm_gbs, Check::load);
    }
    return machine;
}

}  // namespace peerlane
