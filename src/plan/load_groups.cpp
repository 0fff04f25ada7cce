// What legs do to each other, learned from groups that were measured together.
#include "plan/load.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace peerlane::plan {
namespace {

constexpr double giga = 1e9;
constexpr double not_slowed = 0.97;  ///< part of what a leg reaches alone: the rest is noise
constexpr double loaded_part = 0.6;  ///< of a link's capacity: from there on it may be what slows
constexpr double all_of_it = 1.25;   ///< one leg's own, with what is gained by several

}  // namespace

/// Groups that meet in a leg show the same thing.
void Load::learn_hidden(const LoadedGroup& group, const std::vector<std::size_t>& legs, double capacity) {
    Hidden made{{}, capacity};
    for (auto const leg : legs) {
        made.legs.push_back(group.legs[leg].leg);
    }
    std::erase_if(hidden_, [&](const Hidden& known) {
        auto const meets = std::any_of(known.legs.begin(), known.legs.end(), [&](const Leg& leg) {
            return std::find(made.legs.begin(), made.legs.end(), leg) != made.legs.end();
        });
        if (meets) {
            made.capacity = std::max(made.capacity, known.capacity);
            for (auto const& leg : known.legs) {
                if (std::find(made.legs.begin(), made.legs.end(), leg) == made.legs.end()) {
                    made.legs.push_back(leg);
                }
            }
        }
        return meets;
    });
    hidden_.push_back(std::move(made));
}

/// What the legs of a group take from cannot be seen in it. For each link that several of them take and load, what they
/// reached together is what it gives. The same for the copy engines of one issuer, in parts of an engine's time. Where
/// nothing of this slowed one, all that were slowed have something in common that nobody knows of.
void Load::learn_groups() {
    for (auto const& group : costs_->profile().loaded) {
        auto const count = group.legs.size();
        std::vector<bool> slowed(count), explained(count);
        std::map<int, std::vector<std::size_t>> users, issued;
        for (std::size_t i = 0; i < count; ++i) {
            auto const& leg = group.legs[i];
            slowed[i] = leg.gbs < leg.alone_gbs * not_slowed;
            for (auto const link : links_of(leg.leg)) {
                users[link].push_back(i);
            }
            if (leg.leg.engine == Engine::copy) {
                issued[leg.leg.issuer.index].push_back(i);
            }
        }
        Group known{&group, {}};
        // Groups move tens of MiB, and longer copies reach more: the part of its own rate that a leg kept is what
        // counts.
        auto const alone = [&](std::size_t leg) {
            auto const cost = costs_->leg(group.legs[leg].leg);
            return cost ? std::max(cost->rate, group.legs[leg].alone_gbs * giga) : group.legs[leg].alone_gbs * giga;
        };
        auto const kept = [&](std::size_t leg) {
            return alone(leg) * std::min(1.0, group.legs[leg].gbs / group.legs[leg].alone_gbs);
        };
        auto const rate_of = [&](const std::vector<std::size_t>& legs) {
            return std::accumulate(legs.begin(), legs.end(), 0.0,
                                   [&](double sum, std::size_t leg) { return sum + kept(leg); });
        };
        // A description may have legs share a link that they do not, as one without the fabric's links does.
        for (auto const& [link, legs] : users) {
            capacity_[at(link)] = std::max(capacity_[at(link)], rate_of(legs));
        }
        auto const add = [&](const std::vector<std::size_t>& legs, bool by_time) {
            Common common;
            auto any = false;
            for (auto const leg : legs) {
                auto const weight = by_time ? 1 / alone(leg) : 1.0;
                common.legs.emplace_back(leg, weight);
                common.capacity += weight * kept(leg);
                any = any || slowed[leg];
            }
            if (!any) {
                return;
            }
            for (auto const leg : legs) {
                explained[leg] = true;
            }
            known.common.push_back(std::move(common));
        };
        for (auto const& [link, legs] : users) {
            if (legs.size() > 1 && rate_of(legs) >= capacity_[at(link)] * loaded_part) {
                add(legs, false);
            }
            auto const twin = at(link) < twin_.size() ? twin_[at(link)] : -1;
            if (auto const back = users.find(twin); twin > link && back != users.end()) {
                auto both = legs;
                both.insert(both.end(), back->second.begin(), back->second.end());
                if (rate_of(both) >= (capacity_[at(link)] + capacity_[at(twin)]) * loaded_part) {
                    add(both, false);
                }
            }
        }
        for (auto const& [device, legs] : issued) {
            if (static_cast<double>(legs.size()) > copy_engines) {
                add(legs, true);
            }
        }
        std::vector<std::size_t> all_slowed;
        double parts = 0;
        auto unexplained = false;
        for (std::size_t i = 0; i < count; ++i) {
            unexplained = unexplained || (slowed[i] && !explained[i]);
            if (slowed[i]) {
                all_slowed.push_back(i);
                parts += group.legs[i].gbs / group.legs[i].alone_gbs;
            }
        }
        // Where they had no more together than one of them has alone, each alone takes all there is of it, and bytes of
        // one may weigh more than bytes of another.
        if (unexplained && parts > all_of_it) {
            add(all_slowed, false);
        } else if (unexplained) {
            learn_hidden(group, all_slowed, parts);
        }
        groups_.push_back(std::move(known));
    }
}

}  // namespace peerlane::plan
