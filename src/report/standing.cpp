#include "report/standing.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <vector>

#include <fmt/format.h>

namespace peerlane::report {
namespace {

constexpr std::array pushing_checks{Check::push, Check::store};
constexpr std::array pulling_checks{Check::pull, Check::load};
/// Of both directions of the data.
constexpr std::array common_checks{Check::map, Check::atomic, Check::flag};

bool failed(const PairVerdict* pair, Check check) {
    auto const result = pair == nullptr ? Result::skipped : (*pair)[check].result;
    return result == Result::wrong || result == Result::hang || result == Result::error;
}

template <class Checks>
bool any_failed(const PairVerdict* pair, const Checks& checks) {
    return std::any_of(checks.begin(), checks.end(), [&](Check check) { return failed(pair, check); });
}

}  // namespace

const char* to_string(Standing standing) {
    switch (standing) {
        case Standing::ok:
            return "ok";
        case Standing::by_design:
            return "host";
        case Standing::unknown:
            return "unknown";
        case Standing::part:
            return "part";
        case Standing::none:
            return "none";
        case Standing::bad:
            break;
    }
    return "bad";
}

const char* word_of(const Verdicts& verdicts, int source, int destination) {
    auto const* const route = verdicts.route(source, destination);
    auto const* const pushing = verdicts.pair(source, destination);
    auto const* const pulling = verdicts.pair(destination, source);
    if (route == nullptr || (pushing == nullptr && pulling == nullptr)) {
        return "?";
    }
    int right = 0, tried = 0;
    auto const look = [&](const PairVerdict* pair, const auto& checks) {
        for (auto const check : checks) {
            tried += pair != nullptr ? 1 : 0;
            right += pair != nullptr && (*pair)[check].result == Result::ok ? 1 : 0;
        }
    };
    look(pushing, pushing_checks);
    look(pulling, pulling_checks);
    if (right == 0) {
        return "none";
    }
    // Wrong pushes of the pair that pulls here are the other direction's.
    bool const whole = !any_failed(pushing, common_checks) && !any_failed(pulling, common_checks);
    return right == tried && route->use == RouteVerdict::Use::direct && whole ? "ok" : "part";
}

Standing standing(const Verdicts& verdicts, int source, int destination) {
    auto const* const pushing = verdicts.pair(source, destination);
    auto const* const pulling = verdicts.pair(destination, source);
    auto const* const route = verdicts.route(source, destination);
    if (any_failed(pushing, pushing_checks) || any_failed(pulling, pulling_checks) ||
        any_failed(pushing, common_checks) || any_failed(pulling, common_checks)) {
        return Standing::bad;
    }
    switch (*word_of(verdicts, source, destination)) {
        case 'o':
            return Standing::ok;
        case 'p':
            return Standing::part;
        case 'n':
            return route->use != RouteVerdict::Use::none ? Standing::by_design : Standing::none;
        default:
            return Standing::unknown;
    }
}

std::optional<double> rate(const Verdicts& verdicts, int source, int destination) {
    auto const* const route = verdicts.route(source, destination);
    if (route == nullptr || route->use == RouteVerdict::Use::none) {
        return std::nullopt;
    }
    return route->use == RouteVerdict::Use::direct ? route->direct_gbs : route->staged_gbs;
}

std::string use_in_words(const Verdicts& verdicts, int source, int destination) {
    auto const* const route = verdicts.route(source, destination);
    if (route == nullptr) {
        return "not proven";
    }
    switch (route->use) {
        case RouteVerdict::Use::direct:
            return fmt::format("direct, {} by gpu{}{}", route->issuer == source ? "pushed" : "pulled", route->issuer,
                               route->engine == Engine::kernel ? "'s kernel" : "");
        case RouteVerdict::Use::staged:
            return "staged through the host";
        case RouteVerdict::Use::none:
            break;
    }
    return "nothing that may be used";
}

std::optional<std::pair<int, int>> worst_direction(const Verdicts& verdicts) {
    std::optional<std::pair<int, int>> worst;
    auto const badness = [&](std::pair<int, int> direction) {
        auto const [source, destination] = direction;
        constexpr auto untimed = std::numeric_limits<double>::infinity();
        return std::tuple(-static_cast<int>(standing(verdicts, source, destination)),
                          rate(verdicts, source, destination).value_or(untimed), source, destination);
    };
    for (auto const& pair : verdicts.pairs) {
        for (auto const& direction : {std::pair(pair.accessor, pair.owner), std::pair(pair.owner, pair.accessor)}) {
            if (!worst || badness(direction) < badness(*worst)) {
                worst = direction;
            }
        }
    }
    return worst;
}

DeviceStanding standing_of_device(const Verdicts& verdicts, int device) {
    std::vector<Standing> all;
    for (auto const& pair : verdicts.pairs) {
        if (pair.accessor == device || pair.owner == device) {
            all.push_back(standing(verdicts, pair.accessor, pair.owner));
            all.push_back(standing(verdicts, pair.owner, pair.accessor));
        }
    }
    if (all.empty()) {
        return {};
    }
    std::sort(all.begin(), all.end());
    auto const best = all.front(), worst = all.back(), middle = all[(all.size() - 1) / 2];
    if (best == Standing::ok && worst == Standing::by_design) {
        return {Standing::ok, Standing::ok};
    }
    auto const together = best == worst ? best : worst > Standing::part ? Standing::part : worst;
    return {together, middle >= Standing::part ? together : std::min(together, std::max(middle, best))};
}

}  // namespace peerlane::report
