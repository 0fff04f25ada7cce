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

/// What is to be done.
struct Executor::Job {
    const std::vector<Route>& routes;
    std::vector<std::uint64_t> parts;  ///< of the routes, as planned
    std::uint64_t bytes;
    Location to, from;
    StreamView stream;
    Resources& resources;
    const Submission& how;
    EventView entry;
};

/// One route of a copy under way.
struct Executor::Active {
    const Route* route = nullptr;
    Lane* lane = nullptr;  ///< none: its one leg goes into the caller's stream
    std::size_t number = 0;
    std::uint64_t begin = 0;  ///< of its part
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> chunks{};
    std::size_t next = 0;
    std::uint64_t offset = 0;  ///< of the next chunk in its part
    [[nodiscard]] bool single() const { return route->legs.size() == 1; }
    /// More would take too many chunks.
    [[nodiscard]] std::uint64_t room() const { return single() ? bytes : most_chunks * lane->chunk; }
    [[nodiscard]] StreamView last_stream(StreamView callers) const {
        return lane == nullptr ? callers : lane->streams.back().view();
    }
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

std::vector<Executor::Active> Executor::borrow(const Job& job, std::size_t but) {
    auto const most = chunks_each(job.routes);
    std::vector<Active> active;
    for (std::size_t i = 0; i < job.routes.size(); ++i) {
        auto const& route = job.routes[i];
        if (job.parts[i] == 0 || i == but) {
            continue;
        }
        for (auto const& leg : route.legs) {
            job.resources.map(leg);
        }
        Active one;
        one.route = &route;
        one.number = i;
        if (route.legs.size() > 1) {
            auto shape = route;
            auto const pages = [](std::uint64_t bytes) { return (bytes + granule - 1) / granule * granule; };
            shape.chunk = std::max(std::min(shape.chunk, pages(job.parts[i])), pages(job.parts[i] / most));
            if (job.how.captured) {
                shape.buffers = static_cast<int>(model::chunk_sizes(job.parts[i], shape.chunk, most).size()) + 1;
            }
            one.lane = job.resources.take(shape);
        } else if (route.legs[0].issuer.index != job.stream.device) {
            one.lane = job.resources.take(route);
        }
        if (one.lane != nullptr || one.single()) {
            active.push_back(std::move(one));
        }
    }
    return active;
}

void Executor::share_out(std::vector<Active>& active, std::uint64_t bytes) {
    std::vector<double> shares;
    for (auto const& one : active) {
        shares.push_back(one.route->share);
    }
    auto const parts = parts_of(shares, bytes);
    Active* single = nullptr;
    for (std::size_t i = 0; i < active.size(); ++i) {
        active[i].bytes = parts[i];
        single = active[i].single() ? &active[i] : single;
    }
    // Short buffers make short chunks: what would take too many of them goes the way that needs none.
    for (auto& one : active) {
        if (single != nullptr && one.bytes > one.room()) {
            single->bytes += one.bytes - one.room();
            one.bytes = one.room();
        }
    }
    std::uint64_t begin = 0;
    for (auto& one : active) {
        one.begin = begin;
        begin += one.bytes;
    }
}

bool Executor::step(const Job& job, Active& pipe) {
    if (pipe.next == pipe.chunks.size()) {
        return false;
    }
    auto& lane = *pipe.lane;
    auto const& legs = pipe.route->legs;
    auto const buffers = static_cast<std::size_t>(lane.buffers);
    auto const b = pipe.next % buffers;
    auto const bytes = pipe.chunks[pipe.next];
    auto const at = pipe.begin + pipe.offset;
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
        issue(driver_, legs[i], stream, final ? job.to.address + at : slot(i),
              first ? job.from.address + at : slot(i - 1), bytes, job.how.captured);
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

void Executor::clock(const Job& job, const Active& one, EventView RouteClock::*which) {
    if (one.number < job.how.clocks.size()) {
        driver_.record(job.how.clocks[one.number].*which, one.last_stream(job.stream));
    }
}

void Executor::submit_all(const Job& job, std::vector<Active>& active) {
    auto const start = [&](Active& one) {
        if (one.lane != nullptr) {
            job.resources.begin(*one.lane, job.entry);
        }
        clock(job, one, &RouteClock::start);
    };
    try {
        std::vector<Active*> longest_first;
        for (auto& one : active) {
            longest_first.push_back(&one);
        }
        std::stable_sort(longest_first.begin(), longest_first.end(),
                         [](const Active* a, const Active* b) { return a->bytes > b->bytes; });
        for (auto* one : longest_first) {
            if (one->single()) {
                start(*one);
                issue(driver_, one->route->legs[0], one->last_stream(job.stream), job.to.address + one->begin,
                      job.from.address + one->begin, one->bytes, job.how.captured);
                clock(job, *one, &RouteClock::end);
            }
        }
        for (auto* one : longest_first) {
            if (!one->single()) {
                start(*one);
                one->chunks = model::chunk_sizes(one->bytes, one->lane->chunk, chunks_each(job.routes));
            }
        }
        for (auto more = true; more;) {
            more = false;
            for (auto& one : active) {
                more = (!one.single() && step(job, one)) || more;
            }
        }
        for (auto const& one : active) {
            if (!one.single()) {
                clock(job, one, &RouteClock::end);
            }
        }
    } catch (...) {
        for (auto const& one : active) {
            if (one.lane != nullptr) {
                job.resources.abandon(*one.lane, job.stream);
            }
        }
        throw;
    }
    for (auto const& one : active) {
        if (one.lane != nullptr) {
            job.resources.end(*one.lane, job.stream);
        }
    }
}

void Executor::submit_early(const Job& job, std::size_t early) {
    auto const& leg = job.routes[early].legs[0];
    auto const issue_part = [&](std::uint64_t begin, std::uint64_t bytes) {
        issue(driver_, leg, job.stream, job.to.address + begin, job.from.address + begin, bytes, false);
    };
    Active first;
    first.route = &job.routes[early];
    first.number = early;
    job.resources.map(leg);
    clock(job, first, &RouteClock::start);
    issue_part(0, job.parts[early]);
    clock(job, first, &RouteClock::end);
    auto others = borrow(job, early);
    auto begin = job.parts[early];
    for (auto& one : others) {
        one.bytes = job.parts[one.number];
        one.bytes = std::min(one.bytes, one.room());
        one.begin = begin;
        begin += one.bytes;
    }
    submit_all(job, others);
    if (begin != job.bytes) {
        issue_part(begin, job.bytes - begin);
    }
}

void Executor::submit_borrowed(const Job& job) {
    auto active = borrow(job, job.routes.size());
    auto const carrying =
        job.parts.size() - static_cast<std::size_t>(std::count(job.parts.begin(), job.parts.end(), 0U));
    if (active.empty() || (job.how.captured && active.size() < carrying)) {
        for (auto const& one : active) {
            if (one.lane != nullptr) {
                Resources::cancel(*one.lane);
            }
        }
        if (job.how.captured) {
            throw Error({code::capture_unsupported, "copy", -1, -1,
                         fmt::format("recording {} from {} to {} takes more staging memory than the mover may hold: "
                                     "copy outside the capture, or let it hold more; the capture goes on",
                                     size_text(job.bytes), to_string(job.from.place), to_string(job.to.place))});
        }
        single_leg(drivers_own(job.from.place, job.to.place), job.to, job.from, job.bytes, job.stream, job.resources,
                   false);
        return;
    }
    share_out(active, job.bytes);
    driver_.record(job.entry, job.stream);
    submit_all(job, active);
}

void Executor::submit(const std::vector<Route>& routes, std::uint64_t bytes, Location to, Location from,
                      StreamView stream, Resources& resources, const Submission& how) {
    if (how.whole) {
        driver_.record(how.whole->start, stream);
    }
    if (routes.size() == 1 && routes[0].legs.size() == 1) {
        single_leg(routes[0].legs[0], to, from, bytes, stream, resources, how.captured);
    } else {
        Job const job{routes, parts_of(shares_of(routes), bytes),   bytes, to, from, stream, resources,
                      how,    resources.entry(stream.device).view()};
        auto early = routes.size();
        for (std::size_t i = 0; i < routes.size(); ++i) {
            if (routes[i].legs.size() == 1 && routes[i].legs[0].issuer.index == stream.device && job.parts[i] != 0 &&
                (early == routes.size() || job.parts[i] > job.parts[early])) {
                early = i;
            }
        }
        if (early != routes.size() && !how.captured) {
            driver_.record(job.entry, stream);
            submit_early(job, early);
        } else {
            submit_borrowed(job);
        }
    }
    if (how.whole) {
        driver_.record(how.whole->end, stream);
    }
}

}  // namespace peerlane::move
