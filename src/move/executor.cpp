#include "move/executor.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/copy.hpp"
#include "kernels/kernel.hpp"

namespace peerlane::move {
namespace {

constexpr std::uint64_t part_granule =
    4096;  ///< parts of a split begin at multiples, so that kernels keep wide accesses

/// Bytes of each route: shares rounded to the granule, the first route takes what is left.
std::vector<std::uint64_t> parts_of(const Choice& choice) {
    std::vector<std::uint64_t> parts(choice.routes.size(), 0);
    auto left = choice.bytes;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        auto const wanted = static_cast<std::uint64_t>(choice.routes[i].share * static_cast<double>(choice.bytes));
        parts[i] = std::min(wanted / part_granule * part_granule, left);
        left -= parts[i];
    }
    parts[0] = left;
    return parts;
}

}  // namespace

void Executor::check(const Choice& choice, Place from, Place to) {
    if (choice.routes.empty()) {
        throw std::invalid_argument("carry out: the choice has no route");
    }
    double shares = 0;
    for (auto const& route : choice.routes) {
        shares += route.share;
        if (route.legs.empty() || route.legs.front().from != from || route.legs.back().to != to) {
            throw std::invalid_argument(
                fmt::format("carry out: a route does not lead from {} to {}", to_string(from), to_string(to)));
        }
        if (route.share <= 0 || (route.legs.size() > 1 && (route.chunk == 0 || route.buffers < 1))) {
            throw std::invalid_argument("carry out: a route has no share, or several legs without chunk or buffers");
        }
        for (std::size_t i = 0; i < route.legs.size(); ++i) {
            if (i > 0 && route.legs[i].from != route.legs[i - 1].to) {
                throw std::invalid_argument("carry out: a leg does not begin where the one before it ends");
            }
            if (!route.legs[i].issuer.is_device()) {
                throw std::invalid_argument("carry out: a leg is issued by a device");
            }
        }
    }
    if (std::abs(shares - 1.0) > 1e-6) {
        throw std::invalid_argument(fmt::format("carry out: shares add up to {}", shares));
    }
}

void Executor::prepare(const Choice& choice) {
    for (auto const& route : choice.routes) {
        for (auto const& leg : route.legs) {
            resources_.map(leg);
        }
        if (route.legs.size() > 1 || choice.routes.size() > 1) {
            resources_.reserve(route);
        }
    }
}

void Executor::issue(const Leg& leg, StreamView stream, Location to, Location from, std::uint64_t bytes) {
    if (leg.engine == Engine::kernel) {
        CopyArguments const arguments{to.address, from.address, bytes, 16};
        driver_.launch(stream, copy_kernel, &arguments);
        return;
    }
    // The call that finds out from the addresses can be captured, but refuses memory of a pool that was not granted:
    // the other names the devices.
    auto const peers = to.place.is_device() && from.place.is_device() && to.place != from.place;
    auto const api = peers && !driver_.capturing(stream) ? CopyApi::peer : CopyApi::automatic;
    driver_.copy(stream, {to, from, bytes, api});
}

void Executor::single_leg(const Leg& leg, const Part& part, StreamView stream) {
    if (stream.device == leg.issuer.index) {
        issue(leg, stream, part.to, part.from, part.bytes);
        return;
    }
    auto& lane = resources_.take({1.0, {leg}, 0, 0});
    auto& entry = resources_.entry(stream.device);
    auto const inner = lane.streams[0].view();
    driver_.record(entry.view(), stream);
    driver_.wait(inner, entry.view());
    issue(leg, inner, part.to, part.from, part.bytes);
    driver_.record(lane.last[0].view(), inner);
    driver_.wait(stream, lane.last[0].view());
}

void Executor::pipeline(const Route& route, Lane& lane, const Part& part) {
    auto const chunks = (part.bytes + route.chunk - 1) / route.chunk;
    for (std::uint64_t c = 0; c < chunks; ++c) {
        auto const offset = c * route.chunk;
        auto const bytes = std::min(route.chunk, part.bytes - offset);
        auto const b = static_cast<std::size_t>(c % static_cast<std::uint64_t>(lane.buffers));
        for (std::size_t i = 0; i < route.legs.size(); ++i) {
            auto const stream = lane.streams[i].view();
            auto const first = i == 0;
            auto const final = i + 1 == route.legs.size();
            if (!first) {
                driver_.wait(stream, lane.filled[i - 1][b].view());
            }
            if (!final) {  // of the round before, or of the copy that had the lane before
                driver_.wait(stream, lane.drained[i][b].view());
            }
            auto const slot = [&](std::size_t ring) { return lane.rings[ring].location(b * lane.chunk); };
            auto const to = final ? Location{part.to.place, part.to.address + offset} : slot(i);
            auto const from = first ? Location{part.from.place, part.from.address + offset} : slot(i - 1);
            issue(route.legs[i], stream, to, from, bytes);
            if (!final) {
                driver_.record(lane.filled[i][b].view(), stream);
            }
            if (!first) {
                driver_.record(lane.drained[i - 1][b].view(), stream);
            }
        }
    }
    for (std::size_t i = 0; i < route.legs.size(); ++i) {
        driver_.record(lane.last[i].view(), lane.streams[i].view());
    }
}

void Executor::submit(const Choice& choice, Location to, Location from, StreamView stream) {
    for (auto const& route : choice.routes) {
        for (auto const& leg : route.legs) {
            resources_.map(leg);
        }
    }
    auto const parts = parts_of(choice);
    if (choice.routes.size() == 1 && choice.routes[0].legs.size() == 1) {
        single_leg(choice.routes[0].legs[0], {to, from, choice.bytes}, stream);
        return;
    }
    auto& entry = resources_.entry(stream.device);
    driver_.record(entry.view(), stream);
    std::uint64_t offset = 0;
    std::vector<EventView> ends;
    for (std::size_t r = 0; r < choice.routes.size(); ++r) {
        auto const& route = choice.routes[r];
        if (parts[r] == 0) {
            continue;
        }
        auto& lane = resources_.take(route);
        for (auto const& leg_stream : lane.streams) {
            driver_.wait(leg_stream.view(), entry.view());
        }
        Part const part{{to.place, to.address + offset}, {from.place, from.address + offset}, parts[r]};
        if (route.legs.size() == 1) {
            issue(route.legs[0], lane.streams[0].view(), part.to, part.from, part.bytes);
            driver_.record(lane.last[0].view(), lane.streams[0].view());
        } else {
            pipeline(route, lane, part);
        }
        for (auto const& last : lane.last) {
            ends.push_back(last.view());
        }
        offset += parts[r];
    }
    for (auto const end : ends) {
        driver_.wait(stream, end);
    }
}

}  // namespace peerlane::move
