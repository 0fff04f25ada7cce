#include "move/adapt.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

namespace peerlane::move {
namespace {

constexpr double least_difference = 0.05;
constexpr double lower_bound = 0.5, upper_bound = 1.5;
constexpr double hopeless = 2.0;
constexpr int most_corrections = 4;  ///< before a split has to show that it is worth it
/// Alone at least so much quicker: the plan promised a gain, and some copies are slow by chance.
constexpr double better_alone = 0.99;
constexpr double quicker = 0.996;  ///< shares are kept for this part of the time, not for noise
constexpr double first_step = 1.12;
constexpr int most_steps = 3;
constexpr double differs_more = 1.1;
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
    if (times_routes()) {
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
    if (times_routes()) {
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
        forget_looks();
        return std::nullopt;
    }
    if (wholes_.size() < (times_routes() ? looks : careful_looks)) {
        return std::nullopt;
    }
    std::optional<Finding> finding;
    switch (phase_) {
        case Phase::trial:
            end_trial();
            break;
        case Phase::searching:
            search();
            break;
        default:
            finding = correct_shares(from, to, bytes);
    }
    forget_looks();
    return finding;
}

std::optional<Finding> Adaptation::correct_shares(Place from, Place to, std::uint64_t bytes) {
    std::vector<Observed> observed;
    for (std::size_t i = 0; i < routes_.size(); ++i) {
        observed.push_back({planned_[i], routes_[i].share, median(seen_[i])});
    }
    auto const by_time = [](const Observed& a, const Observed& b) { return a.seconds < b.seconds; };
    auto const [quickest, slowest] = std::minmax_element(observed.begin(), observed.end(), by_time);
    auto const ratio = slowest->seconds / quickest->seconds;
    auto const whole_s = median(wholes_);
    if (auto const before = std::exchange(before_, std::nullopt); before && whole_s > before->whole_s * quicker) {
        set_shares(before->shares);
        refused_ratio_ = std::max(refused_ratio_, before->ratio);
        have_corrected();
        return std::nullopt;
    }
    auto const correction = correct(observed);
    auto const drops = std::count(correction.shares.begin(), correction.shares.end(), 0.0) != 0;
    auto const again = ratio <= refused_ratio_ * differs_more;
    if (!correction.changed || (again && !drops) || (phase_ == Phase::correcting && corrections_ == most_corrections)) {
        have_corrected();
        return std::nullopt;
    }
    ++corrections_;
    if (!drops) {
        before_ = Before{shares(), whole_s, ratio};
    }
    std::optional<Finding> finding;
    for (std::size_t i = 0; i < routes_.size(); ++i) {
        routes_[i].share = correction.shares[i];
        if (correction.shares[i] == 0) {
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

void Adaptation::have_corrected() {
    if (phase_ == Phase::correcting) {
        phase_ = alone_.empty() ? Phase::settled : Phase::searching;
    }
}

std::vector<double> Adaptation::shares() const {
    std::vector<double> all;
    for (auto const& route : routes_) {
        all.push_back(route.share);
    }
    return all;
}

void Adaptation::set_shares(const std::vector<double>& shares) {
    for (std::size_t i = 0; i < routes_.size(); ++i) {
        routes_[i].share = shares[i];
    }
}

std::vector<double> Adaptation::scaled(double times) const {
    auto scaled = shares();
    double others = 0;
    for (std::size_t i = 0; i < routes_.size(); ++i) {
        if (routes_[i].legs != alone_.front().legs) {
            scaled[i] = std::clamp(scaled[i] * times, planned_[i] * lower_bound, planned_[i] * upper_bound);
            others += scaled[i];
        }
    }
    for (std::size_t i = 0; i < routes_.size(); ++i) {
        if (routes_[i].legs == alone_.front().legs) {
            scaled[i] = 1 - others;
        }
    }
    return scaled;
}

/// One step further while that makes whole copies quicker; the other way when the first step did not.
void Adaptation::search() {
    auto const whole_s = median(wholes_);
    auto const begins = step_ == 0;
    if (begins) {
        step_ = first_step;
        split_s_ = whole_s;
    } else if (whole_s <= split_s_ * quicker) {
        split_s_ = whole_s;
        turned_ = true;  // this way is the better one
    } else {
        set_shares(before_->shares);
        auto const first = !turned_;
        turned_ = true;
        step_ = 1 / step_;
        steps_ = first ? steps_ : most_steps;
    }
    auto next = scaled(step_);
    if (steps_ == most_steps || next == shares()) {
        before_.reset();
        phase_ = Phase::trial;
        return;
    }
    ++steps_;
    before_ = Before{shares(), split_s_, 0};
    set_shares(next);
}

void Adaptation::search_anew() {
    before_.reset();
    step_ = 0;
    steps_ = 0;
    turned_ = false;
    phase_ = phase_ == Phase::trial ? Phase::searching : phase_;
}

void Adaptation::forget_looks() {
    wholes_.clear();
    seen_.assign(routes_.size(), {});
}

void Adaptation::end_trial() {
    phase_ = Phase::settled;
    if (median(wholes_) <= split_s_ * better_alone) {
        routes_ = alone_;
        planned_ = {1.0};
        clocks_.clear();
    }
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
        search_anew();
        auto const left = std::accumulate(planned.begin(), planned.end(), 0.0);
        for (auto& share : planned) {
            share /= left;
        }
    }
    routes_ = std::move(routes);
    planned_ = std::move(planned);
    forget_looks();
    if (!alone_.empty() && std::none_of(routes_.begin(), routes_.end(),
                                        [&](const Route& route) { return route.legs == alone_.front().legs; })) {
        alone_.clear();
        phase_ = phase_ == Phase::searching ? Phase::settled : phase_;
    }
}

}  // namespace peerlane::move
