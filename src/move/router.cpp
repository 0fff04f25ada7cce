#include "move/router.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace peerlane::move {
namespace {

constexpr double giga = 1e9;
constexpr std::size_t ports_of_a_device = 4;  ///< out and in, to peers and to the host

template <class Add>
void add_ports(const Leg& leg, Add&& add) {
    auto const host = leg.from.is_host() || leg.to.is_host();
    auto const port = [&](Place place, std::size_t number) {
        if (place.is_device()) {
            add(ports_of_a_device * static_cast<std::size_t>(place.index) + (host ? 2 : 0) + number);
        }
    };
    port(leg.from, 0);
    port(leg.to, 1);
}

}  // namespace

Router::Router(const Driver& driver, const Planner& planner)
    : planner_(planner),
      costs_(planner.machine(), planner.profile()),
      load_(costs_, nobody_),
      links_(planner.machine().graph.links.size()),
      engines_(links_ + ports_of_a_device * planner.machine().devices.size()) {
    for (auto const& link : planner.machine().graph.links) {
        capacity_.push_back(link.capacity_gbs.value_or(0));
    }
    capacity_.resize(engines_, 0);
    for (int device = 0; device < driver.device_count(); ++device) {
        capacity_.push_back(-std::max(1, driver.capabilities(device).copy_engines));
    }
}

const Router::Ways& Router::ways(Place from, Place to, std::uint64_t bytes) {
    auto const key = std::tuple{from, to, bytes};
    if (auto const known = known_.find(key); known != known_.end()) {
        return known->second;
    }
    auto const choice = planner_.explain(from, to, bytes);
    Ways found;
    auto const consider = [&](Route route) {
        route.share = 1.0;
        auto const seconds = planner_.predict({route}, bytes);
        if (!seconds) {
            return;
        }
        Way const way{*seconds, std::move(route)};
        if (way.by_kernel() && (!found.kernel || way.seconds < found.kernel->seconds)) {
            found.kernel = way;
        }
        if (way.route.legs.size() == 1 && !way.by_kernel() && (!found.direct || way.seconds < found.direct->seconds)) {
            found.direct = way;
        }
        if (found.best.route.legs.empty() || way.seconds < found.best.seconds) {
            found.best = way;
        }
    };
    for (auto const& one : choice.routes) {
        consider(one);
    }
    for (auto const& rejected : choice.rejected) {
        if (rejected.predicted_s && rejected.routes.size() == 1) {
            consider(rejected.routes.front());
        }
    }
    if (found.best.route.legs.empty()) {
        throw std::invalid_argument(
            fmt::format("exchange: no way from {} to {} may be trusted", to_string(from), to_string(to)));
    }
    return known_[key] = std::move(found);
}

Task Router::task(const Way& way, std::uint64_t bytes) const {
    Task task;
    task.seconds = way.seconds;
    task.rate = static_cast<double>(bytes) / way.seconds / giga;
    auto const add = [&](std::size_t link) {
        if (std::find(task.links.begin(), task.links.end(), static_cast<int>(link)) == task.links.end()) {
            task.links.push_back(static_cast<int>(link));
        }
    };
    for (auto const& leg : way.route.legs) {
        auto described = false;
        for (auto const link : load_.links_of(leg)) {
            // Others are memory of a NUMA node, which serves more than its links bring, and links that were made up.
            if (link >= 0 && static_cast<std::size_t>(link) < links_) {
                add(static_cast<std::size_t>(link));
                described = true;
            }
        }
        if (!described && leg.from != leg.to) {
            add_ports(leg, [&](std::size_t port) { add(links_ + port); });
        }
        if (leg.engine == Engine::copy) {
            add(engines_ + static_cast<std::size_t>(leg.issuer.index));
        }
    }
    return task;
}

}  // namespace peerlane::move
