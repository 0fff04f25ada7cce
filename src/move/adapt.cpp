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
constexpr int most_corrections = 4;  ///< before a split has to show that it is worth it
constexpr double worth_it = 1.01;
constexpr double worth_trying = 0.6;  ///< share of a route that may be as quick alone
constexpr std::uint64_t rarely = 16;

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
        if (route.legs.size() == 1 && (alone_.empty() || route.share > alone_.front().share)) {
            alone_ = {route};
        }
    }
    if (!alone_.empty() && alone_.front().share < worth_trying) {
        alone_.clear();
    }
    if (!alone_.empty()) {
        alone_.front().share = 1.0;
    }
}

double Adaptation::Clock::seconds(Driver& driver) const {
    return std::max(driver.elapsed(start.view(), end.view()), 1e-9);
}

bool Adaptation::curious(int device) const {
    auto const asleep = phase_ == Phase::settled && (copies_ + 1) % rarely != 0;
    return !awaited_ && !asleep && routes_.size() >= 2 && (device_ < 0 || device_ == device);
}

Submission Adaptation::begin(Driver& driver, int device, bool may_look) {
    auto const wanted = may_look && curious(device);
    ++copies_;
    if (!wanted) {
        return {};
    }
    if (clocks_.size() != routes_.size()) {
        clocks_.clear();
        for (auto const& route : routes_) {
            auto const issuer = route.legs.back().issuer.index;
            clocks_.push_back({Event(driver, issuer, true), Event(driver, issuer, true)});
        }
    }
    if (!whole_) {
        whole_ = Clock{Event(driver, device, true), Event(driver, device, true)};
        device_ = device;
    }
    awaited_ = true;
    Submission how;
    how.whole = whole_->view();
    if (phase_ != Phase::trial) {
        for (auto const& clock : clocks_) {
            how.clocks.push_back(clock.view());
        }
    }
    return how;
}

bool Adaptation::read(Driver& driver) {
    if (!driver.query(whole_->end.view())) {
        return false;
    }
    awaited_ = false;
    wholes_.push_back(whole_->seconds(driver));
    if (phase_ != Phase::trial) {
        for (std::size_t i = 0; i < clocks_.size(); ++i) {
            seen_[i].push_back(clocks_[i].seconds(driver));
        }
    }
    return true;
}

std::optional<Finding> Adaptation::look(Driver& driver, Place from, Place to, std::uint64_t bytes) {
    if (!awaited_) {
        return std::nullopt;
    }
    try {
        if (!read(driver)) {
            return std::nullopt;
        }
    } catch (const Error& error) {
        if (error.info().sticky) {
            throw;
        }
        awaited_ = false;  // a copy that failed, or a route that had no part: nothing to learn
        wholes_.clear();
        seen_.assign(routes_.size(), {});
        return std::nullopt;
    }
    if (wholes_.size() < looks) {
        return std::nullopt;
    }
    if (phase_ == Phase::trial) {
        end_trial();
        return std::nullopt;
    }
    auto finding = correct_shares(from, to, bytes);
    wholes_.clear();
    seen_.assign(routes_.size(), {});
    return finding;
}

std::optional<Finding> Adaptation::correct_shares(Place from, Place to, std::uint64_t bytes) {
    std::vector<Observed> observed;
    for (std::size_t i = 0; i < routes_.size(); ++i) {
        observed.push_back({planned_[i], routes_[i].share, median(seen_[i])});
    }
    auto const correction = correct(observed);
    if (phase_ == Phase::correcting && (!correction.changed || ++corrections_ >= most_corrections)) {
        split_s_ = median(wholes_);
        phase_ = alone_.empty() ? Phase::settled : Phase::trial;
    }
    if (!correction.changed) {
        return std::nullopt;
    }
    std::optional<Finding> finding;
    for (std::size_t i = 0; i < routes_.size(); ++i) {
        routes_[i].share = correction.shares[i];
        if (correction.shares[i] == 0) {
            auto const quickest =
                std::min_element(observed.begin(), observed.end(),
                                 [](const Observed& a, const Observed& b) { return a.seconds < b.seconds; });
            finding = Finding{"route-slow",
                              Finding::Severity::warn,
                              {},
                              {fmt::format("{} from {} to {}: {} takes {} for its part, others are done after {}",
                                           size_text(bytes), to_string(from), to_string(to), describe(routes_[i]),
                                           seconds_text(observed[i].seconds), seconds_text(quickest->seconds))},
                              "its share goes to the other routes until the next mover; measure again if that lasts"};
        }
    }
    normalize();
    return finding;
}

void Adaptation::end_trial() {
    phase_ = Phase::settled;
    if (median(wholes_) <= split_s_ * worth_it) {
        routes_ = alone_;
        planned_ = {1.0};
        clocks_.clear();
    }
    wholes_.clear();
    seen_.assign(routes_.size(), {});
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
    wholes_.clear();
    routes_ = std::move(routes);
    planned_ = std::move(planned);
    if (!alone_.empty() && std::none_of(routes_.begin(), routes_.end(),
                                        [&](const Route& route) { return route.legs == alone_.front().legs; })) {
        alone_.clear();
        phase_ = phase_ == Phase::trial ? Phase::settled : phase_;
    }
}

}  // namespace peerlane::move
