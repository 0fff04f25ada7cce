#include "move/executor.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "kernels/copy.hpp"
#include "kernels/kernel.hpp"
#include "model/pipeline.hpp"

namespace peerlane::move {

/// One route of a copy under way.
struct Executor::Active {
    const Route* route = nullptr;
    Lane* lane = nullptr;  ///< none: its one leg goes into the caller's stream
    std::size_t number = 0;
    Location to{}, from{};
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> chunks{};
    std::size_t next = 0;
    std::uint64_t offset = 0;
    [[nodiscard]] bool single() const { return route->legs.size() == 1; }
};

namespace {

/// Of a route beside others: fewer chunks than this make no pipeline.
constexpr std::uint64_t least_chunks = 8;

/// Most chunks of each pipeline, so that all of them together submit about `most_chunks`.
std::uint64_t chunks_each(const std::vector<Route>& routes) {
    auto const pipelines =
        std::count_if(routes.begin(), routes.end(), [](const Route& r) { return r.legs.size() > 1; });
    return std::max(least_chunks, most_chunks / static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(pipelines, 1)));
}

std::vector<double> shares_of(const std::vector<Route>& routes) {
    std::vector<double> shares;
    for (auto const& route : routes) {
        shares.push_back(route.share);
    }
    return shares;
}

/// What the driver does by itself, staging where it must.
Leg drivers_own(Place from, Place to) {
    return {from, to, Engine::copy, from.is_device() ? from : to};
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

void Executor::prepare(const Choice& choice, Resources& resources) {
    for (auto const& route : choice.routes) {
        for (auto const& leg : route.legs) {
            resources.map(leg);
        }
    }
    std::vector<Lane*> taken;  // all at once, as the copy will need them
    for (auto const& route : choice.routes) {
        if (route.legs.size() > 1 || choice.routes.size() > 1) {
            taken.push_back(resources.take(route));
        }
    }
    for (auto* const lane : taken) {
        if (lane != nullptr) {
            Resources::cancel(*lane);
        }
    }
}

void issue(Driver& driver, const Leg& leg, StreamView stream, Address to, Address from, std::uint64_t bytes,
           bool captured) {
    if (leg.engine == Engine::kernel) {
        CopyArguments const arguments{to, from, bytes, 16};
        driver.launch(stream, copy_kernel, &arguments, {copy_ctas(bytes), 512});
        return;
    }
    // The call that finds out from the addresses can be captured, but refuses memory of a pool that was not granted:
    // the other names the devices.
    auto const peers = leg.to.is_device() && leg.from.is_device() && leg.to != leg.from;
    driver.copy(stream,
                {{leg.to, to}, {leg.from, from}, bytes, peers && !captured ? CopyApi::peer : CopyApi::automatic});
}

void Executor::single_leg(const Leg& leg, Location to, Location from, std::uint64_t bytes, StreamView stream,
                          Resources& resources, bool captured) {
    resources.map(leg);
    if (stream.device == leg.issuer.index) {
        issue(driver_, leg, stream, to.address, from.address, bytes, captured);
        return;
    }
    auto& lane = *resources.take({1.0, {leg}, 0, 0});  // one leg needs no buffer
    auto& entry = resources.entry(stream.device);
    driver_.record(entry.view(), stream);
    resources.begin(lane, entry.view());
    try {
        issue(driver_, leg, lane.streams[0].view(), to.address, from.address, bytes, captured);
    } catch (...) {
        resources.abandon(lane, stream);
        throw;
    }
    resources.end(lane, stream);
}

std::vector<Executor::Active> Executor::borrow(const std::vector<Route>& routes, std::uint64_t bytes, StreamView stream,
                                               Resources& resources, bool captured) {
    auto const wanted = parts_of(shares_of(routes), bytes);
    auto const most = chunks_each(routes);
    std::vector<Active> active;
    for (std::size_t i = 0; i < routes.size(); ++i) {
        auto const& route = routes[i];
        if (wanted[i] == 0) {
            continue;
        }
        for (auto const& leg : route.legs) {
            resources.map(leg);
        }
        Active one;
        one.route = &route;
        one.number = i;
        if (route.legs.size() > 1) {
            auto shape = route;
            auto const even = (wanted[i] / most + granule - 1) / granule * granule;
            shape.chunk = std::max(std::min(shape.chunk, (wanted[i] + granule - 1) / granule * granule), even);
            if (captured) {
                shape.buffers = static_cast<int>(model::chunk_sizes(wanted[i], shape.chunk, most).size()) + 1;
            }
            one.lane = resources.take(shape);
            if (one.lane == nullptr) {
                continue;
            }
        } else if (route.legs[0].issuer.index != stream.device) {
            one.lane = resources.take(route);
        }
        active.push_back(one);
    }
    return active;
}

void Executor::share_out(std::vector<Active>& active, std::uint64_t bytes, Location to, Location from) {
    std::vector<double> shares;
    for (auto const& one : active) {
        shares.push_back(one.route->share);
    }
    auto parts = parts_of(shares, bytes);
    // Short buffers make short chunks: what would take too many of them goes the way that needs none.
    auto const single =
        std::find_if(active.begin(), active.end(), [](const Active& one) { return one.single(); }) - active.begin();
    if (static_cast<std::size_t>(single) < active.size()) {
        for (std::size_t i = 0; i < active.size(); ++i) {
            auto const room = active[i].single() ? parts[i] : most_chunks * active[i].lane->chunk;
            auto const excess = parts[i] - std::min(parts[i], room);
            parts[i] -= excess;
            parts[static_cast<std::size_t>(single)] += excess;
        }
    }
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < active.size(); ++i) {
        active[i].to = {to.place, to.address + offset};
        active[i].from = {from.place, from.address + offset};
        active[i].bytes = parts[i];
        offset += parts[i];
    }
}

bool Executor::step(Active& pipe, bool captured) {
    if (pipe.next == pipe.chunks.size()) {
        return false;
    }
    auto& lane = *pipe.lane;
    auto const& legs = pipe.route->legs;
    auto const buffers = static_cast<std::size_t>(lane.buffers);
    auto const b = pipe.next % buffers;
    auto const bytes = pipe.chunks[pipe.next];
    for (std::size_t i = 0; i < legs.size(); ++i) {
        auto const stream = lane.streams[i].view();
        auto const first = i == 0;
        auto const final = i + 1 == legs.size();
        if (!first) {
            driver_.wait(stream, lane.filled[i - 1][b].view());
        }
        if (!final && pipe.next >= buffers) {
            driver_.wait(stream, lane.drained[i][b].view());
        }
        auto const slot = [&](std::size_t ring) { return lane.rings[ring]->address() + b * lane.chunk; };
        issue(driver_, legs[i], stream, final ? pipe.to.address + pipe.offset : slot(i),
              first ? pipe.from.address + pipe.offset : slot(i - 1), bytes, captured);
        if (!final) {
            driver_.record(lane.filled[i][b].view(), stream);
        }
        if (!first && pipe.next + buffers < pipe.chunks.size()) {
            driver_.record(lane.drained[i - 1][b].view(), stream);
        }
    }
    pipe.offset += bytes;
    ++pipe.next;
    return true;
}

void Executor::submit_pipelines(std::vector<Active>& active, bool captured) {
    for (auto more = true; more;) {
        more = false;
        for (auto& one : active) {
            more = (!one.single() && step(one, captured)) || more;
        }
    }
}

void Executor::submit(const std::vector<Route>& routes, std::uint64_t bytes, Location to, Location from,
                      StreamView stream, Resources& resources, const Submission& how) {
    if (routes.size() == 1 && routes[0].legs.size() == 1 && how.clocks.empty()) {
        single_leg(routes[0].legs[0], to, from, bytes, stream, resources, how.captured);
        return;
    }
    auto active = borrow(routes, bytes, stream, resources, how.captured);
    auto const wanted = parts_of(shares_of(routes), bytes);
    auto const carrying = wanted.size() - static_cast<std::size_t>(std::count(wanted.begin(), wanted.end(), 0U));
    if (active.empty() || (how.captured && active.size() < carrying)) {
        for (auto const& one : active) {
            if (one.lane != nullptr) {
                Resources::cancel(*one.lane);
            }
        }
        if (how.captured) {
            throw Error({code::capture_unsupported, "copy", -1, -1,
                         fmt::format("recording {} from {} to {} takes more staging memory than the mover may hold: "
                                     "copy outside the capture, or let it hold more; the capture goes on",
                                     size_text(bytes), to_string(from.place), to_string(to.place))});
        }
        single_leg(drivers_own(from.place, to.place), to, from, bytes, stream, resources, false);
        return;
    }
    share_out(active, bytes, to, from);
    auto& entry = resources.entry(stream.device);
    driver_.record(entry.view(), stream);
    auto const stream_of = [&](const Active& one) {
        return one.lane == nullptr ? stream : one.lane->streams.back().view();
    };
    auto const clock = [&](const Active& one, EventView RouteClock::*which) {
        if (one.number < how.clocks.size()) {
            driver_.record(how.clocks[one.number].*which, stream_of(one));
        }
    };
    auto const start = [&](const Active& one) {
        if (one.lane != nullptr) {
            resources.begin(*one.lane, entry.view());
        }
        clock(one, &RouteClock::start);
    };
    try {
        std::vector<Active*> longest_first;
        for (auto& one : active) {
            longest_first.push_back(&one);
        }
        std::stable_sort(longest_first.begin(), longest_first.end(),
                         [](const Active* a, const Active* b) { return a->bytes > b->bytes; });
        for (auto const* one : longest_first) {
            if (one->single()) {
                start(*one);
                issue(driver_, one->route->legs[0], stream_of(*one), one->to.address, one->from.address, one->bytes,
                      how.captured);
                clock(*one, &RouteClock::end);
            }
        }
        for (auto* one : longest_first) {
            if (!one->single()) {
                start(*one);
                one->chunks = model::chunk_sizes(one->bytes, one->lane->chunk, chunks_each(routes));
            }
        }
        submit_pipelines(active, how.captured);
        for (auto const& one : active) {
            if (!one.single()) {
                clock(one, &RouteClock::end);
            }
        }
    } catch (...) {
        for (auto const& one : active) {
            if (one.lane != nullptr) {
                resources.abandon(*one.lane, stream);
            }
        }
        throw;
    }
    for (auto const& one : active) {
        if (one.lane != nullptr) {
            resources.end(*one.lane, stream);
        }
    }
}

}  // namespace peerlane::move
