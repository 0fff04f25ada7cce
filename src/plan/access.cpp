// Memory of somebody else: read in place, or copied first.

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/units.hpp>

#include "model/access.hpp"
#include "plan/planner_state.hpp"
#include "plan/reasons.hpp"

namespace peerlane {
namespace {

constexpr double small_bytes = 256;  ///< what a kernel moves that does nothing but start and end

std::string pattern_words(const AccessRequest& request) {
    return request.scattered_bytes == 0 ? std::string("in order")
                                        : fmt::format("in scattered pieces of {}", size_text(request.scattered_bytes));
}

std::string times(int count) {
    return count == 1 ? "once" : fmt::format("{} times", count);
}

}  // namespace

Choice Planner::access(const AccessRequest& request) const {
    auto const accessor = gpu(request.accessor);
    if (request.owner == accessor) {
        throw std::invalid_argument(
            fmt::format("{} owns that memory: there is nothing to decide", to_string(accessor)));
    }
    if (request.touches < 1) {
        throw std::invalid_argument("nothing is touched");
    }
    auto choice = explain(request.owner, accessor, request.bytes);
    auto const copy_s = choice.routes.empty() ? std::nullopt : std::optional(choice.predicted_s);
    auto copies = std::move(choice.rejected);
    choice.rejected.clear();

    auto const bytes = static_cast<double>(request.bytes);
    auto const touches = static_cast<double>(request.touches);
    model::Pattern const pattern{request.scattered_bytes};
    auto const touch = [&](Place place) -> std::optional<double> {
        auto const costs = state_->costs.access(request.accessor, place);
        return costs ? model::touch_seconds(*costs, pattern, bytes) : std::nullopt;
    };
    auto const remote_touch = touch(request.owner);
    auto const local_touch = touch(accessor);
    // Touches are measured free of what a launch costs; somebody who waits for one pays that too, after a copy as well.
    Leg const reads{request.owner, accessor, Engine::kernel, accessor};
    auto const launched = state_->costs.leg(reads);
    auto const launch_s = launched ? launched->once.seconds(small_bytes) : 0.0;
    auto const trust = plan::trust_of(state_->machine, state_->verdicts, state_->options.trust_claimed, reads);
    std::optional<double> remote, local;
    if (remote_touch && trust.refusal.empty()) {
        remote = launch_s + touches * *remote_touch;
    }
    auto const fits = !request.capacity_bytes || *request.capacity_bytes >= request.bytes;
    if (copy_s && local_touch) {
        // What does not stay is copied again, piece by piece, for every touch.
        local = fits ? *copy_s + launch_s + touches * *local_touch : touches * (*copy_s + launch_s + *local_touch);
    }
    auto const* const kept = request.capacity_bytes && fits ? "keep" : "copy";
    auto const stay = remote && (!local || *remote <= *local * (1 + plan::tie));
    std::vector<Reason> reasons;
    auto const in_place = fmt::format("reads {} in place {}", pattern_words(request), times(request.touches));
    if (remote_touch) {
        reasons.push_back(
            {fmt::format("{} {}: {}{}", to_string(accessor), in_place, seconds_text(launch_s + touches * *remote_touch),
                         trust.refusal.empty() ? "" : " if it could"),
             {{fmt::format("a touch of {} costs {} ({} GB/s)", to_string(request.owner), seconds_text(*remote_touch),
                           gbs_text(bytes / *remote_touch / 1e9)),
               {}}}});
    }
    if (!trust.refusal.empty()) {
        reasons.push_back({fmt::format("it may not: {}", trust.refusal), {}});
    }
    if (copy_s && local_touch) {
        Reason copied{
            fmt::format("{}, then {}: {}", fits ? "a copy first" : "a copy for each touch, as it does not fit",
                        request.touches == 1 ? "one local touch" : fmt::format("{} local touches", request.touches),
                        seconds_text(*local)),
            {{fmt::format("the copy costs {} ({} GB/s)", seconds_text(*copy_s), gbs_text(bytes / *copy_s / 1e9)),
              std::move(choice.reasons)},
             {fmt::format("a local touch costs {} ({} GB/s)", seconds_text(*local_touch),
                          gbs_text(bytes / *local_touch / 1e9)),
              {}}}};
        reasons.push_back(std::move(copied));
    } else if (!copy_s) {
        reasons.push_back({"no copy: nothing that may be trusted joins these places", {}});
    }
    auto const other = stay ? local : remote;
    auto const won = stay ? remote : local;
    choice.access = stay ? "remote" : local ? kept : "none";
    if (won && other) {
        choice.margin = *other / *won - 1;
    }
    if (stay) {
        choice.rejected.push_back({choice.routes, local,
                                   local ? fmt::format("copy first: {:.1f} % slower", (*local / *remote - 1) * 100)
                                         : std::string("copy first: nothing may be trusted")});
        choice.routes.clear();
    } else {
        choice.rejected.push_back(
            {{},
             remote,
             remote
                 ? fmt::format("read in place: {:.1f} % slower", (*remote / won.value_or(*remote) - 1) * 100)
                 : fmt::format("read in place: {}", trust.refusal.empty() ? "its cost is not known" : trust.refusal)});
        for (auto& copy : copies) {
            copy.reason = "as the copy: " + copy.reason;
            choice.rejected.push_back(std::move(copy));
        }
    }
    choice.predicted_s = won.value_or(0);
    choice.predicted_gbs = won ? bytes * touches / *won / 1e9 : 0;
    choice.reasons = std::move(reasons);
    choice.why = plan::lines_of(choice.reasons);
    return choice;
}

}  // namespace peerlane
