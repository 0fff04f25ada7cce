#include "plan/reasons.hpp"

#include <fmt/format.h>
#include <peerlane/units.hpp>

namespace peerlane::plan {
namespace {

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

Reason reason_of_leg(const Leg& leg, const LegCost& cost) {
    auto const spread = cost.spread >= 0 ? fmt::format(", spread {:.1f} %", cost.spread * 100) : std::string();
    return {
        fmt::format("{}: {} GB/s alone, {}{}", describe(leg), gbs_text(cost.rate / 1e9), to_string(cost.basis), spread),
        {}};
}

/// What the legs of these lanes leave each other, where that is less than what each has alone.
void add_sharing(Reason& reason, const ReasonContext& context, const std::vector<const Stream*>& streams, double alone,
                 double loaded) {
    if (loaded >= alone * 0.985) {
        return;
    }
    Reason shared{fmt::format("{} GB/s while {} run{}", gbs_text(loaded / 1e9),
                              streams.size() > 1 || context.load.busy() ? "all of them" : "both legs",
                              context.load.busy() ? ", with what is said to be busy" : ""),
                  {}};
    auto const links = context.load.shared(streams);
    for (std::size_t i = 0; i < links.size() && i < 3; ++i) {
        shared.because.push_back({"they share " + links[i], {}});
    }
    reason.because.push_back(std::move(shared));
}

}  // namespace

Reason reason_of_lane(const ReasonContext& context, int index, const Scored& scored) {
    auto const& lane = context.lanes[at(index)];
    auto const* standing = lane.trust.proven ? "proven" : context.trust_claimed ? "claimed, not proven" : "not proven";
    if (lane.costs.empty()) {
        return {fmt::format("{}: its cost is not known, {}", describe(scored.routes.front()), standing), {}};
    }
    Reason reason{fmt::format("{}: {} GB/s {}, {}", describe(scored.routes.front()), gbs_text(lane.rate() / 1e9),
                              to_string(lane.basis()), standing),
                  {}};
    for (std::size_t i = 0; lane.legs.size() > 1 && i < lane.legs.size(); ++i) {
        reason.because.push_back(reason_of_leg(lane.legs[i], lane.costs[i]));
    }
    if (!scored.loaded_gbs.empty()) {
        add_sharing(reason, context, {&lane.load}, lane.rate(), scored.loaded_gbs.front() * 1e9);
    }
    return reason;
}

Reason reason_of_split(const ReasonContext& context, const Decision& decision) {
    double alone = 0, loaded = 0;
    std::vector<const Stream*> streams;
    Reason reason;
    auto const& scored = decision.split;
    for (std::size_t i = 0; i < decision.split_lanes.size(); ++i) {
        auto const& lane = context.lanes[at(decision.split_lanes[i])];
        alone += lane.rate();
        loaded += scored.loaded_gbs[i] * 1e9;
        streams.push_back(&lane.load);
        auto part = reason_of_lane(context, decision.split_lanes[i], {{scored.routes[i]}, 0, {}});
        part.text = fmt::format("{:.1f} % {}", scored.routes[i].share * 100, part.text);
        reason.because.push_back(std::move(part));
    }
    reason.text = fmt::format("{} routes that end together: {} GB/s", scored.routes.size(), gbs_text(loaded / 1e9));
    add_sharing(reason, context, streams, alone, loaded);
    return reason;
}

std::vector<std::string> lines_of(const std::vector<Reason>& reasons) {
    std::vector<std::string> lines;
    for (auto const& reason : reasons) {
        lines.push_back(reason.text);
        for (auto const& below : lines_of(reason.because)) {
            lines.push_back("  " + below);
        }
    }
    return lines;
}

}  // namespace peerlane::plan
