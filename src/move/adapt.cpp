#include "move/adapt.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

namespace peerlane::move {
namespace {

constexpr double least_difference = 0.05;
constexpr double lower_bound = 0.5, upper_bound = 1.5;
constexpr double hopeless = 2.0;

double median(std::vector<double> values) {
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

Correction correct(const std::vector<Observed>& routes) {
    Correction correction;
    double quickest = 0, slowest = 0, rates = 0;
    for (auto const& route : routes) {
        correction.shares.push_back(route.share);
        quickest = quickest == 0 ? route.seconds : std::min(quickest, route.seconds);
        slowest = std::max(slowest, route.seconds);
        rates += route.share / route.seconds;
    }
    if (routes.size() < 2 || slowest <= quickest * (1 + least_difference)) {
        return correction;
    }
    double all = 0;
    for (std::size_t i = 0; i < routes.size(); ++i) {
        auto const& route = routes[i];
        auto const ideal = route.share / route.seconds / rates;
        auto const half_way = route.share + (ideal - route.share) / 2;
        auto& share = correction.shares[i];
        share = std::clamp(half_way, route.planned * lower_bound, route.planned * upper_bound);
        auto const at_bound = route.share <= route.planned * lower_bound * 1.01;
        if (at_bound && route.seconds > hopeless * quickest) {
            share = 0;
        }
        all += share;
    }
    for (std::size_t i = 0; i < routes.size(); ++i) {
        correction.shares[i] /= all;
        correction.changed = correction.changed || std::abs(correction.shares[i] - routes[i].share) > 1e-4;
    }
    return correction;
}

Adaptation::Adaptation(std::vector<Route> planned) : routes_(std::move(planned)), seen_(routes_.size()) {
    for (auto const& route : routes_) {
        planned_.push_back(route.share);
    }
}

std::optional<Finding> Adaptation::look(Driver& driver, Place from, Place to, std::uint64_t bytes) {
    if (!awaited_) {
        return std::nullopt;
    }
    std::vector<double> seconds;
    for (auto const& clock : clocks_) {
        try {
            if (!driver.query(clock.end.view())) {
                return std::nullopt;
            }
            seconds.push_back(driver.elapsed(clock.start.view(), clock.end.view()));
        } catch (const Error& error) {
            if (error.info().sticky) {
                throw;
            }
            awaited_ = false;  // of a copy that failed: nothing to learn
            return std::nullopt;
        }
    }
    awaited_ = false;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        seen_[i].push_back(std::max(seconds[i], 1e-9));
    }
    if (seen_.front().size() < looks) {
        return std::nullopt;
    }
    std::vector<Observed> observed;
    for (std::size_t i = 0; i < routes_.size(); ++i) {
        observed.push_back({planned_[i], routes_[i].share, median(std::move(seen_[i]))});
        seen_[i].clear();
    }
    auto const correction = correct(observed);
    if (!correction.changed) {
        return std::nullopt;
    }
    std::optional<Finding> finding;
    for (std::size_t i = 0; i < routes_.size(); ++i) {
        routes_[i].share = correction.shares[i];
        if (correction.shares[i] == 0) {
            finding = Finding{
                "route-slow",
                Finding::Severity::warn,
                {},
                {fmt::format("{} from {} to {}: {} takes {} for its part, others are done after {}", size_text(bytes),
                             to_string(from), to_string(to), describe(routes_[i]), seconds_text(observed[i].seconds),
                             seconds_text(std::min_element(observed.begin(), observed.end(),
                                                           [](const Observed& a, const Observed& b) {
                                                               return a.seconds < b.seconds;
                                                           })
                                              ->seconds))},
                "its share goes to the other routes until the next mover; measure again if that lasts"};
        }
    }
    normalize();
    return finding;
}

std::vector<RouteClock> Adaptation::clocks(Driver& driver) {
    if (awaited_ || routes_.size() < 2) {
        return {};
    }
    if (clocks_.size() != routes_.size()) {
        clocks_.clear();
        for (auto const& route : routes_) {
            auto const device = route.legs.back().issuer.index;
            clocks_.push_back({Event(driver, device, true), Event(driver, device, true)});
        }
    }
    awaited_ = true;
    std::vector<RouteClock> views;
    for (auto const& clock : clocks_) {
        views.push_back({clock.start.view(), clock.end.view()});
    }
    return views;
}

bool Adaptation::drop(const Leg& leg) {
    auto const has = [&](const Route& route) {
        return std::find(route.legs.begin(), route.legs.end(), leg) != route.legs.end();
    };
    auto const dropped = std::count_if(routes_.begin(), routes_.end(), has);
    if (dropped == 0 || static_cast<std::size_t>(dropped) == routes_.size()) {
        return false;
    }
    for (auto& route : routes_) {
        if (has(route)) {
            route.share = 0;
        }
    }
    normalize();
    return true;
}

/// Takes out routes without a share, with all that is known of them.
void Adaptation::normalize() {
    std::vector<Route> routes;
    std::vector<double> planned;
    double all = 0;
    for (std::size_t i = 0; i < routes_.size(); ++i) {
        if (routes_[i].share > 0) {
            all += routes_[i].share;
            planned.push_back(planned_[i]);
            routes.push_back(std::move(routes_[i]));
        }
    }
    for (auto& route : routes) {
        route.share /= all;
    }
    if (routes.size() != planned_.size()) {
        clocks_.clear();
        awaited_ = false;
        auto const left = std::accumulate(planned.begin(), planned.end(), 0.0);
        for (auto& share : planned) {
            share /= left;
        }
    }
    seen_.assign(routes.size(), {});
    routes_ = std::move(routes);
    planned_ = std::move(planned);
}

}  // namespace peerlane::move
