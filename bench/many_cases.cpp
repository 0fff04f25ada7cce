#include "many_cases.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <peerlane/units.hpp>

namespace peerlane::bench {
namespace {

constexpr std::uint64_t pair_bytes = 256_MiB;

StreamView stream_of(Rig& rig, const Job& job) {
    return rig.stream(job.from.is_device() ? job.from.index : job.to.index);
}

/// `ours` as the planner chose it, beside the runtime's own call.
Case one_copy(std::string name, const Choice& choice, const Job& job, const std::string& peer) {
    Case made{std::move(name), job.bytes, carried_out(choice, job), {runtime_copy(peer, job)}};
    made.jobs = {job};
    made.prepare = [choice](Rig& rig) { rig.mover().prepare(choice); };
    made.predict = [choice](Rig&) { return choice.predicted_s; };
    made.plan = brief(choice.routes);
    return made;
}

/// Same choice, with the rates that the planner sees for these routes.
Choice priced(const Rig& rig, Choice choice) {
    choice.predicted_s = rig.planner().predict(choice.routes, choice.bytes).value_or(0);
    return choice;
}

/// Equal shares of relays over these devices.
Choice relayed(const Rig& rig, int from, int to, const std::vector<int>& over) {
    Choice choice;
    choice.bytes = pair_bytes;
    for (auto const device : over) {
        auto const one =
            rig.planner().explain(gpu(from), gpu(to), pair_bytes / over.size(), RoutePolicy::relay, device);
        if (one.routes.size() == 1 && one.routes.front().legs.size() == 2) {
            choice.routes.push_back(one.routes.front());
        }
    }
    for (auto& route : choice.routes) {
        route.share = 1.0 / static_cast<double>(choice.routes.size());
    }
    return priced(rig, choice);
}

std::vector<std::pair<int, int>> near_and_far(int devices) {
    std::vector<std::pair<int, int>> pairs{{0, 1}};
    if (devices > 2) {
        pairs.emplace_back(0, devices - 1);
    }
    return pairs;
}

template <class Do>
void each_pair(int devices, Do&& work) {
    for (int a = 0; a < devices; ++a) {
        for (int b = 0; b < devices; ++b) {
            if (a != b) {
                work(a, b);
            }
        }
    }
}

}  // namespace

Way carried_out(const Choice& choice, const Job& job) {
    return {"ours", [choice, job](Rig& rig) {
                auto const stream = stream_of(rig, job);
                auto const start = rig.driver().now();
                rig.mover().carry_out(choice, rig.to(job), rig.from(job), stream);
                rig.driver().synchronize(stream);
                return rig.driver().now() - start;
            }};
}

Way runtime_copy(const std::string& name, const Job& job) {
    return {name, [job](Rig& rig) {
                auto const stream = stream_of(rig, job);
                auto const api = job.from.is_device() && job.to.is_device() ? CopyApi::peer : CopyApi::automatic;
                auto const start = rig.driver().now();
                rig.driver().copy(stream, {rig.to(job), rig.from(job), job.bytes, api});
                rig.driver().synchronize(stream);
                return rig.driver().now() - start;
            }};
}

std::string pair_name(int from, int to) {
    return fmt::format("{}>{}", from, to);
}

std::uint64_t bytes_a_device(int devices) {
    return std::max<std::uint64_t>(1_GiB, 128_MiB * static_cast<std::uint64_t>(devices));
}

Part staged_pairs(Rig& rig) {
    Part part{"staged, nothing mapped", 60, false};
    each_pair(rig.devices(), [&](int a, int b) {
        Job const job{gpu(a), gpu(b), 0, 0, pair_bytes};
        auto const choice = rig.planner().explain(job.from, job.to, job.bytes, RoutePolicy::staged);
        part.cases.push_back(one_copy("staged " + pair_name(a, b), choice, job, "unmapped peer copy"));
    });
    return part;
}

Part direct_pairs(Rig& rig) {
    Part part{"direct", 60};
    each_pair(rig.devices(), [&](int a, int b) {
        Job const job{gpu(a), gpu(b), 0, 0, pair_bytes};
        auto const choice = rig.planner().explain(job.from, job.to, job.bytes, RoutePolicy::direct);
        part.cases.push_back(one_copy("direct " + pair_name(a, b), choice, job, "peer copy"));
    });
    return part;
}

Part relays(Rig& rig) {
    Part part{"relay", 40};
    auto const n = rig.devices();
    if (n < 3) {
        part.left_out.push_back({"relay", "needs 3 devices"});
        return part;
    }
    for (auto const& [a, b] : near_and_far(n)) {
        Job const job{gpu(a), gpu(b), 0, 0, pair_bytes};
        auto const add = [&](const std::vector<int>& over) {
            auto const choice = relayed(rig, job.from.index, job.to.index, over);
            auto const name =
                fmt::format("relay {} over {}", pair_name(job.from.index, job.to.index), fmt::join(over, "+"));
            if (choice.routes.size() == over.size()) {
                part.cases.push_back(one_copy(name, choice, job, "peer copy"));
            } else {
                part.left_out.push_back({name, "the planner knows no such way"});
            }
        };
        std::vector<int> over;
        for (int device = 0; device < n; ++device) {
            if (device != a && device != b) {
                add({device});
                over.push_back(device);
                if (over.size() > 1) {
                    add(over);
                }
            }
        }
    }
    return part;
}

Part splits(Rig& rig) {
    Part part{"split", 60};
    auto pairs = near_and_far(rig.devices());
    pairs.emplace_back(1, 0);
    for (auto const& [a, b] : pairs) {
        for (auto const bytes : {64_MiB, 256_MiB, 1_GiB}) {
            Job const job{gpu(a), gpu(b), 0, 0, bytes};
            auto const planned = rig.planner().explain(job.from, job.to, bytes);
            auto one = one_copy(fmt::format("copy {}, as planned", pair_name(a, b)), planned, job, "peer copy");
            one.ours.run = [job](Rig& on) {
                auto const stream = stream_of(on, job);
                auto const start = on.driver().now();
                on.mover().copy(pointer_to(on.to(job).address), pointer_to(on.from(job).address), job.bytes, stream);
                on.driver().synchronize(stream);
                return on.driver().now() - start;
            };
            part.cases.push_back(std::move(one));
            auto const split = rig.planner().explain(job.from, job.to, bytes, RoutePolicy::split);
            auto const name = fmt::format("copy {}, split asked for", pair_name(a, b));
            if (split.routes.size() > 1) {
                part.cases.push_back(one_copy(name, split, job, "peer copy"));
            } else {
                part.left_out.push_back({name + ", " + size_word(bytes), "there is nothing to split over"});
            }
        }
    }
    return part;
}

std::vector<Part> many_parts(Rig& rig, const CaseOptions& options) {
    return {staged_pairs(rig), direct_pairs(rig), host_with_helpers(rig),
            splits(rig),       relays(rig),       patterns(rig, options)};
}

}  // namespace peerlane::bench
