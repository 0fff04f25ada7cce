// Host memory and one device, with 0 to n - 1 other devices lending their links.
#include "many_cases.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <peerlane/units.hpp>

namespace peerlane::bench {
namespace {

constexpr std::uint64_t least_chunk = 1_MiB;

/// Devices in the order in which they help best by the planner: those whose relay is fastest alone, nearer numbers
/// first.
std::vector<int> helpers_of(const Rig& rig, Place from, Place to) {
    auto const target = from.is_device() ? from.index : to.index;
    std::vector<std::pair<double, int>> found;
    for (int device = 0; device < rig.devices(); ++device) {
        if (device == target) {
            continue;
        }
        auto const way = rig.planner().explain(from, to, 256_MiB, RoutePolicy::relay, device);
        if (way.routes.size() == 1 && way.routes.front().legs.size() == 2) {
            // To whole parts in a hundred: who is as fast comes by number.
            found.emplace_back(static_cast<double>(static_cast<int>(way.predicted_s * 1e6 / 100)), device);
        }
    }
    std::stable_sort(found.begin(), found.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    std::vector<int> order;
    for (auto const& one : found) {
        order.push_back(one.second);
    }
    return order;
}

std::uint64_t chunk_of(double share, std::uint64_t bytes, std::size_t pipelines) {
    auto const chunks = std::max<std::size_t>(8, 64 / std::max<std::size_t>(1, pipelines));
    auto const part = static_cast<std::uint64_t>(share * static_cast<double>(bytes));
    return std::max(least_chunk, (part / chunks + least_chunk - 1) / least_chunk * least_chunk);
}

/// The direct way and a relay over each of the helpers, shares so that by the planner's price none ends much later.
Choice helped(const Rig& rig, Place from, Place to, const std::vector<int>& helpers) {
    auto const& planner = rig.planner();
    Choice choice;
    choice.bytes = Rig::host_bytes;
    choice.routes = planner.explain(from, to, choice.bytes, RoutePolicy::direct).routes;
    for (auto const device : helpers) {
        choice.routes.push_back(planner.explain(from, to, choice.bytes, RoutePolicy::relay, device).routes.front());
    }
    auto const n = static_cast<double>(choice.routes.size());
    auto best = 0.0;
    auto routes = choice.routes;
    for (auto const direct : {1.0, 1.02, 1.05, 1.1, 1.2, 1.3}) {  // a pipeline begins later than the direct way
        auto const relayed = 1 / (n - 1 + direct);
        for (std::size_t i = 0; i < routes.size(); ++i) {
            routes[i].share = i == 0 ? direct * relayed : relayed;
            routes[i].chunk = i == 0 ? 0 : chunk_of(relayed, choice.bytes, helpers.size());
            routes[i].buffers = i == 0 ? 0 : 4;
        }
        auto const seconds = planner.predict(routes, choice.bytes).value_or(0);
        if (best == 0 || seconds < best) {
            best = seconds;
            choice.routes = routes;
        }
    }
    choice.predicted_s = best;
    return choice;
}

Case helped_case(std::string name, const Choice& choice, const Job& job) {
    Case made{std::move(name), job.bytes, carried_out(choice, job), {runtime_copy("one link", job)}};
    made.jobs = {job};
    made.prepare = [choice](Rig& rig) { rig.mover().prepare(choice); };
    made.predict = [choice](Rig&) { return choice.predicted_s; };
    made.plan = brief(choice.routes);
    return made;
}

}  // namespace

std::string helped_name(bool from_host, int helpers) {
    return fmt::format("{}, {} helper{}", from_host ? "host>0" : "0>host", helpers, helpers == 1 ? "" : "s");
}

Part host_with_helpers(Rig& rig) {
    Part part{"host and one device, with helpers", 90};
    for (auto const from_host : {true, false}) {
        auto const from = from_host ? rig.home() : gpu(0), to = from_host ? gpu(0) : rig.home();
        Job const job{from, to, 0, 0, Rig::host_bytes};
        auto const order = helpers_of(rig, from, to);
        for (int helpers = 0; helpers < rig.devices(); ++helpers) {
            auto const name = helped_name(from_host, helpers);
            if (static_cast<std::size_t>(helpers) > order.size()) {
                part.left_out.push_back({name, "the planner knows no relay over so many devices"});
                continue;
            }
            part.cases.push_back(
                helped_case(name, helped(rig, from, to, {order.begin(), order.begin() + helpers}), job));
        }
        auto planned = helped_case(fmt::format("{}, as planned", from_host ? "host>0" : "0>host"),
                                   rig.planner().explain(from, to, job.bytes), job);
        part.cases.push_back(std::move(planned));
    }
    return part;
}

}  // namespace peerlane::bench
